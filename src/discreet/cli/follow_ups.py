"""Follow-up questions of the command line: by rules first, and then by the public model. No document is read."""

from collections.abc import Sequence

from discreet.cli.output import err
from discreet.errors import CannotAnswer
from discreet.query.follow_ups import is_doubtful, is_follow_up, stand_alone
from discreet.server.keeper.condensing import condense
from discreet.server.wire import LONGEST_TURN, MOST_TURNS, Turn
from discreet.vault import Vault

_ALONE = 'It refers to an earlier question. Write the whole question, or name the one before it: --after "QUESTION".'
_UNCLEAR = "It and '{earlier}' do not make one question that is surely meant. Write the whole question."


def turn(role: str, text: str) -> Turn:
    """Return a message of a conversation, cut to the longest that the model reads."""
    return Turn(role, text[:LONGEST_TURN] or " ")


def complete(vault: Vault, question: str, turns: Sequence[Turn]) -> str:
    """Return a question as one that stands alone; it is printed if it is another one.

    Args:
        vault: the vault; its documents are not read.
        question: the question.
        turns: the questions before it, and their released answers, oldest first: all of it is public.

    Raises:
        CannotAnswer: if it is a follow-up, and no question can be made of it.
    """
    unit, fields = vault.settings.unit_field, tuple(vault.settings.fields)
    earlier = next((one.text for one in reversed(turns) if one.role == "user"), "")
    made = stand_alone(question, earlier, unit, fields) if earlier else ""
    if earlier and is_doubtful(question, earlier, unit, fields):
        raise CannotAnswer("follow-up", _UNCLEAR.format(earlier=earlier))
    if not made and not is_follow_up(question, unit):
        return question
    if not earlier:
        raise CannotAnswer("follow-up", _ALONE)
    made = made or condense(vault.model, [*turns[1 - MOST_TURNS :], turn("user", question)])
    if not made or is_follow_up(made, unit):
        raise CannotAnswer("follow-up", _UNCLEAR.format(earlier=earlier))
    err.print(f"The question that is asked: {made}", markup=False)
    return made

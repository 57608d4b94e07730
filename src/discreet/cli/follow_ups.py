"""Follow-up questions of the command line: by their slots first, and then by the public model. No document is read."""

from collections.abc import Sequence

from discreet.cli.output import err
from discreet.errors import CannotAnswer
from discreet.query.condensing import Message, condense
from discreet.questions import follow_ups as questions
from discreet.questions.follow_ups import is_follow_up, unclear
from discreet.system.words import LONGEST_TURN, MOST_TURNS
from discreet.vault import Vault

_ALONE = 'It refers to an earlier question. Write the whole question, or name the one before it: --after "QUESTION".'


def turn(role: str, text: str) -> Message:
    """Return a message of a conversation, cut to the longest that the model reads."""
    return role, text[:LONGEST_TURN] or " "


def complete(vault: Vault, question: str, turns: Sequence[Message]) -> str:
    """Return a question as one that stands alone; it is printed if it is another one.

    Args:
        vault: the vault; its documents are not read.
        question: the question.
        turns: the questions before it, and their released answers, oldest first: all of it is public.

    Raises:
        CannotAnswer: if it is a follow-up, and no question can be made of it.
    """
    earlier_questions = [text for role, text in turns if role == "user"]
    whole, doubtful = questions.complete([*earlier_questions, question], vault.own_router)
    earlier = earlier_questions[-1] if earlier_questions else ""
    if doubtful:
        raise unclear(earlier)
    if not whole and not is_follow_up(question):
        return question
    if not earlier:
        raise CannotAnswer("follow-up", _ALONE)
    whole = whole or condense(vault.model, [*turns[1 - MOST_TURNS :], turn("user", question)])
    if not whole or is_follow_up(whole):
        raise unclear(earlier)
    err.print(f"The question that is asked: {whole}", markup=False)
    return whole

"""The checks of the parameters of a consensus, before anything is asked or paid."""

from typing import TYPE_CHECKING

from discreet.algorithms.common.grounded_votes import NO, YES
from discreet.algorithms.text.normalize import check_choices
from discreet.errors import UnknownName, UsageError

if TYPE_CHECKING:
    from discreet.algorithms.consensus import Consensus

FALLBACKS = ("keywords", "sparse")
MOST_CHOICES = 10_000
MOST_PROPOSED = 100


def check_parameters(given: "Consensus") -> None:
    """Refuse parameters that contradict each other.

    Raises:
        UsageError: if they do, or if one is out of range.
    """
    for stage in given.fallback:
        if stage not in FALLBACKS:
            raise UnknownName("fallback", stage, FALLBACKS)
    if len(set(given.fallback)) < len(given.fallback):
        raise UsageError(f"A fallback is named twice: {', '.join(given.fallback)}. Name each once.")
    if not 0 < given.fallback_share < 1:
        raise UsageError(f"fallback_share lies between 0 and 1, not {given.fallback_share}.")
    if given.readings and (given.fallback or given.prefix):
        raise UsageError("What was read before has no fallback and no prefix. Leave them out, or ask the model.")
    if len(given.propose) > MOST_PROPOSED:
        raise UsageError(f"{len(given.propose)} proposed answers are more than {MOST_PROPOSED}. Propose fewer.")
    if given.choices:
        if given.with_count:
            raise UsageError(
                "Among choices, --vote-shares releases the votes, for half of the price. Leave out --with-count."
            )
        if given.propose:
            raise UsageError("With choices, no other answer can be released. Leave out `propose` or the choices.")
        check_choices(given.choices)
        if len(given.choices) > MOST_CHOICES:
            raise UsageError(f"{len(given.choices)} choices are more than {MOST_CHOICES:,}.")
        if given.fallback:
            raise UsageError(
                "With choices, one of them is always released, so a fallback never runs. Leave out one of both."
            )
        if given.unsaid and given.unsaid not in given.choices:
            raise UsageError(f"'{given.unsaid}' (unsaid) is not among the choices. Add it to them.")
        if given.grounded and (not given.unsaid or set(given.choices) != {YES, NO, given.unsaid}):
            raise UsageError(f"Grounded votes are '{YES}', '{NO}' and `unsaid`. Make these the choices.")
    elif given.vote_shares or given.flip or given.unsaid:
        raise UsageError("Shares of the vote, permute-and-flip and `unsaid` need public choices. Name at least two.")

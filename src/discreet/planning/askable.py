"""Whether a question can be answered at all, from public values alone: docs/privacy-details.md, "An empty vault"."""

from pathlib import Path

from discreet.algorithms.common.algorithm import Algorithm
from discreet.config import VaultConfig
from discreet.errors import UsageError
from discreet.planning.empty_mark import is_empty
from discreet.planning.prices import EVER, VOCABULARY, agreement, usual_algorithm, vault_budget
from discreet.privacy.account import Payment
from discreet.privacy.accounting import Budget


def check_askable(path: Path, settings: VaultConfig, algorithm: Algorithm, budget: Budget) -> None:
    """Nothing, if something was added to the vault, and enough people were declared for such a question.

    Neither follows from what the vault holds: that an `add` has ended, and the number that was declared at `init`, are
    acts of the custodian. A method that reads no document, and is free, is never refused.

    Raises:
        UsageError: no `add` has ended yet; or an answer needs more units than were declared. Nothing was charged.
    """
    if algorithm.private and algorithm.payment is Payment.NOTHING:
        return
    if is_empty(path):
        raise UsageError(
            f"Nothing was added to the vault at {path} yet: discreet add {path} FILES. Nothing was released or charged."
        )
    needed = fewest_units(algorithm, budget) if settings.people else 0
    if settings.people < needed:
        raise UsageError(
            f"The vault at {path} was made for about {settings.people:,} of '{settings.unit_field}', and at least "
            f"{needed} must agree on such an answer. Ask with public choices (--choice yes --choice no), which need "
            "fewer, or make a vault for more people. Nothing was released or charged."
        )


def fewest_units(algorithm: Algorithm, budget: Budget) -> int:
    """The least number of units whose common answer is released once in a hundred times or more: public.

    0 if the algorithm does not count votes, or always releases something, as among public choices; or if the budget is
    too small for it, which is refused elsewhere.
    """
    if algorithm.public_choices:
        return 0
    try:
        counted = algorithm.count_votes(budget, VOCABULARY)
        return agreement(*counted, EVER) or 0 if counted else 0
    except UsageError:
        return 0


def too_few(settings: VaultConfig, units: int) -> str:
    """What to tell the custodian of a vault with so few units; nothing if they are enough: private."""
    needed = fewest_units(usual_algorithm(settings.payment), vault_budget(settings.epsilon, settings.delta))
    if units >= needed:
        return ""
    held = "1 unit" if units == 1 else f"{units} units"
    return (
        f"The vault holds {held}; an answer from documents is hardly ever released with fewer than {needed}. A "
        "question is charged all the same."
    )

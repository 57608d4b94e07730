"""Checks from public values that a question can be answered at all (docs/privacy-details.md, "An empty vault")."""

from pathlib import Path

from discreet.algorithms.common.algorithm import Algorithm
from discreet.config import VaultConfig
from discreet.errors import UsageError
from discreet.planning.prices import EVER, VOCABULARY, agreement, usual_algorithm, vault_budget
from discreet.privacy.account import Payment
from discreet.privacy.accounting import Budget
from discreet.system.words import quoted


def check_askable(path: Path, settings: VaultConfig, algorithm: Algorithm, budget: Budget) -> None:
    """Check that an `add` has ended, and that enough people were declared for such a question.

    Both are public acts of the custodian: the end of an `add`, and the number declared at `init`. Neither depends on
    the documents. A free algorithm that reads no document always passes.

    Raises:
        UsageError: if no `add` has ended yet, or if an answer needs more units than were declared. Nothing was charged.
    """
    if algorithm.private and algorithm.payment is Payment.NOTHING:
        return
    if is_empty(path):
        raise UsageError(
            f"The vault at {path} has no documents yet. Add some: discreet add {quoted(path)} FILES. "
            "Nothing was released or charged."
        )
    needed = fewest_units(algorithm, budget) if settings.people else 0
    if settings.people < needed:
        raise UsageError(
            f"The vault at {path} was made for about {settings.people:,} individuals ('{settings.unit_field}'). Such "
            f"an answer needs at least {needed} that agree. Ask with public choices (--choice yes --choice no), which "
            "need fewer, or make a vault for more people. Nothing was released or charged."
        )


def fewest_units(algorithm: Algorithm, budget: Budget) -> int:
    """Return the least number of units whose common answer is released with probability 0.01 or more: public.

    Return 0 if the algorithm does not count votes, or always releases one of its public choices. Return 0 also if the
    budget is too small; another check refuses that.
    """
    if algorithm.public_choices:
        return 0
    try:
        counted = algorithm.count_votes(budget, VOCABULARY)
        return agreement(*counted, EVER) or 0 if counted else 0
    except UsageError:
        return 0


def too_few(settings: VaultConfig, units: int) -> str:
    """Return a warning for the custodian if the vault has too few units, otherwise "". The text is private."""
    needed = fewest_units(usual_algorithm(settings.payment), vault_budget(settings.epsilon, settings.delta))
    if units >= needed:
        return ""
    held = "1 unit" if units == 1 else f"{units} units"
    return (
        f"The vault holds {held}. With fewer than {needed} units, an answer from documents is released in less than "
        "1 % of cases. The question is charged in any case."
    )


EMPTY = "empty"
"""The name of the mark: a public file in a new vault, until an `add` has ended."""


def is_empty(folder: Path) -> bool:
    """Return whether no `add` to the vault has ended yet. The result is public: it does not depend on any document.

    A vault without the mark counts as filled.
    """
    return (folder / EMPTY).exists()


def no_longer_empty(folder: Path) -> None:
    """Remove the mark, because an `add` has ended. The number of added documents plays no part."""
    (folder / EMPTY).unlink(missing_ok=True)

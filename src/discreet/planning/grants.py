"""Checks of a grant before a vault is made. A grant cannot be changed later."""

import math

from discreet.algorithms.ensemble import check_number
from discreet.errors import UsageError
from discreet.planning.prices import LIKELY, VOCABULARY, chance, smallest, usual_algorithm, vault_budget

SUGGESTED_EPSILON = 8.0
MOST_EPSILON = 20.0
"""The largest epsilon of a grant that needs no `force`: the odds may grow by a factor of 485 million."""
MOST_DELTA = 1e-3
"""The delta from which on a grant is refused, for any number of people."""
_LARGEST_SUGGESTED = 1e-6
_LARGEST_EPSILON = 1e6


def suggested_delta(people: int) -> float:
    """Return the largest power of ten up to 1 / (10 people^1.1), and at most 1e-6.

    A mechanism that publishes each file with probability delta then publishes none with a probability of 95 %.
    """
    exponent = math.floor(-math.log10(10 * people**1.1) + 1e-9)
    return min(_LARGEST_SUGGESTED, float(f"1e{exponent}"))


def check_people(people: int) -> None:
    """Check the number of people.

    Raises:
        UsageError: if the number is not between 1 and 10 billion.
    """
    if not 1 <= people <= 10**10:
        raise UsageError(f"--people is {people}. Give the approximate number of individuals, between 1 and 10 billion.")


def check_delta(delta: float) -> None:
    """Check that delta is a probability above 0 and below 1.

    Raises:
        UsageError: if it is not, or is too small for a float.
    """
    if not 1e-300 <= delta < 1:
        raise UsageError(f"Delta is {delta}. It must be a probability above 0 and below 1, such as 1e-6.")


def check_grant(epsilon: float, delta: float, *, people: int = 0, payment: str = "unit", force: bool = False) -> None:
    """Check that a grant gives a meaningful guarantee, and pays for at least one question of the default kind.

    Args:
        epsilon: the epsilon of the grant.
        delta: the delta of the grant.
        people: the approximate number of units in the vault; 0 if unknown.
        payment: who pays for a question, "unit" or "corpus".
        force: whether to accept a bad grant if its numbers are valid.

    Raises:
        UsageError: if epsilon, delta or people is invalid. Without `force`, also if delta is too large for the number
            of people, if epsilon bounds nothing, or if the grant pays for no question of the default kind.
    """
    check_number("epsilon", epsilon)
    check_delta(delta)
    if people:
        check_people(people)
    reasons = (_delta_too_large(delta, people), _epsilon_too_large(epsilon))
    wrong = "" if force else next(filter(None, reasons), "") or _nothing_fits(epsilon, delta, payment)
    if wrong:
        raise UsageError(f"{wrong} A grant cannot be changed later. To make the vault nevertheless: --force.")


def smallest_grant(delta: float, payment: str = "unit") -> float:
    """Return the smallest epsilon, to three digits, that pays for a question of the default kind; infinite if none."""
    return smallest(lambda epsilon: _answers(epsilon, delta, payment), _LARGEST_EPSILON)


def _delta_too_large(delta: float, people: int) -> str:
    """Return the reason why delta is too large; "" if it is not."""
    advice = f"Give at most --delta {suggested_delta(people or 1):g}."
    if people and delta >= 1 / people:
        return (
            f"Delta {delta:g} is not below 1/{people}, one over the number of people. With such a delta, a mechanism "
            f"that publishes the file of a random person would satisfy the guarantee. {advice}"
        )
    if delta >= MOST_DELTA:
        return (
            f"Delta {delta:g} is too large: it is the probability that the guarantee fails, and must be below "
            f"{MOST_DELTA:g}. {advice}"
        )
    return ""


def _epsilon_too_large(epsilon: float) -> str:
    """Return the reason why epsilon is too large; "" if it is not."""
    if epsilon <= MOST_EPSILON:
        return ""
    return (
        f"Epsilon {epsilon:g} promises little: the odds that a person is in the vault may change by {odds(epsilon)}. "
        f"Give at most --epsilon {MOST_EPSILON:g}; {SUGGESTED_EPSILON:g} is the default: "
        f"{odds(SUGGESTED_EPSILON)}."
    )


def _nothing_fits(epsilon: float, delta: float, payment: str) -> str:
    """Return the reason why no question of the default kind can be answered; "" if one can."""
    if _answers(epsilon, delta, payment):
        return ""
    needed = smallest_grant(delta, payment)
    if math.isinf(needed):
        return f"With delta {delta:g}, no epsilon pays for a question of the default kind. Give --delta 1e-6."
    return (
        f"With epsilon {epsilon:g} and delta {delta:g}, the grant pays for no question of the default kind "
        f"('{usual_algorithm(payment).name}'). Give --epsilon {needed:g} or more. "
        f"`discreet plan` shows what a grant pays for."
    )


def _answers(epsilon: float, delta: float, payment: str) -> bool:
    """Return whether a grant pays for a default question, and a unanimous answer is likely to be released."""
    budget, algorithm = vault_budget(epsilon, delta), usual_algorithm(payment)
    try:
        voters, rounds = algorithm.count_votes(budget, VOCABULARY)
    except UsageError:
        return False
    return budget.admits(rounds.plan.max_cost) and (chance(voters, rounds, voters.voters) or 0.0) >= LIKELY


def odds(epsilon: float) -> str:
    """Return the factor by which the odds may grow, e^epsilon, in words: "2,980 to 1", "10^43 to 1"."""
    power = epsilon / math.log(10)
    if power >= 15:
        return f"10^{power:.0f} to 1"
    digits = max(0, 2 - math.floor(power))
    return f"{round(math.exp(epsilon), 2 - math.floor(power)):,.{digits}f} to 1"

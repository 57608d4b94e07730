"""Whether a grant is worth making a vault with: it is fixed for good."""

import math

from discreet.algorithms.common.ensemble import check_number
from discreet.errors import UsageError
from discreet.planning.prices import LIKELY, VOCABULARY, chance, smallest, usual_algorithm, vault_budget

SUGGESTED_EPSILON = 8.0
MOST_DELTA = 1e-3
"""From here on delta is refused, for however few people."""
_LARGEST_SUGGESTED = 1e-6
_MOST_EPSILON = 1e6


def suggested_delta(people: int) -> float:
    """The largest power of ten up to 1 / (10 people^1.1), and never above 1e-6.

    A method that publishes each file with probability delta then publishes none at all, nineteen times in twenty.
    """
    exponent = math.floor(-math.log10(10 * people**1.1) + 1e-9)
    return min(_LARGEST_SUGGESTED, float(f"1e{exponent}"))


def check_people(people: int) -> None:
    """Nothing, if this is a number of people.

    Raises:
        UsageError: it is not.
    """
    if not 1 <= people <= 10**10:
        raise UsageError(f"--people is about how many individuals there are: 1 to 10 billion, not {people}.")


def check_delta(delta: float) -> None:
    """Nothing, if delta is a probability that can be worked with.

    Raises:
        UsageError: it is not.
    """
    if not 1e-300 <= delta < 1:
        raise UsageError(f"Delta is a probability between 0 and 1, not {delta}. Try 1e-6.")


def check_grant(epsilon: float, delta: float, *, people: int = 0, payment: str = "unit", force: bool = False) -> None:
    """Nothing, if a vault with this grant can keep its promise, and can answer a question.

    Args:
        epsilon: of the grant.
        delta: of the grant.
        people: about how many units the vault will hold; 0 if that is not known.
        payment: who pays for a question, "unit" or "corpus".
        force: whether a grant may be made all the same that is a number, but a bad one.

    Raises:
        UsageError: epsilon, delta or people is no such number; or, without `force`, delta is too large for so many
            people, or no question of the usual kind can be answered.
    """
    check_number("epsilon", epsilon)
    check_delta(delta)
    if people:
        check_people(people)
    wrong = "" if force else (_delta_too_large(delta, people) or _nothing_fits(epsilon, delta, payment))
    if wrong:
        raise UsageError(f"{wrong} A grant cannot be changed later. To make the vault all the same: --force.")


def smallest_grant(delta: float, payment: str = "unit") -> float:
    """The smallest epsilon, to three digits, at which a usual question can be answered; infinite if none is."""
    return smallest(lambda epsilon: _answers(epsilon, delta, payment), _MOST_EPSILON)


def _delta_too_large(delta: float, people: int) -> str:
    """Why delta is too large; nothing if it is not."""
    advice = f"Give at most --delta {suggested_delta(people or 1):g}."
    if people and delta >= 1 / people:
        return (
            f"Delta {delta:g} is not below 1/{people}, one over the number of people: a method that publishes one "
            f"person's file at random would be within the promise. {advice}"
        )
    if delta >= MOST_DELTA:
        return f"Delta {delta:g} is the probability that the promise fails; {MOST_DELTA:g} and above is none. {advice}"
    return ""


def _nothing_fits(epsilon: float, delta: float, payment: str) -> str:
    """Why no question of the usual kind can be answered; nothing if one can."""
    if _answers(epsilon, delta, payment):
        return ""
    needed = smallest_grant(delta, payment)
    if math.isinf(needed):
        return f"With delta {delta:g} no question of the usual kind can ever be answered, whatever epsilon. Try 1e-6."
    return (
        f"With epsilon {epsilon:g} at delta {delta:g} no question of the usual kind "
        f"('{usual_algorithm(payment).name}') can ever be answered. It takes --epsilon {needed:g} or more; "
        f"`discreet plan` shows what a grant pays for."
    )


def _answers(epsilon: float, delta: float, payment: str) -> bool:
    """Whether a usual question can be paid for, and an answer of all voters is released at least every other time."""
    budget, algorithm = vault_budget(epsilon, delta), usual_algorithm(payment)
    try:
        counted = algorithm.count_votes(budget, VOCABULARY)
    except UsageError:
        return False
    if counted is None:
        return False
    voters, rounds = counted
    return budget.admits(rounds.plan.max_cost) and (chance(voters, rounds, voters.voters) or 0.0) >= LIKELY

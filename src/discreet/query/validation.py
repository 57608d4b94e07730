"""The checks of a question before any payment. They use the question, the algorithm and public values alone."""

from pathlib import Path

from discreet.algorithms.common.algorithm import Algorithm, Guarantee, Plan
from discreet.config import VaultConfig
from discreet.errors import PriceChanged, UsageError
from discreet.privacy.account import Payment
from discreet.privacy.accounting import Spending


def check_declared(algorithm: object) -> None:
    """Refuse an algorithm that declares no guarantee or no payment.

    Raises:
        UsageError: if it is not an `Algorithm` with a guarantee and a payment.
    """
    name = getattr(algorithm, "name", type(algorithm).__name__)
    if not isinstance(algorithm, Algorithm):
        mistake = "is not an Algorithm: derive its class from discreet.Algorithm"
    elif not isinstance(getattr(algorithm, "guarantee", None), Guarantee):
        mistake = "does not declare its guarantee: set the class attribute `guarantee` to a Guarantee"
    elif not isinstance(getattr(algorithm, "payment", None), Payment):
        mistake = "does not declare how it pays: set the class attribute `payment` to a Payment"
    elif algorithm.private is not (algorithm.guarantee is Guarantee.DP):
        mistake = "sets `private`, which follows from `guarantee`: remove it"
    else:
        return
    raise UsageError(f"'{name}' {mistake}. Nothing was charged.")


def check_plan(algorithm: Algorithm, plan: Plan | None) -> None:
    """Refuse an algorithm whose plan does not match the payment that it declares.

    Raises:
        UsageError: if it plans a cost and charges nothing, or charges units and plans no cost.
    """
    if algorithm.private and (plan is None) is not (algorithm.payment is Payment.NOTHING):
        found = "plans no cost" if plan is None else "plans a cost"
        raise UsageError(
            f"'{algorithm.name}' {found}, and declares that it charges {algorithm.payment}. Make `plan` and `payment` "
            "agree. Nothing was charged."
        )


def check_ceiling(plan: Plan | None, ceiling: Spending | None) -> None:
    """Refuse a question that may cost more than its caller allows.

    Raises:
        PriceChanged: if the plan's highest cost is above the ceiling, at any order or in failures.
    """
    if plan is not None and ceiling is not None and not plan.max_cost.within(ceiling):
        raise PriceChanged(
            "The question may cost a unit more than its caller allows: the vault has changed since its price was "
            "asked. Ask for the price again. Nothing was charged."
        )


def check_payment(algorithm: Algorithm, settings: VaultConfig, path: Path) -> None:
    """Refuse an algorithm that the vault at `path` cannot run.

    Raises:
        UsageError: if it charges single units and the payment is "corpus", or if the vault refuses its claim.
    """
    if algorithm.guarantee is Guarantee.CLAIMED and not settings.accept_claims:
        raise UsageError(
            f"'{algorithm.name}' rests on a published claim that is no guarantee, and the vault at {path} accepts "
            "none. Use an algorithm with a guarantee; for research, make a vault with: discreet init --accept-claims"
        )
    if settings.payment == "corpus" and algorithm.payment is Payment.EACH_UNIT:
        raise UsageError(
            f"'{algorithm.name}' charges single units, but the payment of the vault at {path} is 'corpus': all units "
            "pay for every question. Choose another algorithm, or make a vault with unit payment: discreet init."
        )


def require_opt_in(algorithm: Algorithm, not_private: bool) -> None:
    """Require `not_private` for an algorithm without a guarantee.

    Raises:
        UsageError: if it is not set.
    """
    if not (algorithm.private or not_private):
        raise UsageError(
            f"'{algorithm.name}' gives no guarantee: its answer may repeat any document. To run it nevertheless: "
            "--not-private (in Python: not_private=True)."
        )

"""Run an algorithm, pay for it, and attach the receipt."""

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from discreet.algorithms.base import ANY_VOCABULARY, Algorithm, Answer, GeneratedAnswer, Query
from discreet.errors import (
    BudgetExhausted,
    DiscreetError,
    EngineFailed,
    Interrupted,
    PlanExceeded,
    PrivateValueError,
    UsageError,
)
from discreet.models.capabilities import find_assumptions
from discreet.models.protocol import VotingModel
from discreet.privacy.account import Account, CorpusAccount, FreeAccount, Payment, UnitAccount, UnpaidAccount
from discreet.privacy.accounting import Budget
from discreet.privacy.costs import Cost
from discreet.privacy.filter import CeilingReached, UnitLedger
from discreet.privacy.noise import Noise
from discreet.store.sealed_corpus import SealedCorpus

# --- latency ----------------------------------------------------------------------------------------------------------


LONGEST = 3600.0
"""The upper limit of a quantum in seconds, to catch typing errors."""


@dataclass(frozen=True)
class Pace:
    """When the reply to a question leaves.

    Attributes:
        begun: when the quanta begin, in seconds since 1970.
        quantum: seconds; the reply leaves at a multiple of them, or at once if 0.
    """

    begun: float = 0.0
    quantum: float = 0.0

    def minute(self) -> str:
        """Return the minute in which a reply that is ready now leaves, UTC: when it was ready must not show."""
        leaves = time.time()
        if self.quantum:
            leaves = self.begun + self.quantum * _quanta(leaves - self.begun, self.quantum)
        return datetime.fromtimestamp(leaves, UTC).isoformat(timespec="minutes")


AT_ONCE = Pace()


@contextmanager
def at_a_multiple(
    quantum: float, clock: Callable[[], float] = time.monotonic, sleep: Callable[[float], None] = time.sleep
) -> Iterator[Pace]:
    """Leave the block, also by an error, only at a multiple of `quantum` seconds after its beginning. Yield its pace.

    A quantum that is longer than every answer hides the duration. A shorter one reveals the number of quanta. With 0
    there is no wait.

    Raises:
        UsageError: if the quantum is negative or above `LONGEST`.
    """
    if not 0 <= quantum <= LONGEST:
        raise UsageError(
            f"The quantum is {quantum:g}. Expected: from 0 to {LONGEST:g} seconds. Try --quantum 10, or 0 for none."
        )
    begun = clock()
    try:
        yield Pace(time.time(), quantum)
    finally:
        if quantum:
            due = begun + quantum * _quanta(clock() - begun, quantum)
            while (left := due - clock()) > 0:
                sleep(left)


def _quanta(seconds: float, quantum: float) -> int:
    return max(1, math.ceil(seconds / quantum))


# --- execution --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Execution:
    """A question that is about to be answered.

    Attributes:
        id: its id in the ledger.
        query: its text, with the public text for the prompt.
        algorithm: the algorithm.
        ceiling: its own budget.
        by_unit: whether single units pay.
        unit: the word for a privacy unit on the receipt.
        noise: the source of noise; the operating system if None.
        assumed: what the guarantee takes for granted beside the model, such as about an earlier reading.
    """

    id: str
    query: Query
    algorithm: Algorithm
    ceiling: Budget
    by_unit: bool
    unit: str
    noise: Noise | None = None
    assumed: tuple[str, ...] = ()

    def open_account(self, ledger: UnitLedger) -> Account:
        """Return the account that pays for the question."""
        if not self.algorithm.spec.private:
            return UnpaidAccount(ledger, self.ceiling, self.id, unit=self.unit, noise=self.noise)
        if self.algorithm.spec.payment is Payment.NOTHING:
            return FreeAccount(ledger, self.ceiling, self.id, unit=self.unit, noise=self.noise)
        if self.by_unit:
            return UnitAccount(ledger, self.id, ceiling=self.ceiling, unit=self.unit, noise=self.noise)
        return CorpusAccount(ledger, self.ceiling, self.id, unit=self.unit, noise=self.noise)

    def answer(self, corpus: SealedCorpus, model: VotingModel, ledger: UnitLedger) -> Answer:
        """Answer the question, paying into `ledger`.

        Raises:
            BudgetExhausted: if another question used up the budget during this one.
            PlanExceeded: if the algorithm releases more than it declares.
            DiscreetError: if the algorithm returns no `GeneratedAnswer`.
            Interrupted: if Ctrl-C was pressed; charges stay.
        """
        account = self.open_account(ledger)
        generated, interrupted = None, True
        try:
            # Suppressed rather than chained: the frames of an interruption hold private values.
            with suppress(KeyboardInterrupt):
                generated = self.algorithm.run(self.query, corpus, model, account)
                interrupted = False
            if isinstance(account, CorpusAccount) and not interrupted:
                account.check_not_free(self._costs())
        except CeilingReached as refusal:
            raise self._describe_excess(refusal, account, charged=not ledger.simulation) from None
        except BudgetExhausted as refusal:
            raise _describe(refusal, account) from None
        except (EngineFailed, PrivateValueError):
            if isinstance(account, CorpusAccount):  # single units have paid before they were read
                try:
                    account.forfeit(self._costs())
                except BudgetExhausted as refusal:  # nothing paid for the failure, so it must not show
                    raise _describe(refusal, account) from None
            raise
        if not (interrupted or isinstance(generated, GeneratedAnswer)):
            raise self._describe_result(generated)
        # After an error no reserve is returned to units: the moment of the error may depend on unreleased values.
        account.settle()
        assumed = tuple(dict.fromkeys(find_assumptions(model) + self.assumed)) if self.algorithm.spec.private else ()
        receipt = replace(account.receipt(), assumed=assumed)
        if generated is None:
            # A baseline and a simulation charge no unit, regardless of the receipt.
            charged = self.algorithm.spec.private and not ledger.simulation
            raise Interrupted(receipt.epsilon if charged else 0.0)
        return Answer.of(generated, self.algorithm.name, receipt)

    def _describe_result(self, found: object) -> DiscreetError:
        """Return the error of an algorithm that returns another object than an answer: it has the type alone."""
        return DiscreetError(
            f"The algorithm '{self.algorithm.name}' returned an object of type {type(found).__name__}. Expected a "
            "GeneratedAnswer from `run`, or from `respond` of an ensemble. No answer was released, and what was paid "
            "stays paid. Mend the algorithm (docs/extend.md)."
        )

    def _describe_excess(self, refusal: CeilingReached, account: Account, *, charged: bool) -> PlanExceeded:
        """Return the error of an algorithm that releases more than it declares. Both costs are public."""
        by_unit = isinstance(account, UnitAccount)
        paid = self.ceiling.spent(account.reserved()) if isinstance(account, UnitAccount) else account.receipt().epsilon
        kept = f"What was paid stays paid: epsilon {paid:.4g}. " if charged else ""
        return PlanExceeded(
            f"The algorithm '{self.algorithm.name}' releases more than its plan declares: "
            f"{_compare(self.ceiling, refusal, 'it charged' if by_unit else 'plan has')}. {kept}No answer was "
            "released. Mend `plan` and `run` of the algorithm until they agree (docs/extend.md)."
        )

    def _costs(self) -> list[Cost]:
        """Return what the question can cost, in the order of its plan."""
        plan = self.algorithm.plan(self.ceiling, ANY_VOCABULARY)
        return [] if plan is None else [*([plan.selection] if plan.selection else []), *[plan.round] * plan.rounds]


def _compare(ceiling: Budget, refusal: CeilingReached, declares: str) -> str:
    """Return what a run draws, beside what was declared for it, by the first number that shows the difference."""
    drawn, declared = refusal.drawn, refusal.declared
    failures, epsilon = (ceiling.failures, ceiling.epsilon)
    if declared is not None:
        failures, epsilon = declared.delta, ceiling.spent(declared)
    if drawn.delta > failures:
        return f"run draws a probability of failure of {drawn.delta:.2g}, {declares} {failures:.2g}"
    numbers = f"run draws epsilon {ceiling.spent(drawn):.4g}, {declares} epsilon {epsilon:.4g}"
    return numbers if ceiling.spent(drawn) > epsilon else f"{numbers}, and more at another order of the divergence"


def _describe(refusal: BudgetExhausted, account: Account) -> BudgetExhausted:
    """Return the refusal for an answer whose budget another process spent meanwhile."""
    if isinstance(account, UnitAccount):
        return refusal
    return BudgetExhausted(
        f"Another question used up the budget in the middle of this one. What was paid stays paid: epsilon "
        f"{account.receipt().epsilon:.4g}. No answer was released; {refusal.left:.4g} is left.",
        asked=refusal.asked,
        left=refusal.left,
    )

"""The private release of a similarity threshold for MuRAG, above which about the wanted number of units lies.

For each of a few public questions, the release is the threshold above which the wanted number of units lies. The median
of these thresholds is the suggestion. Every unit above the lowest threshold pays for every question.
"""

import statistics
import uuid
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from discreet.algorithms.ensemble import check_number
from discreet.algorithms.murag import MuRAGAda
from discreet.config import VaultConfig
from discreet.errors import Interrupted, UsageError
from discreet.privacy.account import UnitAccount
from discreet.privacy.accounting import Spending, check_affordable
from discreet.privacy.costs import Pure
from discreet.privacy.filter import Receipt
from discreet.privacy.mechanisms.selection import ThresholdChoice
from discreet.privacy.partition import ADD_REMOVE_ONE, Member, together
from discreet.store.sealed_corpus import Found, SealedCorpus
from discreet.system.progress import stage

if TYPE_CHECKING:
    from discreet.ledger.ledger import LogLedger


@dataclass(frozen=True, kw_only=True)
class Tuning:
    """The parameters of a tuning.

    Attributes:
        epsilon: the total cost of all questions to a unit, as a plain sum.
        wanted: the wanted number of units that are relevant to a question.
        bins: the algorithm whose thresholds are the candidates.
    """

    epsilon: float = 1.0
    wanted: int = 40
    bins: MuRAGAda = field(default_factory=partial(MuRAGAda, highest=0.8, bins=40))

    def __post_init__(self) -> None:
        check_number("epsilon", self.epsilon)
        if self.wanted < 1:
            raise UsageError(f"The wanted number of units is {self.wanted}. Expected: at least 1.")

    def release(self, questions: Sequence[str], corpus: SealedCorpus, account: UnitAccount) -> list[float]:
        """Release a threshold for each question, and return them. Their median is the suggestion."""
        edges = self.bins.edges
        choice = ThresholdChoice.calibrated(self.epsilon / len(questions), len(edges), self.wanted, ADD_REMOVE_ONE)
        most = Spending.of(choice.cost(ADD_REMOVE_ONE))
        thresholds = []
        with stage("Looking for a threshold, for each question", len(questions)) as done:
            for question in questions:
                parts = enumerate(corpus.bins(question, edges))
                members = together([part.map(partial(_in_bin, place)) for place, part in parts])
                admitted, paid = account.admit(members, most)
                thresholds.append(edges[paid.release(choice, admitted.map(lambda member: member.value))])
                done(1)
        return thresholds


def _in_bin(place: int, member: Found) -> Member[int]:
    return Member(member.key, place)


def suggestion(released: Sequence[float]) -> float:
    """Return the median of the released thresholds."""
    return statistics.median_low(released)


def release_threshold(
    tuning: Tuning, questions: Sequence[str], corpus: SealedCorpus, ledger: "LogLedger", settings: VaultConfig
) -> tuple[float, Receipt]:
    """Release a similarity threshold, tuned on public questions. Return it with its receipt.

    Raises:
        UsageError: if the payment is "corpus", or if there is no question.
        BudgetExhausted: if every unit has less left than the release costs.
        Interrupted: if Ctrl-C was pressed; charges stay.
    """
    if settings.payment != "unit":
        raise UsageError(
            "The payment of this vault is 'corpus'. Tuning needs a vault with unit payment: discreet init."
        )
    if not questions:
        raise UsageError("There is no question to tune on. Give at least one public question.")
    check_affordable(ledger.budget, ledger.spent(), tuning.epsilon, lambda epsilon: Spending.of(Pure(epsilon)))
    question_id = uuid.uuid4().hex
    ledger.begin(question_id, "tune", f"{len(questions)} public questions")
    account = UnitAccount(ledger, question_id, unit=settings.unit_field)
    released = None
    # Suppressed rather than chained: the frames of an interruption hold private values.
    with suppress(KeyboardInterrupt):
        released = tuning.release(questions, corpus, account)
    account.settle()
    if released is None:
        raise Interrupted(account.receipt().epsilon)
    ledger.finish(question_id, "end")
    return suggestion(released), account.receipt()

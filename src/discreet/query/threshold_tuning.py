"""A threshold of similarity for MuRAG, released privately: the one that leaves about as many units as are wanted.

For each of a few public questions, the threshold is chosen at which the wanted number of units is relevant; the
middle one of them is the suggestion. Every unit above the lowest threshold pays, for every question.
"""

import statistics
import uuid
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from discreet.algorithms.common.ensemble import check_number
from discreet.algorithms.murag_ada import MuRAGAda
from discreet.config import VaultConfig
from discreet.errors import Interrupted, UsageError
from discreet.privacy.accounting import Spending
from discreet.privacy.admission import check_affordable
from discreet.privacy.costs import Pure
from discreet.privacy.filter import Receipt
from discreet.privacy.mechanisms.threshold_choice import ThresholdChoice
from discreet.privacy.partition import ADD_REMOVE_ONE, Member, together
from discreet.privacy.unit_account import UnitAccount
from discreet.retrieval.sealed_corpus import Found, SealedCorpus
from discreet.system.progress import stage

if TYPE_CHECKING:
    from discreet.ledger.protocol import VaultLedger


@dataclass(frozen=True, kw_only=True)
class Tuning:
    """Parameters.

    Attributes:
        epsilon: what all questions together cost a unit, as a plain sum.
        wanted: how many units should be relevant to a question.
        bins: the thresholds to choose from.
    """

    epsilon: float = 1.0
    wanted: int = 40
    bins: MuRAGAda = field(default_factory=MuRAGAda)

    def __post_init__(self) -> None:
        check_number("epsilon", self.epsilon)
        if self.wanted < 1:
            raise UsageError(f"At least 1 unit is wanted, not {self.wanted}.")

    def release(self, questions: Sequence[str], corpus: SealedCorpus, account: UnitAccount) -> list[float]:
        """A threshold for each question, released; `statistics.median` of them is the suggestion."""
        edges = self.bins.edges
        choice = ThresholdChoice.calibrated(self.epsilon / len(questions), len(edges), self.wanted, ADD_REMOVE_ONE)
        most = Spending.of(choice.cost(ADD_REMOVE_ONE))
        found = []
        with stage("Looking for a threshold, for each question", len(questions)) as done:
            for question in questions:
                members = together(
                    [part.map(partial(_placed, place)) for place, part in enumerate(corpus.bins(question, edges))]
                )
                admitted, paid = account.admit(members, most)
                found.append(edges[paid.release(choice, admitted.map(_place))])
                done(1)
        return found


def suggestion(released: Sequence[float]) -> float:
    """The middle one of the released thresholds."""
    return statistics.median_low(released)


def _placed(place: int, member: Found) -> Member[int]:
    return Member(member.key, place)


def _place(member: Member[int]) -> int:
    return member.value


def release_threshold(
    tuning: Tuning, questions: Sequence[str], corpus: SealedCorpus, ledger: "VaultLedger", settings: VaultConfig
) -> tuple[float, Receipt]:
    """A threshold of similarity, released privately from public questions, and what it cost.

    Raises:
        UsageError: everybody pays in this vault, or there is no question.
        BudgetExhausted: everybody has less left than it costs.
        Interrupted: Ctrl-C; what was paid stays paid.
    """
    if settings.payment != "unit":
        raise UsageError(
            "Tuning needs a vault in which units pay by themselves. Let them, from now on, with: discreet budget VAULT "
            "--convert"
        )
    if not questions:
        raise UsageError("Tuning needs at least one question.")
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

"""The suite of algorithms passes the project's own algorithms, and catches broken ones."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

import pytest

from discreet.algorithms.base import Algorithm, AlgorithmSpec, GeneratedAnswer, Plan, Query
from discreet.baselines import require_baseline
from discreet.errors import DiscreetError
from discreet.models.protocol import VotingModel
from discreet.models.toy import ToyModel
from discreet.privacy.account import Account, Payment
from discreet.privacy.accounting import Budget, Spending, budget_for
from discreet.privacy.costs import Pure
from discreet.privacy.mechanisms.counting import NoisyCount
from discreet.privacy.partition import ADD_REMOVE_ONE
from discreet.registry import Consensus, DPVoteRAG, MuRAGAda, NonRAG
from discreet.store.sealed_corpus import SealedCorpus
from discreet.testing import AlgorithmSuite
from discreet.testing.algorithm import BUDGET
from tests.testing.harness import failing, fails


class TestOwnAlgorithms(AlgorithmSuite):
    @pytest.fixture(
        params=[
            Consensus(),
            MuRAGAda(),
            *(pytest.param(one, marks=pytest.mark.long) for one in (DPVoteRAG(), NonRAG())),
        ],
        ids=lambda algorithm: algorithm.name,
    )
    def algorithm(self, request: pytest.FixtureRequest) -> Algorithm:
        found: Algorithm = request.param
        return found


@dataclass(frozen=True)
class Count(Algorithm):
    """A noisy count of the units near the question."""

    name: ClassVar[str] = "count"
    spec: ClassVar[AlgorithmSpec] = AlgorithmSpec(Payment.EVERY_UNIT)

    def plan(self, budget: Budget, vocabulary: int) -> Plan:
        return Plan(budget_for(Pure(1.0), 1.0, budget.delta), Pure(1.0), 1)

    def run(self, query: Query, corpus: SealedCorpus, model: VotingModel, account: Account) -> GeneratedAnswer:
        paying = account.charge_every_unit(Spending.of(Pure(1.0)))
        near = paying.among(corpus.above(query.text, 0.0)).map(lambda _: True)
        return GeneratedAnswer(str(paying.paid.release(NoisyCount.calibrated(1.0, ADD_REMOVE_ONE), near)), "end", 1)


class CountEach(Count):
    """The same; the units near the question pay."""

    spec: ClassVar[AlgorithmSpec] = AlgorithmSpec(Payment.EACH_UNIT)

    def run(self, query: Query, corpus: SealedCorpus, model: VotingModel, account: Account) -> GeneratedAnswer:
        able, paid = account.admit(corpus.above(query.text, 0.0), Spending.of(Pure(1.0)))
        number = paid.release(NoisyCount.calibrated(1.0, ADD_REMOVE_ONE), able.map(lambda _: True))
        return GeneratedAnswer(str(number), "end", 1)


class NoPayment(Count):
    """Does not declare its payment."""

    spec = None  # type: ignore[assignment]


class TooSmallPlan(Count):
    """Plans half of what it draws."""

    def plan(self, budget: Budget, vocabulary: int) -> Plan:
        return Plan(budget_for(Pure(0.5), 0.5, budget.delta), Pure(0.5), 1)


class TooLargePlan(Count):
    """Plans more than the budget."""

    def plan(self, budget: Budget, vocabulary: int) -> Plan:
        return Plan(budget_for(Pure(30.0), 30.0, budget.delta), Pure(30.0), 1)


class ReservesTwice(CountEach):
    """Charges units twice for one release."""

    def run(self, query: Query, corpus: SealedCorpus, model: VotingModel, account: Account) -> GeneratedAnswer:
        account.admit(corpus.above(query.text, 0.0), Spending.of(Pure(1.0)))
        return super().run(query, corpus, model, account)


class ReadsPoorUnits(Count):
    """Counts units that cannot pay."""

    def run(self, query: Query, corpus: SealedCorpus, model: VotingModel, account: Account) -> GeneratedAnswer:
        paid = account.charge_every_unit(Spending.of(Pure(1.0))).paid
        near = corpus.above(query.text, 0.0).map(lambda _: True)
        return GeneratedAnswer(str(paid.release(NoisyCount.calibrated(1.0, ADD_REMOVE_ONE), near)), "end", 1)


class TriesUnpaid(Count):
    """Asks to open values without payment, and pays only if that is refused."""

    def run(self, query: Query, corpus: SealedCorpus, model: VotingModel, account: Account) -> GeneratedAnswer:
        try:
            near = corpus.above(query.text, 0.0).map(lambda _: True)
            number = account.unpaid().release(NoisyCount.calibrated(1.0, ADD_REMOVE_ONE), near)
            return GeneratedAnswer(str(number), "end", 1)
        except DiscreetError:
            return super().run(query, corpus, model, account)


class ReadsInTheClear(Count):
    """Adds the nearest passage to the released count."""

    def run(self, query: Query, corpus: SealedCorpus, model: VotingModel, account: Account) -> GeneratedAnswer:
        counted = super().run(query, corpus, model, account)
        nearest = require_baseline(corpus).unsealed_passages(query.text, 1)
        return replace(counted, text=f"{counted.text} {nearest}")


class NeedsDocuments(Count):
    """Fails in an empty corpus."""

    def run(self, query: Query, corpus: SealedCorpus, model: VotingModel, account: Account) -> GeneratedAnswer:
        if not require_baseline(corpus).unsealed_passages(query.text, 1):
            raise DiscreetError("There is no document.")
        return super().run(query, corpus, model, account)


class AnswersOnlyOthers(Count):
    """Pays a first release, and answers no document of the suite, so that a second release is never tested."""

    def run(self, query: Query, corpus: SealedCorpus, model: VotingModel, account: Account) -> GeneratedAnswer:
        super().run(query, corpus, model, account)
        return GeneratedAnswer.unreleased("warm sand", 2)


class AnswersUnpaid(Count):
    """Has a cost, and answers without a release."""

    def run(self, query: Query, corpus: SealedCorpus, model: VotingModel, account: Account) -> GeneratedAnswer:
        return GeneratedAnswer("warm sand", "end", 2)


def suite_fixtures(algorithm: Algorithm, account: str) -> dict[str, object]:
    model = ToyModel(["warm", "sand", "forbidden"])
    return {"algorithm": algorithm, "model": model, "budget": BUDGET, "account": account}


@pytest.mark.parametrize("account", ["corpus", "unit"])
@pytest.mark.parametrize("algorithm", [Count(), CountEach()])
def test_algorithm_suite_passes_sound_algorithm(algorithm: Algorithm, account: str, tmp_path: Path) -> None:
    assert failing(AlgorithmSuite(), tmp_path, **suite_fixtures(algorithm, account)) == set()


@pytest.mark.parametrize(
    ("twin", "test", "account"),
    [
        (NoPayment(), "test_algorithm_declares_its_guarantee_and_payment", "unit"),
        (TooLargePlan(), "test_plan_fits_the_budget", "unit"),
        (TooSmallPlan(), "test_run_takes_at_most_its_plan", "corpus"),
        (TooSmallPlan(), "test_run_takes_at_most_its_plan", "unit"),
        (ReservesTwice(), "test_run_takes_at_most_its_plan", "unit"),
        (ReadsPoorUnits(), "test_unit_that_cannot_pay_changes_nothing", "unit"),
        (TriesUnpaid(), "test_no_value_is_opened_without_payment", "corpus"),
        (TriesUnpaid(), "test_no_value_is_opened_without_payment", "unit"),
        (ReadsInTheClear(), "test_no_value_is_opened_without_payment", "unit"),
        (NeedsDocuments(), "test_run_needs_no_document", "unit"),
        (AnswersOnlyOthers(), "test_agreeing_units_get_an_answer", "unit"),
        (AnswersUnpaid(), "test_agreeing_units_get_an_answer", "unit"),
    ],
)
def test_algorithm_suite_catches_broken_algorithm(twin: Algorithm, test: str, account: str, tmp_path: Path) -> None:
    assert fails(AlgorithmSuite(), test, tmp_path, **suite_fixtures(twin, account))

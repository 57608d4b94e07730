"""The conformance suite of algorithms."""

from collections.abc import Sequence
from dataclasses import dataclass

import pytest

from discreet.algorithms.base import ANY_VOCABULARY, Algorithm, GeneratedAnswer, Plan, Query
from discreet.baselines import BaselineCorpus
from discreet.errors import BudgetExhausted, DiscreetError
from discreet.models.protocol import VotingModel
from discreet.models.toy import ToyModel
from discreet.privacy.account import CorpusAccount, Payment, UnitAccount
from discreet.privacy.accounting import Budget, Spending
from discreet.privacy.costs import Pure
from discreet.privacy.filter import APART, Charge, MemoryLedger, PrivacyFilter, Receipt
from discreet.privacy.noise import InsecureSeededNoise
from discreet.query.admission import check_declared
from discreet.store.documents import Document, Passage
from discreet.store.embedding import HashingEmbedder
from discreet.store.indexer import Indexer
from discreet.store.sealed_corpus import unit_key
from discreet.testing.plain_store import PlainStore

QUESTION = "What helps against numb thumbs?"
AGREEING = ["numb thumbs say: warm sand ."] * 60
DIFFERENT = [f"numb thumbs say: remedy number {number} ." for number in range(60)]
FORBIDDEN = "numb thumbs? What helps against numb thumbs say: forbidden ."
CORPORA = (AGREEING, DIFFERENT, AGREEING[:1], ())
SEEDS = range(3)
BUDGET = Budget(20.0, 1e-6, 1e-7)


class RecordingLedger(MemoryLedger):
    """A ledger of a simulation that records what one question may take from any one unit.

    Attributes:
        question: the question; what others pay is not recorded.
    """

    question = "question"

    def __init__(self, budget: Budget) -> None:
        super().__init__(budget)
        self._together, self._apart = Spending.nothing(), Spending.nothing()

    @property
    def taken(self) -> Spending:
        """The sum of the charges and of the reservations. Of disjoint parts, the largest counts."""
        return self._together + self._apart

    def charge(self, charge: Charge) -> bool:
        """Record a charge of every unit."""
        self._together = self._together + Spending.of(charge.cost)
        return super().charge(charge)

    def reserve(self, question: str, part: int, most: Spending, units: Sequence[bytes]) -> frozenset[bytes]:
        """Record a reservation of some units."""
        self._take(question, part, most)
        return super().reserve(question, part, most, units)

    def reserve_all(self, question: str, part: int, most: Spending) -> frozenset[bytes]:
        """Record a reservation of every unit."""
        self._take(question, part, most)
        return super().reserve_all(question, part, most)

    def _take(self, question: str, part: int, most: Spending) -> None:
        if question != self.question:
            return
        if part >= APART:
            self._apart = self._apart.or_more(most)
        else:
            self._together = self._together + most


class WatchedCorpus(BaselineCorpus):
    """A corpus that counts how often documents were read in the clear, as baselines do."""

    clear_reads = 0

    def unsealed_passages(self, question: str, count: int) -> list[Passage]:
        """Count the call, and return the passages."""
        self.clear_reads += 1
        return super().unsealed_passages(question, count)


class _Watched:
    """Mixed into an account: counts how often values were to be opened without payment."""

    unpaid_calls = 0

    def unpaid(self) -> PrivacyFilter:
        """Count the call, and refuse."""
        self.unpaid_calls += 1
        return super().unpaid()  # type: ignore[misc, no-any-return]


class WatchedCorpusAccount(_Watched, CorpusAccount):
    """A `CorpusAccount` that counts the calls of `unpaid`."""


class WatchedUnitAccount(_Watched, UnitAccount):
    """A `UnitAccount` that counts the calls of `unpaid`."""


@dataclass(frozen=True)
class AlgorithmRun:
    """One run of an algorithm.

    Attributes:
        generated: its answer.
        receipt: its receipt, after the account was settled.
        taken: the most that it charged or reserved of any one unit.
        unpaid_reads: how often it read documents in the clear, or asked for a filter that opens values unpaid.
    """

    generated: GeneratedAnswer
    receipt: Receipt
    taken: Spending
    unpaid_reads: int


class AlgorithmSuite:
    """Tests of an `Algorithm` that promises differential privacy. A subclass overrides the fixture `algorithm`.

    The suite runs the algorithm on small corpora, with a toy model and seeded noise, and compares what it takes with
    its plan. It finds a run that takes more than its plan, and a missing payment. It does not prove the guarantee: a
    mechanism whose `cost` is too small passes. Test its exact law, as tests/guarantee/privacy/test_mechanisms.py does.

    Give the algorithm parameters with which it answers: the suite's documents say "warm sand", and what follows an
    answer of none is not tested otherwise. So an algorithm that answers none of the runs fails.

    An algorithm that deals units to voters has at most 60 places, with the parameters under test: units are dealt at
    random, and with more places than units the number of empty voters, and so the answer, would be random.
    """

    @pytest.fixture
    def algorithm(self) -> Algorithm:
        """Return the algorithm under test."""
        raise NotImplementedError("Override the fixture `algorithm`.")

    @pytest.fixture
    def budget(self) -> Budget:
        """Return the budget of the vault. Override it if the algorithm needs a larger one, or another accountant."""
        return BUDGET

    @pytest.fixture
    def model(self) -> VotingModel:
        """Return the language model. Override it if the algorithm needs another one."""
        return ToyModel(["warm", "sand", "forbidden"])

    def test_algorithm_declares_its_guarantee_and_payment(self, algorithm: Algorithm) -> None:
        """Check that the algorithm has a name, and a spec whose guarantee is differential privacy."""
        check_declared(algorithm)
        assert isinstance(algorithm.name, str)
        assert algorithm.name
        assert algorithm.name == algorithm.name.strip().lower()
        assert algorithm.spec.private, "The suite is for algorithms whose guarantee is Guarantee.DP."
        assert hash(algorithm) == hash(algorithm), "The class of an algorithm is a frozen dataclass."

    def test_plan_fits_the_budget(self, algorithm: Algorithm, budget: Budget) -> None:
        """Check that the budget pays for the plan, and the ceiling for its rounds. A free algorithm has no plan."""
        plan = algorithm.plan(budget, ANY_VOCABULARY)
        assert (plan is None) == (algorithm.spec.payment is Payment.NOTHING)
        if plan is not None:
            assert budget.admits(plan.max_cost)
            assert plan.ceiling.admits(plan.generation_cost)
            assert plan.ceiling.epsilon <= budget.epsilon
            assert plan.ceiling.delta <= budget.delta

    def test_plan_does_not_depend_on_the_vocabulary(self, algorithm: Algorithm, budget: Budget) -> None:
        """Check that a vault plans a question before it loads a model."""
        plans = [algorithm.plan(budget, size) for size in (ANY_VOCABULARY, 50_000)]
        assert plans[0] == plans[1]

    @pytest.mark.parametrize("account", ["corpus", "unit"])
    def test_run_takes_at_most_its_plan(
        self, algorithm: Algorithm, model: VotingModel, budget: Budget, account: str
    ) -> None:
        """Check that the charges and reservations of any one unit are within `plan.max_cost`, in every corpus."""
        most = max_cost(algorithm, budget)
        for texts in CORPORA:
            for seed in SEEDS:
                assert run(algorithm, model, budget, account, texts, seed).taken.within(most)

    @pytest.mark.parametrize("account", ["corpus", "unit"])
    def test_receipt_is_within_the_ceiling(
        self, algorithm: Algorithm, model: VotingModel, budget: Budget, account: str
    ) -> None:
        """Check that a receipt has at most the delta of the ceiling, and its epsilon with that of the selection."""
        plan = algorithm.plan(budget, ANY_VOCABULARY)
        for texts in CORPORA:
            receipt = run(algorithm, model, budget, account, texts).receipt
            assert receipt.private
            assert receipt.epsilon <= (plan.ceiling.spent(plan.max_cost) if plan else 0.0)
            assert receipt.delta <= (plan.ceiling.delta if plan else 0.0)

    @pytest.mark.parametrize("account", ["corpus", "unit"])
    def test_no_value_is_opened_without_payment(
        self, algorithm: Algorithm, model: VotingModel, budget: Budget, account: str
    ) -> None:
        """Check that the algorithm calls neither `account.unpaid` nor `unsealed_passages`, which are for baselines."""
        for texts in CORPORA:
            assert run(algorithm, model, budget, account, texts).unpaid_reads == 0

    def test_unit_that_cannot_pay_changes_nothing(
        self, algorithm: Algorithm, model: VotingModel, budget: Budget
    ) -> None:
        """Units without a balance change neither the answer nor the charges, though they are the nearest."""
        poor = [FORBIDDEN] * 60
        for seed in SEEDS:
            without = run(algorithm, model, budget, "unit", AGREEING, seed)
            among = run(algorithm, model, budget, "unit", AGREEING, seed, poor=poor)
            assert among.generated == without.generated
            assert among.taken == without.taken
            assert among.receipt.charges == without.receipt.charges

    def test_agreeing_units_get_an_answer(self, algorithm: Algorithm, model: VotingModel, budget: Budget) -> None:
        """Check that the parameters under test let the algorithm release an answer, else the suite shows little."""
        runs = [run(algorithm, model, budget, "unit", AGREEING, seed) for seed in SEEDS]
        paid = algorithm.spec.payment is not Payment.NOTHING
        assert any(one.generated.text and (one.receipt.charges or not paid) for one in runs), (
            f"No run of '{algorithm.name}' released an answer, though all documents say {AGREEING[0]!r}. "
            'Give parameters with which it answers, such as choices=("warm", "cold").'
        )

    def test_run_needs_no_document(self, algorithm: Algorithm, model: VotingModel, budget: Budget) -> None:
        """Check that no error depends on whether the corpus has a document."""
        for seed in SEEDS:
            assert isinstance(run(algorithm, model, budget, "unit", (), seed).generated, GeneratedAnswer)


def max_cost(algorithm: Algorithm, budget: Budget) -> Spending:
    """Return the most that a question may take of any one unit."""
    plan = algorithm.plan(budget, ANY_VOCABULARY)
    return plan.max_cost if plan else Spending.nothing()


def run(
    algorithm: Algorithm,
    model: VotingModel,
    budget: Budget,
    account: str,
    texts: Sequence[str],
    seed: int = 0,
    poor: Sequence[str] = (),
) -> AlgorithmRun:
    """Answer one question with seeded noise.

    Args:
        algorithm: the algorithm under test.
        model: the language model.
        budget: the budget of the vault.
        account: "corpus" or "unit": who pays. An algorithm that charges single units skips "corpus".
        texts: the document of each unit that can pay.
        seed: of the noise.
        poor: the document of each unit that cannot pay.
    """
    if account == "corpus" and algorithm.spec.payment is Payment.EACH_UNIT:
        pytest.skip("The algorithm charges single units.")
    ledger, store, embedder = RecordingLedger(budget), PlainStore(), HashingEmbedder()
    corpus = WatchedCorpus(store, embedder)
    documents = [Document(f"d{number}", f"u{number}", text) for number, text in enumerate(texts)]
    unable = [Document(f"p{number}", f"poor{number}", text) for number, text in enumerate(poor)]
    Indexer(store, embedder).index([*documents, *unable])
    exhaust(ledger, [document.unit for document in unable])
    payer = open_account(account, ledger, algorithm.plan(budget, ANY_VOCABULARY), seed)
    try:
        generated = algorithm.run(Query(QUESTION), corpus, model, payer)
    except BudgetExhausted as refusal:
        raise AssertionError("The algorithm spends more than its plan.") from refusal
    except DiscreetError as refusal:
        raise AssertionError(f"The account refused the algorithm: {refusal}") from refusal
    payer.settle()
    return AlgorithmRun(generated, payer.receipt(), ledger.taken, payer.unpaid_calls + corpus.clear_reads)


def open_account(
    account: str, ledger: RecordingLedger, plan: Plan | None, seed: int
) -> WatchedCorpusAccount | WatchedUnitAccount:
    """Return the account of one question, with seeded noise."""
    ceiling, noise = plan.ceiling if plan else ledger.budget, InsecureSeededNoise(seed)
    if account == "corpus":
        return WatchedCorpusAccount(ledger, ceiling, ledger.question, noise=noise)
    return WatchedUnitAccount(ledger, ledger.question, ceiling=ceiling, noise=noise)


def exhaust(ledger: RecordingLedger, units: Sequence[str]) -> None:
    """Take almost all that some units may spend: what is left pays for no part of a question."""
    keys = [unit_key(unit, b"") for unit in units]
    for halving in range(12):
        most, number = Spending.of(Pure(ledger.budget.epsilon / 2**halving)), 0
        while keys and ledger.reserve(f"before {halving}", number, most, keys):
            number += 1

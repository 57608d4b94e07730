"""Streams of questions with per-unit payment: exact laws on neighbouring vaults, and who pays."""

import math
import re
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from discreet.algorithms.base import Query
from discreet.algorithms.murag import DPRAGPure
from discreet.algorithms.retrieval import PrivateRAG
from discreet.errors import DiscreetError, UsageError
from discreet.models.toy import ToyModel
from discreet.privacy.account import UnitAccount
from discreet.privacy.accounting import Budget, FilterState, Spending
from discreet.privacy.costs import Pure
from discreet.privacy.filter import MemoryLedger
from discreet.privacy.noise import InsecureSeededNoise
from discreet.privacy.partition import ADD_REMOVE_ONE, Member
from discreet.privacy.private import Private, unseal
from discreet.query.threshold_tuning import Tuning, suggestion
from discreet.registry import DPSparseVoteRAG, DPVoteRAG, MuRAG, MuRAGAda, NaiveMultiRAG, make_algorithm
from discreet.store.documents import Document
from discreet.store.embedded_store import EmbeddedStore
from discreet.store.embedding import HashingEmbedder
from discreet.store.sealed_corpus import SealedCorpus, unit_key
from discreet.store.vectors import Vector, VectorFile
from tests.exact import paths
from tests.indexing import indexer, read_once

WORDS = 6
SECRET = b"s" * 32
PURE = Budget(2.0, 0.0, accountant="pure")
INNER = DPVoteRAG(voters=1, private_tokens=1, max_tokens=1)
QUESTIONS = ("fever", "fever fever", "fever again")
Law = dict[object, float]


class ByRank(MemoryLedger):
    """The broken twin: of those that are relevant, only the first pays."""

    def reserve(self, question: str, part: int, most: Spending, units: Sequence[bytes]) -> frozenset[bytes]:
        price = self.budget.filter_state(most)
        able = [unit for unit in units if self.budget.admits_state(self._units.get(unit, FilterState()) + price)]
        super().reserve(question, part, most, able[:1])
        return frozenset(able)


def corpus_of(folder: Path, units: dict[str, str]) -> SealedCorpus:
    corpus = SealedCorpus(EmbeddedStore(folder, HashingEmbedder.dimension), HashingEmbedder(), SECRET)
    # Each is a little less similar than the one before, so that ranks do not hang on ties.
    indexer(corpus).index(Document(u, u, f"fever {'cough ' * int(u[1:])} say: {words} .") for u, words in units.items())
    return corpus


def law(corpus: SealedCorpus, algorithm: PrivateRAG, questions: int, ledger: Callable[[Budget], MemoryLedger]) -> Law:
    """The probability of every transcript of a stream."""
    model, found = ToyModel(["a", "b", "c"], default="d", size=WORDS), dict[object, float]()
    corpus = read_once(corpus)
    for noise in paths():
        paying, transcript = ledger(PURE), []
        for number, question in enumerate(QUESTIONS[:questions]):
            privacy = UnitAccount(paying, str(number), noise=noise)
            draft = algorithm.run(Query(question), corpus, model, privacy)
            privacy.settle()
            transcript.append((draft.text, draft.stopped, len(privacy.receipt().charges)))
        found[tuple(transcript)] = found.get(tuple(transcript), 0.0) + noise.probability
    assert sum(found.values()) == pytest.approx(1.0, abs=1e-6)
    return found


def losses(
    tmp_path: Path,
    algorithm: PrivateRAG,
    questions: int = 3,
    ledger: Callable[[Budget], MemoryLedger] = MemoryLedger,
) -> list[float]:
    """The largest loss for each unit that may be gone."""
    units = {"u1": "a", "u2": "b", "u3": "c"}
    whole = law(corpus_of(tmp_path / "all", units), algorithm, questions, ledger)
    found = []
    for gone in units:
        rest = {unit: words for unit, words in units.items() if unit != gone}
        other = law(corpus_of(tmp_path / gone, rest), algorithm, questions, ledger)
        assert whole.keys() == other.keys()
        found.append(max(abs(math.log(whole[t] / other[t])) for t in whole if whole[t] > 1e-12))
    return found


def test_stream_of_murag_stays_within_each_budget(tmp_path: Path) -> None:
    found = losses(tmp_path, MuRAG(inner=INNER, similarity=-1.0, uses=1))
    assert max(found) <= PURE.epsilon * (1 + 1e-9)
    assert max(found) >= 0.49 * PURE.epsilon  # one voter that turns reaches half of the range


def test_a_unit_that_may_take_part_twice_pays_half_each_time(tmp_path: Path) -> None:
    found = losses(tmp_path, MuRAG(inner=INNER, similarity=-1.0, uses=2))
    assert 0.49 * PURE.epsilon <= max(found) <= PURE.epsilon * (1 + 1e-9)


def test_when_everybody_pays_the_budget_holds_too(tmp_path: Path) -> None:
    found = losses(tmp_path, NaiveMultiRAG(inner=INNER, uses=2), questions=2)
    assert 0.49 * PURE.epsilon <= max(found) <= PURE.epsilon * (1 + 1e-9)


def test_stream_of_murag_ada_stays_within_each_budget(tmp_path: Path) -> None:
    algorithm = MuRAGAda(inner=INNER, epsilon_threshold=1.5, highest=0.9, lowest=-0.9, bins=2, enough=1, uses=1)
    assert 0.7 * PURE.epsilon <= max(losses(tmp_path, algorithm, questions=1)) <= PURE.epsilon * (1 + 1e-9)


def test_the_broken_twin_that_pays_by_rank_is_caught(tmp_path: Path) -> None:
    """With one unit gone, the next one pays in its place, and then is missing where it was not."""
    assert max(losses(tmp_path, MuRAG(inner=INNER, similarity=-1.0, uses=1), ledger=ByRank)) > 1.3 * PURE.epsilon


def stream(algorithm: PrivateRAG, corpus: SealedCorpus, ledger: MemoryLedger, questions: int = 1) -> list[str]:
    texts = []
    for number in range(questions):
        privacy = UnitAccount(ledger, str(number), noise=InsecureSeededNoise(number))
        texts.append(algorithm.run(Query("fever"), corpus, ToyModel(default="nothing known"), privacy).text.strip())
        privacy.settle()
    return texts


@pytest.fixture
def corpus(tmp_path: Path) -> SealedCorpus:
    made = SealedCorpus(EmbeddedStore(tmp_path, HashingEmbedder.dimension), HashingEmbedder(), SECRET)
    indexer(made).index(Document(f"u{n}", f"u{n}", "fever say: winter hand .") for n in range(60))
    indexer(made).index(Document(f"v{n}", f"v{n}", "accounts of the harbour say: no ship .") for n in range(40))
    return made


INNER_40 = DPSparseVoteRAG(voters=40, private_tokens=4)


@pytest.mark.parametrize(
    "algorithm",
    [
        MuRAG(inner=INNER_40, similarity=0.3, uses=1),
        MuRAGAda(inner=INNER_40, highest=0.9, lowest=0.3, bins=6, uses=1, epsilon_threshold=1.0),
        MuRAGAda(inner=INNER_40, highest=0.9, lowest=0.3, bins=6, uses=1, epsilon_threshold=0.205),  # 1/(1/x) > x
        NaiveMultiRAG(inner=INNER_40, uses=1),
    ],
)
def test_each_answers_from_relevant_units_once_and_not_twice(algorithm: PrivateRAG, corpus: SealedCorpus) -> None:
    if isinstance(algorithm, NaiveMultiRAG):
        ledger = MemoryLedger(Budget(60.0, 1e-5))
        assert stream(algorithm, corpus, ledger) == ["winter hand"]
        assert ledger.unit_balances() == []
        assert ledger.budget.left(ledger.spent()) < 45
        return
    ledger = MemoryLedger(Budget(60.0, 1e-5))
    texts = stream(algorithm, corpus, ledger, 3)
    assert texts[0] == "winter hand"
    assert texts[2] != "winter hand"  # all who know have paid
    assert sum(count for _, count in ledger.unit_balances()) == 60  # and nobody else has
    assert ledger.spent() == Spending.nothing()


def test_who_was_not_needed_pays_all_the_same(corpus: SealedCorpus) -> None:
    ledger = MemoryLedger(Budget(60.0, 1e-5))
    few = DPSparseVoteRAG(voters=5, private_tokens=4)
    stream(MuRAG(inner=few, similarity=0.3, uses=1), corpus, ledger)
    assert [count for _, count in ledger.unit_balances()] == [60]


def test_what_was_not_spent_is_returned(corpus: SealedCorpus) -> None:
    """Two private tokens and the last run of the sparse vector, of ten that were reserved."""
    ledger = MemoryLedger(Budget(100.0, 1e-5))
    algorithm = MuRAG(inner=DPSparseVoteRAG(voters=40, private_tokens=10), similarity=0.3, uses=1)
    most = ledger.budget.filter_state(algorithm.plan(ledger.budget, 1000).max_cost)
    stream(algorithm, corpus, ledger)
    ((paid, _),) = ledger.unit_balances()
    assert 0 < paid.pure < 0.35 * most.pure


def test_unreached_threshold_gives_the_public_answer(corpus: SealedCorpus) -> None:
    ledger = MemoryLedger(Budget(60.0, 1e-5))
    privacy = UnitAccount(ledger, "q", noise=InsecureSeededNoise(0))
    algorithm = MuRAG(inner=INNER_40, similarity=1.0, uses=1)
    draft = algorithm.run(Query("fever"), corpus, ToyModel(default="nothing known"), privacy)
    assert (draft.text, draft.public_text.strip()) == ("", "nothing known")
    assert draft.private_tokens == 0
    assert ledger.unit_balances() == []
    assert privacy.receipt().epsilon > 0  # what it would cost a unit is public; that there was none is not


def test_units_found_by_rank_are_not_admitted(corpus: SealedCorpus) -> None:
    privacy = UnitAccount(MemoryLedger(PURE), "q", noise=InsecureSeededNoise(0))
    with pytest.raises(DiscreetError, match="above a threshold"):
        privacy.admit(corpus.nearest("fever", 5), Spending.nothing())


def test_a_unit_is_in_one_bin(corpus: SealedCorpus) -> None:
    edges = [0.9, 0.6, 0.5, 0.4, 0.3, 0.0, -1.0]
    keys = [member.key for part in corpus.bins("fever", edges) for member in unseal(part, list)]
    assert len(keys) == len(set(keys)) == 100
    assert unit_key("u1", SECRET) in keys


def test_unit_is_in_one_bin_if_documents_are_added_meanwhile(corpus: SealedCorpus) -> None:
    """Counting places instead of units would give a unit that was pushed down by a new one to two bins."""
    found = []
    for number, part in enumerate(corpus.bins("fever", [0.5, 0.3, 0.0, -1.0])):
        found += unseal(part, list)
        indexer(corpus).index([Document(f"new{number}", f"new{number}", "fever")])
    keys = [member.key for member in found]
    assert len(keys) == len(set(keys)) >= 100


ALL_BINS = MuRAGAda(inner=DPSparseVoteRAG(voters=5, private_tokens=4), highest=0.9, lowest=-1, bins=6, enough=10**6)


@pytest.mark.parametrize(
    "algorithm", [ALL_BINS, MuRAG(inner=ALL_BINS.inner, similarity=-1.0), NaiveMultiRAG(inner=ALL_BINS.inner)]
)
@pytest.mark.parametrize("used_up", [0, 60])
def test_question_reads_vectors_once_and_only_dealt_texts(
    algorithm: PrivateRAG, used_up: int, corpus: SealedCorpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many relevant units have used up their budget: what the store does tells nothing about that."""
    ledger = MemoryLedger(Budget(60.0, 1e-5))
    ledger.reserve("before", 0, Spending.of(Pure(59.9)), [unit_key(f"u{n}", SECRET) for n in range(used_up)])
    searched, asked, scores = list[int](), list[str](), VectorFile.scores

    def counted(self: VectorFile, vectors: NDArray[np.int16], vector: Vector) -> Vector:
        searched.append(len(vectors))
        return scores(self, vectors, vector)

    monkeypatch.setattr(VectorFile, "scores", counted)
    assert isinstance(corpus._store, EmbeddedStore)
    corpus.above("fever", 0.0)  # the index is read
    searched.clear()
    corpus._store._database.driver.set_trace_callback(asked.append)
    privacy = UnitAccount(ledger, "q", noise=InsecureSeededNoise(0))
    algorithm.run(Query("fever"), corpus, ToyModel(default="nothing known"), privacy)
    assert searched == [100]
    read = [re.findall(r"[0-9]+", one.lower().partition(" in (")[2]) for one in asked if "from chunk" in one.lower()]
    assert sum(map(len, read)) == 5
    assert len(asked) <= 5 + 10  # two transactions, and the look whether anything changed


def test_unit_erased_after_the_search_leaves_an_empty_slot(corpus: SealedCorpus) -> None:
    found = corpus.above("fever", 0.3)
    corpus._store.remove_unit("u7")
    indexer(corpus).index([Document("new", "new", "fever say: another hand .")])  # may have the row of u7
    dealt = unseal(corpus.partition_to_voters(found, 60, 1), list)
    assert sorted(near.unit for share in dealt for near in share) == sorted(f"u{n}" for n in range(60) if n != 7)
    assert sum(not share for share in dealt) == 1
    assert {near.text for share in dealt for near in share} == {"fever say: winter hand ."}


def test_a_unit_that_is_handed_in_twice_is_admitted_once() -> None:
    ledger = MemoryLedger(PURE)
    privacy = UnitAccount(ledger, "q", noise=InsecureSeededNoise(0))
    members = Private([Member(b"a" * 16, 1), Member(b"b" * 16, 2), Member(b"a" * 16, 3)], ADD_REMOVE_ONE)
    admitted, _ = privacy.admit(members, Spending.of(Pure(0.5)))
    assert [member.value for member in unseal(admitted, list)] == [1, 2]
    assert [count for _, count in ledger.unit_balances()] == [2]


@pytest.mark.parametrize("inner", [DPSparseVoteRAG(voters=20), DPRAGPure(voters=20), DPVoteRAG(voters=20)])
@pytest.mark.parametrize("kind", [MuRAGAda, NaiveMultiRAG, MuRAG])
def test_a_receipt_is_never_above_the_price_that_was_asked_for(
    kind: type[PrivateRAG], inner: DPSparseVoteRAG, corpus: SealedCorpus
) -> None:
    """Whatever the order at which the vault's own filter looks: it is best for another sum."""
    algorithm, model = (
        kind(inner=inner, epsilon=4.0),
        ToyModel(default="who knows what this may be or not be after all"),
    )
    ceiling = algorithm.plan(Budget(60.0, 1e-5), model.vocabulary_size).ceiling
    for seed in range(5):
        ledger = MemoryLedger(Budget(60.0, 1e-5))
        privacy = UnitAccount(ledger, "q", ceiling=ceiling, noise=InsecureSeededNoise(seed))
        algorithm.run(Query("fever"), corpus, model, privacy)
        assert 0 < privacy.receipt().epsilon <= 4.0 * (1 + 1e-9)


def test_the_ledger_does_not_learn_names() -> None:
    assert len(unit_key("Ada Lind", SECRET)) == 16
    assert unit_key("Ada Lind", SECRET) != unit_key("Ada Lind", b"t" * 32)


def test_tuned_threshold_admits_about_the_wanted_units(corpus: SealedCorpus) -> None:
    ledger = MemoryLedger(Budget(30.0, 1e-5))
    privacy = UnitAccount(ledger, "q", noise=InsecureSeededNoise(1))
    tuning = Tuning(epsilon=20.0, wanted=55, bins=MuRAGAda(highest=0.95, lowest=0.05, bins=9))
    released = tuning.release(["fever", "fever"], corpus, privacy)
    privacy.settle()
    found = {"u": 0, "v": 0}
    for passage in corpus._store.units_above(corpus._embedder.embed(["fever"])[0], suggestion(released)):
        found[passage.unit[0]] += 1
    assert found == {"u": 60, "v": 0}
    assert privacy.receipt().epsilon == pytest.approx(20.0)


def test_the_budget_is_shared_out_among_uses() -> None:
    budget = Budget(10.0, 1e-5, 5e-6)
    for uses in (1, 2, 5):
        most = MuRAG(uses=uses).plan(budget, 1000).max_cost
        assert budget.admits(most.times(uses))
        assert not budget.admits(most.times(uses + 1))
        assert budget.spent(most.times(uses)) == pytest.approx(10.0, rel=1e-3)


def test_the_inner_algorithm_is_a_parameter() -> None:
    made = make_algorithm("murag", {"inner": "dp-rag-pure", "voters": 30, "similarity": 0.4, "uses": 2})
    assert isinstance(made, MuRAG)
    assert isinstance(made.inner, DPRAGPure)
    assert (made.inner.voters, made.similarity, made.uses) == (30, 0.4, 2)
    with pytest.raises(UsageError, match="cannot answer for"):
        make_algorithm("murag", {"inner": "rag"})
    with pytest.raises(UsageError, match="has no colour"):
        make_algorithm("murag-ada", {"colour": 1})


@pytest.mark.parametrize(
    "make",
    [
        lambda: MuRAG(similarity=math.nan),
        lambda: MuRAG(uses=0),
        lambda: MuRAGAda(lowest=0.9, highest=0.2),
        lambda: MuRAGAda(epsilon_threshold=0),
        lambda: MuRAGAda(epsilon=0.5).plan(Budget(10.0, 1e-5), 100),
        lambda: DPRAGPure(selection="observed"),
        lambda: MuRAG(inner=DPSparseVoteRAG(epsilon_token=50.0)).plan(Budget(10.0, 1e-5), 100),
    ],
)
def test_what_makes_no_sense_is_refused(make: Callable[[], object]) -> None:
    with pytest.raises(UsageError):
        make()


def test_dp_rag_pure_has_no_delta() -> None:
    plan = DPRAGPure(epsilon=8.0, private_tokens=4).plan(Budget(20.0, 1e-5), 1000)
    assert (plan.ceiling.delta, plan.rounds) == (0.0, 4)
    assert plan.max_cost.loss_nano[-1] == pytest.approx(8e9, rel=1e-6)

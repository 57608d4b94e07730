"""The voting algorithms, with a toy model whose votes are known."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from discreet.algorithms.base import Algorithm, GeneratedAnswer, Query
from discreet.algorithms.ensemble import calibrate_to_epsilon
from discreet.errors import UnknownName, UsageError
from discreet.models.toy import ToyModel
from discreet.privacy.accounting import Budget
from discreet.privacy.filter import MemoryLedger, NotPrivateFilter, PrivacyFilter
from discreet.privacy.noise import InsecureSeededNoise
from discreet.registry import DPSparseVoteRAG, DPVoteRAG, NonRAG, make_algorithm
from discreet.store.documents import Document
from discreet.store.embedded_store import EmbeddedStore
from discreet.store.embedding import HashingEmbedder
from discreet.store.sealed_corpus import SealedCorpus
from discreet_lab.baselines.without_noise import VoteRAG
from tests.accounts import account_over
from tests.indexing import indexer

DELTA = 1e-5


@pytest.fixture
def corpus(tmp_path: Path) -> SealedCorpus:
    return SealedCorpus(EmbeddedStore(tmp_path, HashingEmbedder.dimension), HashingEmbedder())


def say(corpus: SealedCorpus, *phrases: str, each: int = 30) -> None:
    indexer(corpus).index(
        Document(f"{phrase} {n}", f"{phrase} {n}", f"fever say: {phrase} .") for phrase in phrases for n in range(each)
    )


def answer(
    algorithm: Algorithm, corpus: SealedCorpus, model: ToyModel, seed: int = 0
) -> tuple[GeneratedAnswer, PrivacyFilter]:
    plan = algorithm.plan(Budget(1.0, DELTA), model.vocabulary_size)
    ceiling = plan.ceiling if plan else Budget(1.0, DELTA)
    kind = PrivacyFilter if algorithm.spec.private else NotPrivateFilter
    privacy = kind(MemoryLedger(ceiling), ceiling, "q", noise=InsecureSeededNoise(seed))
    return algorithm.run(Query("fever"), corpus, model, account_over(privacy)), privacy


def test_voters_that_agree_are_heard(corpus: SealedCorpus) -> None:
    say(corpus, "the winter hand")
    for algorithm in (VoteRAG(voters=30), DPVoteRAG(voters=30, epsilon=40), DPSparseVoteRAG(voters=30, epsilon=80)):
        draft, _ = answer(algorithm, corpus, ToyModel())
        assert (draft.text.split(), draft.stopped) == (["the", "winter", "hand"], "end"), algorithm.name


def test_a_single_voice_is_not_heard(corpus: SealedCorpus) -> None:
    say(corpus, "nothing known", each=29)
    say(corpus, "Ada Lind", each=1)
    for seed in range(10):
        for algorithm in (DPVoteRAG(voters=30, epsilon=20), DPSparseVoteRAG(voters=30, epsilon=20)):
            assert "Ada" not in answer(algorithm, corpus, ToyModel(), seed)[0].text


def test_voters_that_do_not_agree_end_the_answer(corpus: SealedCorpus) -> None:
    say(corpus, *(f"word{n}" for n in range(30)), each=1)
    for selection in ("observed", "limited-domain"):
        algorithm = DPVoteRAG(voters=30, epsilon=4, private_tokens=2, selection=selection)
        assert answer(algorithm, corpus, ToyModel())[0].stopped == "undecided"


@pytest.mark.parametrize("selection", ["vocabulary", "observed", "limited-domain"])
@pytest.mark.parametrize("kind", [DPVoteRAG, DPSparseVoteRAG])
@pytest.mark.parametrize("epsilon", [0.5, 2.0, 10.0, 20.0])
def test_an_answer_never_costs_more_than_it_may(
    corpus: SealedCorpus, kind: type[DPVoteRAG | DPSparseVoteRAG], epsilon: float, selection: str
) -> None:
    say(corpus, "a b c d e f g h i j k l")
    algorithm = kind(voters=30, epsilon=epsilon, selection=selection, private_tokens=5)
    plan = algorithm.plan(Budget(1.0, DELTA), 1000)
    assert plan.rounds == 5
    assert plan.ceiling.admits(plan.max_cost)
    for seed in range(3):
        draft, privacy = answer(algorithm, corpus, ToyModel(), seed)
        receipt = privacy.receipt()
        assert 0 < receipt.epsilon <= epsilon
        assert receipt.delta <= DELTA
        assert draft.private_tokens <= 5
        assert draft.stopped in ("budget", "undecided", "end", "length")


def test_the_budget_of_a_token_is_as_large_as_fits() -> None:
    algorithm = DPSparseVoteRAG(epsilon=10, private_tokens=5)
    tokens = calibrate_to_epsilon(algorithm, DELTA, 1000)
    more = DPSparseVoteRAG(epsilon=10, epsilon_token=tokens.epsilon * 1.02)
    assert more.plan(Budget(1.0, DELTA), 1000).rounds == 4
    assert tokens.epsilon > 10 / 5  # a Renyi filter buys more than a plain sum


def test_epsilon_token_sets_the_number_of_tokens() -> None:
    assert DPVoteRAG(epsilon=10, epsilon_token=1.0, selection="vocabulary").plan(Budget(1.0, DELTA), 1000).rounds == 16
    with pytest.raises(UsageError, match="does not fit"):
        DPVoteRAG(epsilon=1, epsilon_token=2.0).plan(Budget(1.0, DELTA), 1000)


def test_the_length_and_the_prefix_are_public(corpus: SealedCorpus) -> None:
    say(corpus, "a b c d e f")
    draft, _ = answer(VoteRAG(voters=30, max_tokens=3, prefix="well"), corpus, ToyModel())
    assert (draft.text, draft.stopped, draft.tokens) == ("well a b c", "length", 3)
    assert answer(NonRAG(prefix="well"), corpus, ToyModel(default="who knows"))[0].text == "well who knows"


def test_an_empty_vault_looks_like_voters_that_know_nothing(corpus: SealedCorpus) -> None:
    draft, privacy = answer(DPSparseVoteRAG(voters=30, epsilon=20), corpus, ToyModel(default="who knows"))
    assert (draft.text, draft.public_text.split()) == ("", ["who", "knows"])
    assert (draft.stopped, draft.private_tokens) == ("public", 0)
    assert len(privacy.receipt().charges) == 1  # the run of the sparse vector is paid, whatever it finds


def test_baselines_have_a_receipt_that_promises_nothing(corpus: SealedCorpus) -> None:
    say(corpus, "a")
    _, privacy = answer(VoteRAG(voters=5), corpus, ToyModel())
    assert not privacy.receipt().private
    assert privacy.receipt().describe()["epsilon"] is None


@pytest.mark.parametrize(
    "wrong",
    [{"epsilon": 0.0}, {"epsilon": float("nan")}, {"voters": 0}, {"voters": 10_000}, {"delta": 0.0}, {"max_tokens": 0}],
)
def test_parameters_out_of_range_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(UsageError):
        make_algorithm("dp-vote-rag", wrong)


@pytest.mark.parametrize(
    ("name", "both"),
    [("dp-vote-rag", {"private_tokens": 3, "epsilon_token": 0.5}), ("murag", {"epsilon": 2.0, "uses": 3})],
)
def test_of_two_that_follow_from_each_other_one_is_given(name: str, both: dict[str, float]) -> None:
    with pytest.raises(UsageError, match="not both"):
        make_algorithm(name, both)
    for one in both:
        make_algorithm(name, {one: both[one]})


def test_unknown_names_and_options_are_explained() -> None:
    with pytest.raises(UnknownName, match="dp-vote-rag"):
        make_algorithm("dpvoterag", {})
    with pytest.raises(UsageError, match="has no threshold"):
        make_algorithm("dp-vote-rag", {"threshold": 3})
    assert make_algorithm("dp-vote-rag", {"threshold": 3}, strict=False) == DPVoteRAG()
    with pytest.raises(UnknownName):
        DPVoteRAG(selection="best")


def test_document_that_breaks_the_tokenizer_is_left_out(corpus: SealedCorpus) -> None:
    class Fragile(ToyModel):
        def encode(self, text: str) -> list[int]:
            if "poison" in text:
                raise RuntimeError(text)
            return super().encode(text)

        def decode(self, tokens: Sequence[int]) -> str:
            return super().decode(tokens)

    say(corpus, "winter hand", each=29)
    indexer(corpus).index([Document("p", "p", "fever poison")])
    assert answer(VoteRAG(voters=30), corpus, Fragile())[0].text.split() == ["winter", "hand"]

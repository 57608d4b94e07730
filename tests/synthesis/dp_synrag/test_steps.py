"""The steps of DP-SynRAG one by one: what each makes of a unit follows from that unit and public values."""

import math
import warnings
from typing import cast

import numpy as np
import pytest

from discreet.algorithms.logit_sum import BLOCK, Shape, Writers, log_softmax, voices, weigh
from discreet.errors import BadData, BudgetExhausted, UsageError
from discreet.generation.loading import load_model
from discreet.generation.prompts import rewrite_layout
from discreet.generation.torch_backend.length_buckets import in_order
from discreet.generation.toy import ToyModel
from discreet.privacy.accounting import Budget, Spending
from discreet.privacy.costs import Times, ZeroConcentrated
from discreet.privacy.filter import MemoryLedger, PrivacyFilter
from discreet.privacy.mechanisms.counting import NoisySum
from discreet.privacy.mechanisms.selection import ThresholdChoice
from discreet.privacy.mechanisms.vectors import ONE, TokenPrice, Weights
from discreet.privacy.noise import InsecureSeededNoise
from discreet.privacy.partition import ADD_REMOVE_ONE
from discreet.privacy.private import Private, unseal
from discreet.retrieval.embedding import open_embedder
from discreet.synthesis.base import TextPiece, UnitTexts
from discreet.synthesis.dp_facts import DPFacts
from discreet.synthesis.dp_synrag import (
    LEVELS,
    DPSynRAG,
    SynRAGPlan,
    check_task,
    merged,
    near_the_centre,
    numbered,
    ordered,
    places,
    ranked_keywords,
    rarest_first,
    useful,
    write_texts,
)

pytestmark = pytest.mark.usefixtures("two_threads")
GRANT = Budget(20.0, 1e-5, 5e-6)
NOTES = [
    f"Patient {name} has white hands and numb thumbs. The diagnosis is Winterhand, to be treated with warm sand."
    for name in ("Ada Lind", "Bela Voss", "Cora Fink", "Dario Pohl", "Edda Moor")
]


def piece(text: str, *words: str, vector: tuple[int, ...] = (1, 0)) -> TextPiece:
    ranked = tuple((word, float(10 - place)) for place, word in enumerate(words))
    return TextPiece(text, np.array(vector, dtype=np.int64), ranked)


def paid(most: float = 50.0) -> PrivacyFilter:
    ledger = MemoryLedger(Budget(most, 1e-5), simulation=True)
    return PrivacyFilter(ledger, ledger.budget, "q", noise=InsecureSeededNoise(1))


# -- the plan ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("epsilon", [1.0, 10.0])
def test_a_plan_fills_its_price_and_no_more(epsilon: float) -> None:
    plan = DPSynRAG(epsilon=epsilon).plan(GRANT, Spending.nothing(), 384, 4096)
    assert plan.ceiling is not None
    spent = plan.ceiling.spent(Spending.of(plan.cost))
    assert 0.98 * epsilon <= spent <= epsilon
    assert GRANT.admits(Spending.of(plan.cost))
    assert sum(times for _, times in plan.each.drawn) == 3 + 48


def test_the_sum_of_the_specification() -> None:
    """K/(2 sigma_h^2) + L (eps_theta^2/8 + 1/(2 sigma_mu^2) + T c^2/2), and a size: by curves it is no more."""
    p = DPSynRAG(epsilon=10.0, overlap=5, tokens=70)
    plan = p.plan(GRANT, Spending.nothing(), 384, 4096)
    (size, _), (centre, _), (threshold, _), (token, times) = plan.each.drawn
    assert isinstance(size, NoisySum)
    assert isinstance(centre, NoisySum)
    assert isinstance(threshold, ThresholdChoice)
    assert isinstance(token, TokenPrice)
    by_hand = 10 / (2 * plan.counts.sigma**2) + 5 * (
        1 / (2 * size.sigma**2) + (2 / threshold.scale) ** 2 / 8 + 1 / (2 * centre.sigma**2) + times * token.clip**2 / 2
    )
    assert by_hand == pytest.approx(plan.rho)
    line = Spending.of(ZeroConcentrated(by_hand)).curve[:-1]
    assert (Spending.of(plan.cost).curve[:-1] <= line + 1e-6).all()
    # The specification affords 1.782696 at this epsilon and delta; a tenth of delta goes to keywords of one unit.
    assert plan.rho == pytest.approx(1.782696, rel=0.02)


def test_too_few_to_be_heard_do_not_write() -> None:
    plan = DPSynRAG().plan(GRANT, Spending.nothing(), 384, 4096)
    needed = voices(49152, plan.clip)
    assert plan.worth_writing(needed, 49152)
    assert not plan.worth_writing(0, 49152)  # and noise makes up for twice its scale
    assert 0 < 2 * plan.size.sigma < needed


def written(plan: SynRAGPlan, size: NoisySum, units: int) -> float:
    """How often a cluster of so many units writes."""
    noise, one = InsecureSeededNoise(3), np.ones(1, dtype=np.int64)
    counts = [int(size.draw([one] * units, noise)[0]) for _ in range(3000)]
    return float(np.mean([plan.worth_writing(count, 49152) for count in counts]))


def test_whether_a_cluster_writes_hardly_depends_on_one_unit() -> None:
    plan = DPSynRAG().plan(GRANT, Spending.nothing(), 384, 4096)
    edge = math.ceil(voices(49152, plan.clip) - 2 * plan.size.sigma)
    # Two Gaussians one apart differ by 2 Phi(1/(2 sigma)) - 1 at most; four standard errors of the estimate besides.
    apart = math.erf(1 / (2 * math.sqrt(2) * plan.size.sigma)) + 4 * math.sqrt(0.5 / 3000)
    assert abs(written(plan, plan.size, edge) - written(plan, plan.size, edge - 1)) <= apart
    # The broken twin: decided by the number itself.
    exact = NoisySum(1, 1, 1e-9)
    assert abs(written(plan, exact, edge) - written(plan, exact, edge - 1)) > apart


def test_a_price_that_is_not_left_is_refused() -> None:
    with pytest.raises(BudgetExhausted, match="not left"):
        DPSynRAG(epsilon=10.0).plan(GRANT, Spending.of(Times(ZeroConcentrated(1.0), 5)), 384, 4096)
    for wrong in ({"tokens": 0}, {"overlap": 0}, {"epsilon": -1.0}, {"shape": "round"}):
        with pytest.raises(UsageError):
            DPSynRAG(**wrong)


# -- keywords and clusters -----------------------------------------------------------------------------------------


def test_keywords_are_the_surprising_words_of_each_text_alone() -> None:
    model = load_model()
    alone = next(ranked_keywords(model, NOTES[:1], 8, 48))[1]
    beside = in_order(ranked_keywords(model, [*NOTES[1:], "", "word " * 99, NOTES[0]], 8, 48))[-1]
    assert alone == beside
    words = [word for word, _ in alone]
    assert "winterhand" in words
    assert words.index("winterhand") < words.index("patient")
    assert [nats for _, nats in alone] == sorted((nats for _, nats in alone), reverse=True)


def test_surprising_keywords_have_one_order_for_all_units() -> None:
    counts, model = {"doctor": 700, "flumplenookitis": 40, "fever": 90, "zebra": 3}, load_model()
    order = ordered(counts, 3, "surprising", model)
    assert order[0] == "flumplenookitis"
    assert set(order) == {"doctor", "flumplenookitis", "fever"}
    # Counts decide on which keywords there are, and on nothing else.
    assert ordered(dict.fromkeys(order, 50), 3, "surprising", model) == order
    assert ordered(counts, 3, "rare", model) == rarest_first(counts, 3)


def test_keywords_that_mean_the_same_share_a_cluster() -> None:
    words = ["itching", "winterhand", "itchy", "physician", "doctor"]
    found = merged(words, open_embedder("minilm+words"), 0.7)
    assert ["itching", "itchy"] in found
    assert ["winterhand"] in found
    assert sorted(word for own in found for word in own) == sorted(words)
    unit = UnitTexts((piece("", "itchy", "itching", "doctor"),), 9)
    shared = numbered(found)
    assert places(unit, shared) == sorted({shared["itchy"], shared["doctor"]})


def test_members_far_from_the_centre_are_left_out() -> None:
    near, far = [piece("near", vector=(100, 0))] * 60, [piece("far", vector=(0, 100))] * 6
    centre, threshold = NoisySum(2, 100, 0.1), ThresholdChoice(len(LEVELS), 60, 0.1)
    left = near_the_centre(Private([*near, *far], ADD_REMOVE_ONE), paid(1e9), centre, threshold, lambda _, draw: draw())
    assert {one.text for one in unseal(left, list)} == {"near"}


# -- writing -------------------------------------------------------------------------------------------------------


def weights_of(texts: list[str]) -> list[Weights]:
    model = load_model()
    writers = Writers(model, rewrite_layout(model, 24, 8), Private(texts, ADD_REMOVE_ONE), 8)
    found = []
    for token in model.encode(" patient with")[:2]:
        found += unseal(writers.opinions("votes", 0.1)[1], list)
        writers.append(token)
    return found


def test_a_document_says_the_same_whoever_else_is_in_its_cluster() -> None:
    """Bit for bit, though the number of documents is another one, and of blocks: what the sensitivity rests on."""
    others = ["No.", "A long story. " * 20, *NOTES[1:]]
    many = [*others, *NOTES[:1], *["filler text"] * BLOCK]
    alone, among, more = weights_of(NOTES[:1]), weights_of([*NOTES[:1], *others]), weights_of(many)
    assert alone[0].tobytes() == among[0].tobytes() == more[len(others)].tobytes()
    assert alone[1].tobytes() == among[len(others) + 1].tobytes() == more[len(many) + len(others)].tobytes()


@pytest.mark.parametrize("shape", ["votes", "centred", "difference", "clip"])
def test_opinions_stay_in_bounds(shape: str) -> None:
    drawn = np.random.default_rng(0)
    logits = (drawn.normal(size=200) * 12).astype(np.float32)
    public = log_softmax((drawn.normal(size=(1, 200)) * 12).astype(np.float32))[0]
    found = weigh(logits, public, shape, 0.125)  # type: ignore[arg-type]
    assert found.dtype == np.int32
    assert np.abs(found).max() <= 0.125 * ONE
    assert found.argmax() == (logits - public if shape == "difference" else logits).argmax() or shape in (
        "difference",
        "clip",
    )


class Scripted:
    """A filter that lets the next token of a list through."""

    def __init__(self, *tokens: int) -> None:
        self.tokens = list(tokens)

    def release(self, *_: object) -> int:
        return self.tokens.pop(0)


@pytest.mark.parametrize(
    ("drawn", "found"),
    [("abcd", ["a b c d"]), (".abc", ["a b c"]), ("ab.c", ["a b"]), ("ab.a.", ["a b", "a"]), ("...", [])],
)
def test_incomplete_text_is_dropped_only_after_a_complete_one(drawn: str, found: list[str]) -> None:
    model = ToyModel(["a", "b", "c", "d"])
    tokens = [min(model.end_tokens) if sign == "." else model.encode(sign)[0] for sign in drawn]
    count = len(tokens)
    writers = Writers(model, rewrite_layout(model, 16, count), Private(list[str](), ADD_REMOVE_ONE), count)
    through = cast(PrivacyFilter, Scripted(*tokens))
    assert write_texts(writers, model, through, tokens=count, shape="votes", clip=0.3) == found


@pytest.mark.parametrize("shape", ["votes", "centred", "difference", "clip"])
@pytest.mark.parametrize("wrong", [np.nan, np.inf, -np.inf])
def test_what_is_no_number_stays_in_bounds_and_warns_nobody(shape: Shape, wrong: float) -> None:
    logits = np.array([1.0, wrong, -2.0], dtype=np.float32)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = weigh(logits, log_softmax(np.zeros((1, 3), dtype=np.float32))[0], shape, 0.125)
    assert np.abs(found).max() <= 0.125 * ONE


def test_differences_are_shared_out_when_texts_are_written() -> None:
    model = ToyModel(["ague", "sand"])
    writers = Writers(model, rewrite_layout(model, 16, 3), Private(["say: ague sand ."] * 60, ADD_REMOVE_ONE), 3)
    found = write_texts(writers, model, paid(1e9), tokens=3, shape="difference", clip=0.31, among=30)
    assert found == ["ague sand"]
    # By far too large a number, nobody is heard.
    writers = Writers(model, rewrite_layout(model, 16, 3), Private(["say: ague sand ."] * 60, ADD_REMOVE_ONE), 3)
    assert write_texts(writers, model, paid(1e9), tokens=3, shape="difference", clip=0.31, among=3000) != ["ague sand"]


# -- selection -----------------------------------------------------------------------------------------------------


def test_the_model_drops_what_is_of_no_use_for_a_task() -> None:
    model = load_model()
    ill = [
        "The diagnosis is Zonkitis. The treatment for Zonkitis is Blerpox treatment. The symptoms are severe itching.",
        "The diagnosis is Snurflesickness and the treatment should be Blergon Fixit.",
    ]
    others = ["The weather is nice today, and it will rain tomorrow.", "The film won eleven prizes; viewers love it."]
    for task in ("answering questions about treatments", "symptoms, diagnosis and treatment that go together"):
        assert useful(model, task, [*ill, *others]) == [True, True, False, False]
    assert useful(model, "answering questions about films", [*ill, *others]) == [False, False, False, True]
    assert useful(model, "answering questions about treatments", [*ill, *ill] * 5) == [True] * 20  # several blocks
    assert useful(model, "answering questions", []) == []


def test_a_text_is_of_use_if_the_task_is_likelier_after_it() -> None:
    toy = ToyModel(["sand", "helps"], default="who knows")
    texts = ["say: sand helps .", "say: helps sand .", "say: nothing ."]
    assert useful(toy, "sand helps", texts) == [True, False, False]
    assert useful(ToyModel(), "answer questions", ["so " * 9000]) == [False]  # it does not fit, and is read in part


def test_a_task_that_says_nothing_or_too_much_is_refused() -> None:
    model = ToyModel()
    check_task(model, "")
    check_task(model, "answer questions about diseases")
    for task, why in (("  ", "blank"), ("answer " * model.context_length, "so long")):
        with pytest.raises(UsageError, match=why):
            check_task(model, task)


def test_a_unit_is_in_no_more_clusters_than_it_has_keywords() -> None:
    for method in (DPSynRAG, DPFacts):
        with pytest.raises(UsageError, match="smaller overlap"):
            method(keywords=2, overlap=3)


def test_units_that_could_not_be_heard_are_told_so() -> None:
    plan = DPSynRAG(epsilon=10.0, tokens=400).plan(GRANT, Spending.nothing(), 384, 4096)
    needed = voices(49152, plan.clip)
    assert needed > plan.counts.threshold
    plan.check_size(needed, 49152)
    with pytest.raises(BadData, match=f"about {needed} in a cluster"):
        plan.check_size(needed - 1, 49152)

"""The steps of DP-SynRAG one by one: what each makes of a unit follows from that unit and public values."""

import math

import numpy as np
import pytest

from discreet.algorithms.logit_sum import BLOCK, Writers, log_softmax, voices, weigh
from discreet.errors import BudgetExhausted, UsageError
from discreet.models.length_buckets import in_order
from discreet.models.loading import load_model
from discreet.models.prompts import rewrite_layout
from discreet.privacy.accounting import Budget, Spending
from discreet.privacy.costs import Times, ZeroConcentrated
from discreet.privacy.mechanisms.counting import NoisySum
from discreet.privacy.mechanisms.vectors import ONE, Weights
from discreet.privacy.noise import InsecureSeededNoise
from discreet.privacy.partition import ADD_REMOVE_ONE
from discreet.privacy.private import Private, unseal
from discreet.synthesis.dp_facts import DPFacts
from discreet.synthesis.dp_synrag import (
    DPSynRAG,
    SynRAGPlan,
    ranked_keywords,
    useful,
)

pytestmark = pytest.mark.usefixtures("two_threads")
GRANT = Budget(20.0, 1e-5, 5e-6)
NOTES = [
    f"Patient {name} has white hands and numb thumbs. The diagnosis is Winterhand, to be treated with warm sand."
    for name in ("Ada Lind", "Bela Voss", "Cora Fink", "Dario Pohl", "Edda Moor")
]


# -- the plan ------------------------------------------------------------------------------------------------------


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


def test_a_unit_is_in_no_more_clusters_than_it_has_keywords() -> None:
    for method in (DPSynRAG, DPFacts):
        with pytest.raises(UsageError, match="smaller overlap"):
            method(keywords=2, overlap=3)

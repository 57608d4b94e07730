"""What comes out of answers: membership by S2MIA, and strings by extraction, protected in several ways."""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np
from numpy.typing import NDArray

from discreet.algorithms.text.writing import write_all
from discreet.errors import BadData
from discreet.export import draw_matrix
from discreet.models.capabilities import require_capabilities
from discreet.models.protocol import Prompt
from discreet.models.transformers_model import TransformersModel
from discreet.privacy.noise import InsecureSeededNoise
from discreet.registry import RAG
from discreet.store.documents import Passage, StoredText
from discreet.store.embedding import Embedder, embed_questions
from discreet_lab.attacks.attack import Attack
from discreet_lab.attacks.extraction import (
    KINDS,
    PROMPTS,
    AttackPrompt,
    ExtractedStrings,
    extracted,
    marked,
    perplexity,
    read_prompts,
    sensitive_strings,
)
from discreet_lab.attacks.membership import MEASURES
from discreet_lab.attacks.simulation import documents_of
from discreet_lab.attacks.suite import run_attack
from discreet_lab.attacks.targets import SimulatedExport
from discreet_lab.baselines.datastore import Datastore, Neighbours, build
from discreet_lab.baselines.knn_lm import KnnLM
from discreet_lab.baselines.projection_rag import ProjectedTexts
from discreet_lab.bench.run import BenchRun
from discreet_lab.bench.table import Row
from discreet_lab.projection import NoisyProjection, Projection, Transform, Untouched

# --- membership -------------------------------------------------------------------------------------------------------


AT = (0.05, 0.1, 0.25, 0.5)
"""The rates of false positives at which a curve is shown."""


def run_membership(given: BenchRun) -> list[Row]:
    """Return a row for each target and measure: the area under the curve with its interval, and the curve."""
    attack = Attack(
        targets=(*given.values["target"], *given.plugins),
        epsilons=given.values["epsilon"],
        members=given.limit,
        questions=1,
        planted=1,
        prompts=(),
        options=dict(given.parameters),
        seed=given.seed,
    )
    findings = run_attack(given.vault, attack, given.on_progress)
    rows: list[Row] = []
    for result in findings.results:
        for measure in MEASURES:
            measured_rates = result.one[measure]
            key = {"target": result.target.name, "epsilon": result.target.epsilon, "measure": measure}
            area = {"area": measured_rates.auc.value, "low": measured_rates.auc.low, "high": measured_rates.auc.high}
            curve = {f"hits at {rate:g}": read_curve(measured_rates.points, rate) for rate in AT}
            rows.append({**key, **area, **curve, "curve": [list(point) for point in measured_rates.points]})
    given.notes += [
        f"{result.target.label} answered {result.private} of {result.questions} questions from documents, fewer than "
        "half: a low area there says little."
        for result in findings.results
        if result.seldom
    ]
    given.notes.append(
        f"{findings.members} people, each in one copy of the vault and out of the other; one question about each."
    )
    return rows


def read_curve(points: Sequence[tuple[float, float]], rate: float) -> float:
    """Return the true positives at a rate of false positives, on the line between two points of the curve."""
    low = max((point for point in points if point[0] <= rate), default=(0.0, 0.0))
    high = min((point for point in points if point[0] > rate), default=low)
    if high[0] == low[0]:
        return low[1]
    return low[1] + (high[1] - low[1]) * (rate - low[0]) / (high[0] - low[0])


# --- extraction -------------------------------------------------------------------------------------------------------


K = 64
"""The dimension of projected vectors, the paper's k."""
AT_ONCE = 32
Retrieve = Callable[[str], list[Passage]]
Surprises = NDArray[np.float32]


@dataclass(frozen=True)
class Extraction:
    """What is tried.

    Attributes:
        attacks: the prompts.
        texts: the texts of the collection.
        held_out: texts that are not in it, on which perplexity is measured.
        tokens: the length of a continuation.
        epsilon: the epsilon of the noisy protections.
        weights: those of neighbours (the paper's lambda).
        rounds: how often the time of an answer is taken; 0 for never.
        seed: of the protections' noise.
    """

    attacks: Sequence[AttackPrompt]
    texts: Sequence[str] = field(repr=False)
    held_out: Sequence[str] = field(repr=False)
    tokens: int = 32
    epsilon: float = 5.051
    weights: Sequence[float] = (0.1,)
    rounds: int = 3
    seed: int = 1


@dataclass(frozen=True)
class ExtractionRow:
    """The result of one configuration.

    Attributes:
        name: the configuration.
        found: the strings that came out.
        perplexity: of the texts that are held out.
        without_sensitive: the same without the tokens of addresses, links and numbers.
        seconds: the shortest time of one answer; None if it was not taken.
        weight: that of the neighbours of kNN-LM; None without neighbours.
    """

    name: str
    found: ExtractedStrings
    perplexity: float
    without_sensitive: float
    seconds: float | None
    weight: float | None = None

    def cells(self) -> Row:
        """Return the cells of the row."""
        counts = {kind: self.found.targeted[kind] for kind in KINDS}
        counts |= {"untargeted": self.found.untargeted, "all": self.found.all, "invented": self.found.invented}
        measured = {
            "perplexity": self.perplexity,
            "without sensitive strings": self.without_sensitive,
            "seconds": self.seconds,
        }
        return {"configuration": self.name, "weight": self.weight, **counts, **measured}


def run_knn_lm(given: BenchRun) -> list[Row]:
    """Return the rows of kNN-LM."""
    tried, _, model = _tried(given)
    return _counted(given, measure_knn_lm(tried, model), 1 + 4 * len(tried.weights))


def run_prompting(given: BenchRun) -> list[Row]:
    """Return the rows of direct prompting."""
    tried, stored, model = _tried(given)
    return _counted(given, measure_prompting(tried, model, given.vault.embedder, stored), 5)


def _tried(given: BenchRun) -> tuple[Extraction, list[StoredText], TransformersModel]:
    model = given.vault.model
    require_capabilities(model, KnnLM.spec.capabilities, KnnLM.name)
    assert isinstance(model, TransformersModel)
    documents = documents_of(given.vault)
    count = min(given.one("held_out"), len(documents) // 4)
    if not count:
        raise BadData(f"The vault has {len(documents)} documents. Expected: 4 at least, since some are held out.")
    inside, outside = documents[:-count][: given.limit], documents[-count:]
    texts, held_out = (["\n".join(one.texts) for one in part] for part in (inside, outside))
    given.notes.append(
        f"{len(texts)} texts with {sum(map(len, sensitive_strings(texts).values()))} strings; {count} held out."
    )
    every = given.values["every"][0]
    tried = Extraction(
        attacks=(read_prompts(given.prompts) if given.prompts else PROMPTS)[::every],
        texts=texts,
        held_out=held_out,
        tokens=given.parameters["max_tokens"],
        epsilon=given.only_epsilon,
        weights=given.values.get("weight", ()),
        rounds=0 if given.quick else 3,
        seed=1 + given.seed,
    )
    return tried, [chunk for one in inside for chunk in one.chunks], model


def _counted(given: BenchRun, rows: Iterator[ExtractionRow], number: int) -> list[Row]:
    advance, strings = given.count("trying configurations", number), []
    for row in rows:
        strings.append(row.cells())
        advance()
    return strings


def protections(dimension: int, epsilon: float, seed: int = 1) -> Iterator[tuple[str, Transform]]:
    """Yield each protection: none, the paper's projection, its baseline, and the sound variant."""
    noise = InsecureSeededNoise(seed)
    matrix = draw_matrix(dimension, K, noise)
    yield "none", Untouched(dimension)
    yield "projection", Projection(matrix)
    yield "dp-rp-g", NoisyProjection(Projection(matrix), noise, epsilon=epsilon)
    yield "export", SimulatedExport(matrix, noise, epsilon)


def measure_knn_lm(tried: Extraction, model: TransformersModel) -> Iterator[ExtractionRow]:
    """Yield the rows of kNN-LM: the model alone, and mixed with neighbours under each protection."""
    raw = build(tried.texts, model, Untouched(model.state_size))
    own_strings = sensitive_strings(tried.texts)
    empty = Datastore(raw.transform, Neighbours.of(raw.keys.keys[:0]), raw.tokens[:0])
    stores: list[tuple[str, float | None, Datastore]] = [("knn-lm, no neighbours", None, empty)]
    for name, transform in protections(model.state_size, tried.epsilon, tried.seed):
        kept = Datastore(transform, Neighbours.of(transform.documents(raw.keys.keys)), raw.tokens)
        stores += [(f"knn-lm, {name}", weight, kept) for weight in tried.weights]
    for name, weight, store in stores:
        algorithm = KnnLM(max_tokens=tried.tokens, weight=weight or 0.0)
        found = extracted(_knn_answers(algorithm, store, model, tried.attacks), own_strings)
        everything, without = map(perplexity, _knn_surprises(algorithm, store, model, tried.held_out))
        first = [model.encode(tried.attacks[0].text)]
        seconds = _least_seconds(partial(algorithm.continue_all, store, model, first), tried.rounds)
        yield ExtractionRow(name, found, everything, without, seconds, weight)


def _knn_answers(
    algorithm: KnnLM, store: Datastore, model: TransformersModel, attacks: Sequence[AttackPrompt]
) -> list[tuple[AttackPrompt, str]]:
    """Return every prompt continued as a text."""
    answers = []
    for start in range(0, len(attacks), AT_ONCE):
        part = attacks[start : start + AT_ONCE]
        said = algorithm.continue_all(store, model, [model.encode(prompt.text) for prompt in part])
        answers += [(p, p.text + model.decode(tokens)) for p, (tokens, _) in zip(part, said, strict=True)]
    return answers


def _knn_surprises(
    algorithm: KnnLM, store: Datastore, model: TransformersModel, texts: Sequence[str]
) -> tuple[list[Surprises], list[Surprises]]:
    """Return those of all tokens but the first of each text, and of those that are not sensitive."""
    everything, without = [], []
    for text in texts:
        tokens, marks = marked(model, text)
        states = model.hidden_states([Prompt(tuple(tokens), 0)])[0, :-1]
        mixed = algorithm.mixed(store, states, model.predict(states))
        surprises = -np.log(np.maximum(mixed[np.arange(len(mixed)), tokens[1:]], 1e-30))
        everything.append(surprises)
        without.append(surprises[~marks[1:]])
    return everything, without


def measure_prompting(
    tried: Extraction,
    model: TransformersModel,
    embedder: Embedder,
    stored: Sequence[StoredText],
) -> Iterator[ExtractionRow]:
    """Yield the rows of direct prompting: without documents, and with such as were found under each protection."""
    own_strings = sensitive_strings(tried.texts)

    def row(name: str, retrieve: Retrieve) -> ExtractionRow:
        answers = _prompted(tried, model, tried.attacks, retrieve)
        seconds = _least_seconds(lambda: _prompted(tried, model, tried.attacks[:1], retrieve), tried.rounds)
        everything, without = _prompting_surprises(model, retrieve, tried.held_out)
        return ExtractionRow(
            name, extracted(answers, own_strings), perplexity(everything), perplexity(without), seconds
        )

    yield row("prompting, no documents", lambda _: [])
    for name, transform in protections(embedder.dimension, tried.epsilon, tried.seed):
        projected = ProjectedTexts.of(stored, transform)
        yield row(f"prompting, {name}", lambda text, p=projected: p.nearest(embed_questions(embedder, [text])[0], 1))  # type: ignore[misc]


def _prompted(
    tried: Extraction, model: TransformersModel, attacks: Sequence[AttackPrompt], retrieve: Retrieve
) -> list[tuple[AttackPrompt, str]]:
    """Return what the model answers to each prompt; a sentence that was begun is continued."""
    begun = ["" if prompt.text.endswith((".", "?")) else prompt.text for prompt in attacks]
    laid_out = [
        RAG(max_tokens=tried.tokens, prefix=prefix).laid_out(prompt.text, retrieve(prompt.text), model)
        for prompt, prefix in zip(attacks, begun, strict=True)
    ]
    said = write_all(model, laid_out, tried.tokens)
    return [(p, own + model.decode(tokens)) for p, own, (tokens, _) in zip(attacks, begun, said, strict=True)]


def _prompting_surprises(
    model: TransformersModel, retrieve: Retrieve, texts: Sequence[str]
) -> tuple[list[Surprises], list[Surprises]]:
    """Return those of the second half of each text, after the passage that the first half finds."""
    everything, without = [], []
    for text in texts:
        tokens, marks = marked(model, text)
        half = len(tokens) // 2
        passages_text = " ".join(passage.text for passage in retrieve(model.decode(tokens[:half])))
        shared = model.encode(f"{passages_text}\n\n")[-400:] + tokens[:half]
        surprises = model.token_nll(shared, [Prompt(tuple(tokens[half:]), 0)])[0]
        everything.append(surprises)
        without.append(surprises[~marks[half:]])
    return everything, without


def _least_seconds(work: Callable[[], object], rounds: int) -> float | None:
    """Return the shortest time of some rounds, since other load makes the rest; None without rounds."""
    taken = []
    for _ in range(rounds):
        begin = time.perf_counter()
        work()
        taken.append(time.perf_counter() - begin)
    return min(taken, default=None)

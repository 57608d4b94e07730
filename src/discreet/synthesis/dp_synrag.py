"""DP-SynRAG: a synthetic corpus, paid for once, to be asked for ever.

"Differentially Private Synthetic Text Generation for Retrieval-Augmented Generation" (ACL 2026), Algorithm 1. Ours
differs where privacy-spec, part 8, completes it: keywords have a threshold, logits are whole numbers, and a unit may
have several documents.
"""

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, Literal, get_args

import numpy as np

from discreet.algorithms.logit_sum import Shape, Writers, check_shape, drawn, heard, log_softmax, voices
from discreet.algorithms.text.normalize import keywords
from discreet.engines.ray import RayModel, run_concurrently
from discreet.errors import BadData, UsageError
from discreet.models.length_buckets import in_order, map_in_buckets
from discreet.models.prompts import DOCUMENT_TOKENS, Layout, judge_layout, rewrite_layout
from discreet.models.protocol import ScoringModel
from discreet.privacy.costs import Cost, Together
from discreet.privacy.filter import PrivacyFilter
from discreet.privacy.mechanisms.counting import KeywordCounts, NoisySum
from discreet.privacy.mechanisms.selection import ThresholdChoice
from discreet.privacy.mechanisms.vectors import LARGEST_CLIP, AggregatedLogits, TokenPrice
from discreet.privacy.partition import ADD_REMOVE_ONE, InEachCluster, filters, partition_by_cluster
from discreet.privacy.private import Private
from discreet.store.embedding import Embedder, meaning
from discreet.synthesis import base

First = Literal["surprising", "rare"]

KEYWORD_SHARE = 0.15
"""Of the whole zCDP, for the histogram; the paper leaves the split open. The rest is for the clusters..."""
SIZE_SHARE, CENTRE_SHARE, THRESHOLD_SHARE = 0.01, 0.08, 0.02
"""...and of a cluster's, for its size, its centre and its threshold; the rest is for its tokens."""
FAILURES = 0.1
"""Of delta, for keywords that a single unit has."""
LEVELS = (*(1 - level / 50 for level in range(100)), -math.inf)
"""The thresholds of similarity to choose from, the highest first; every unit passes the last."""


def check_first(first: str) -> None:
    """Check the order of a unit's keywords.

    Raises:
        UsageError: if there is no such order.
    """
    if first not in get_args(First):
        raise UsageError(f"Units go by surprising or by rare keywords first, not by '{first}'.")


def check_overlap(overlap: int, keywords: int) -> None:
    """Check that a unit can be in as many clusters as it pays for.

    Raises:
        UsageError: if it has fewer keywords.
    """
    if overlap > keywords:
        raise UsageError(
            f"A unit of {keywords} keywords is in no more than {keywords} clusters; {overlap} would be paid for. Take "
            "a smaller overlap, or more keywords."
        )


@dataclass(frozen=True, kw_only=True)
class DPSynRAG(base.SynthesisAlgorithm["SynRAGPlan"]):
    """Parameters of Algorithm 1, by the paper's letters.

    Attributes:
        keywords: the number of keywords of a unit that count (K).
        clusters: the maximum number of keywords with a cluster (R).
        overlap: the maximum number of clusters of a unit (L).
        first: the keywords by which a unit goes to clusters first: those that surprise the public model most
            (surprising, ours), or the rarest of the whole vault (rare, as in the paper).
        alike: the similarity of vectors from which keywords share a cluster; none do at 1.
        wanted: the number of units that should remain in a cluster (k).
        tokens: the number of tokens that are drawn for a cluster (T).
        shape: how a unit's logits of the next token are bounded (algorithms/logit_sum.py).
        rerank: whether a cluster is narrowed to the units near its centre; otherwise its share goes to the tokens.
        text_tokens: the number of tokens to which a unit's text is cut.
    """

    name: ClassVar[str] = "dp-synrag"
    failures: ClassVar[float] = FAILURES
    counts: ClassVar[tuple[str, ...]] = ("keywords", "clusters", "overlap", "wanted", "tokens", "text_tokens")

    keywords: int = 10
    clusters: int = 500
    overlap: int = 1
    first: First = "surprising"
    alike: float = 1.0
    wanted: int = 80
    tokens: int = 48
    shape: Shape = "votes"
    rerank: bool = True
    text_tokens: int = DOCUMENT_TOKENS

    def __post_init__(self) -> None:
        super().__post_init__()
        check_first(self.first)
        check_overlap(self.overlap, self.keywords)
        if not 0 < self.alike <= 1:
            raise UsageError(f"alike is a similarity above 0 and at most 1, not {self.alike}. Try 0.8; 1 merges none.")
        check_shape(self.shape)

    @property
    def keywords_read(self) -> tuple[int, int]:
        """The keywords that count, of the tokens that are read."""
        return self.keywords, self.text_tokens

    def check(self, public: base.Public) -> None:
        """Check that the prompt fits the model, and that an embedder that merges keywords represents their meaning."""
        rewrite_layout(public.model, self.text_tokens, self.tokens)
        if self.alike < 1:
            meaning(public.embedder)

    def steps(self, rho: float, delta: float, dimension: int, length: int) -> "SynRAGPlan":
        """Return the plan: the price, divided among the steps."""
        in_one = (1 - KEYWORD_SHARE) * rho / self.overlap
        tokens = in_one * (1 - SIZE_SHARE - (CENTRE_SHARE + THRESHOLD_SHARE if self.rerank else 0))
        clip = math.sqrt(2 * tokens / self.tokens)  # a token costs c^2/2
        size = NoisySum.calibrated(SIZE_SHARE * in_one, 1, 1, ADD_REMOVE_ONE)
        centre = NoisySum.calibrated(CENTRE_SHARE * in_one, dimension, length, ADD_REMOVE_ONE)
        threshold = ThresholdChoice.calibrated(
            math.sqrt(8 * THRESHOLD_SHARE * in_one), len(LEVELS), self.wanted, ADD_REMOVE_ONE
        )
        narrowing = ((centre, 1), (threshold, 1)) if self.rerank else ()
        return SynRAGPlan(
            counts=KeywordCounts.calibrated(KEYWORD_SHARE * rho, delta, self.keywords, ADD_REMOVE_ONE),
            each=InEachCluster(
                "synthetic texts", ((size, 1), *narrowing, (TokenPrice(clip), self.tokens)), self.overlap
            ),
            clip=clip,
            first=self.first,
            rho=rho,
        )

    def keeps(self, text: str, words: Sequence[str]) -> bool:
        """Return whether a text is kept, given the keywords of its cluster: if it has one of them."""
        return not keywords(text).isdisjoint(words)

    def make(self, inputs: base.SynthesisInputs["SynRAGPlan"]) -> list[base.SyntheticText]:
        """Run Algorithm 1."""
        return synthesize(self, inputs)


@dataclass(frozen=True, kw_only=True)
class SynRAGPlan(base.CorpusPlan):
    """The releases of a run, with their noise.

    Attributes:
        counts: the histogram of keywords.
        each: the draws in each cluster.
        clip: the bound of a unit's logits on a token (c, at temperature 1).
        first: the order in which a unit's keywords are taken.
    """

    counts: KeywordCounts
    each: InEachCluster
    clip: float
    first: First

    @property
    def cost(self) -> Cost:
        """The cost of all releases."""
        return Together((self.counts.cost(ADD_REMOVE_ONE), self.each.cost(ADD_REMOVE_ONE)))

    @property
    def possible(self) -> bool:
        """Whether the clip is small enough for a meaningful guarantee."""
        return self.clip <= LARGEST_CLIP

    @property
    def size(self) -> NoisySum:
        """The noisy size of a cluster."""
        (counted, _), *_ = self.each.drawn
        assert isinstance(counted, NoisySum)
        return counted

    def worth_writing(self, counted: int, vocabulary: int) -> bool:
        """Return whether the votes of so many units, plus or minus the noise, can exceed the noise of a token."""
        return counted + 2 * self.size.sigma >= voices(vocabulary, self.clip)

    def steps(self, vocabulary: int) -> dict[str, object]:
        """Return the releases as plain data."""
        return {
            "keyword_sigma": self.counts.sigma,
            "keyword_threshold": self.counts.threshold,
            "drawn_in_each_cluster": drawn(self.each),
            "clusters_of_a_unit": self.each.overlap,
            # A run is resumed only with a plan of the same description: another order is another plan.
            "clusters_in_order_of": "surprise of the keyword by itself" if self.first == "surprising" else "rarity",
            "clip": self.clip,
            "voices_needed": voices(vocabulary, self.clip),
        }

    def lines(self, vocabulary: int) -> list[str]:
        """Return the releases in words, one sentence a line."""
        return [
            f"keywords: {self.counts}; a keyword is released if about {self.counts.threshold} units have it",
            f"clusters: a unit is in at most {self.each.overlap}; in each:",
            *(f"  {times} x {priced}" for priced, times in self.each.drawn),
            heard(vocabulary, self.clip),
        ]

    def check_size(self, units: int, vocabulary: int) -> None:
        """Refuse a corpus for which no keyword would be released."""
        least, heard = self.counts.threshold, voices(vocabulary, self.clip)
        if units < least:
            raise BadData(
                f"There are {units} units to make a corpus from, and at this price a keyword is released if about "
                f"{least} have it: nothing would be. Nothing was paid. Add documents, or pay more."
            )
        if units < heard:
            raise BadData(
                f"There are {units} units to make a corpus from, and at this price about {heard} in a cluster must "
                "agree on a token that the public model does not expect: they would not be heard. Nothing was paid. "
                "Draw fewer tokens, let units be in fewer clusters, add documents, or pay more."
            )


# --- step 1 (a): the keywords of each text, by the model --------------------------------------------------------------
# The paper asks a model to list them. Here they are the words that surprise the public model most, given what stands
# before them: no decoding, the same for the same text, and what a text says that the model does not know comes first.
# Each text is read by itself.

BEFORE = "Record:\n"
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
_BATCH = 64


def ranked_keywords(
    model: ScoringModel,
    texts: Sequence[str],
    most: int,
    text_tokens: int,
) -> Iterator[tuple[int, base.Ranked]]:
    """Yield the `most` most surprising words of each text, with the text's position, one text after the other.

    Args:
        model: the public model; on a cluster, workers read many texts at a time.
        texts: the texts.
        most: the number of words of a text.
        text_tokens: the number of tokens of a text that are read: public.
    """
    if isinstance(model, RayModel):
        by_text = model.read(partial(_by_a_worker, most=most, text_tokens=text_tokens), texts)
        yield from enumerate(tuple((str(word), float(nats)) for word, nats in ranked) for ranked in by_text)
        return
    shared = model.encode(BEFORE)

    def read(room: int, block: list[list[int]]) -> list[base.Ranked]:
        laid_out = Layout((), (), room, model.pad_token)
        losses = model.token_nll(shared, [laid_out.prompt(own) for own in block]).tolist()
        return [_ranked(model, own, nats[room - len(own) :], most) for own, nats in zip(block, losses, strict=True)]

    yield from map_in_buckets(model, texts, text_tokens, _BATCH, read)


def _by_a_worker(model: ScoringModel, texts: list[str], most: int, text_tokens: int) -> list[base.Ranked]:
    return in_order(ranked_keywords(model, texts, most, text_tokens))


def _ranked(model: ScoringModel, tokens: Sequence[int], surprise: Sequence[float], most: int) -> base.Ranked:
    pieces = [model.decode([token]) for token in tokens]
    owner = [place for place, piece in enumerate(pieces) for _ in piece]
    ranks: dict[str, float] = {}
    for match in _WORD.finditer("".join(pieces)):
        nats = sum(surprise[place] for place in set(owner[match.start() : match.end()]))
        for word in keywords(match.group()):
            ranks[word] = max(nats, ranks.get(word, 0.0))
    best = sorted(ranks.items(), key=lambda item: (-item[1], item[0]))
    return tuple((word, round(nats, 3)) for word, nats in best[:most])


# --- steps 1 (b) and (c): soft clusters by released keywords, each around its centre ----------------------------------

WORD = 16
"""The number of tokens of a keyword that count."""
Once = Callable[[str, Callable[[], Any]], Any]
"""Returns the value that was drawn under a name; draws and keeps it if there is none."""


def rarest_first(counts: Mapping[str, int], most: int) -> list[str]:
    """Return the `most` largest released keywords, the rarest first: frequent ones would displace the others."""
    largest = sorted(counts, key=lambda word: (-counts[word], word))[:most]
    return largest[::-1]


def ordered(counts: Mapping[str, int], most: int, first: First, model: ScoringModel) -> list[str]:
    """Return the `most` largest released keywords, in the order in which units go to clusters. All of it is public.

    The order is the same for all units, so units that share several keywords are in the same clusters.
    """
    rare = rarest_first(counts, most)
    if first == "rare":
        return rare
    nats = [
        dict(order).get(word, 0.0)
        for word, order in zip(rare, in_order(ranked_keywords(model, rare, 1, WORD)), strict=True)
    ]
    return [word for _, _, word in sorted(zip([-n for n in nats], range(len(rare)), rare, strict=True))]


def merged(order: Sequence[str], embedder: Embedder, alike: float) -> list[list[str]]:
    """Group keywords: one joins the first cluster whose first keyword has a similarity of `alike`. Public."""
    vectors = np.asarray(meaning(embedder).embed(list(order)), dtype=np.float64)
    groups: list[list[int]] = []
    for number, vector in enumerate(vectors):
        near = [own for own in groups if float(vectors[own[0]] @ vector) >= alike]
        if near:
            near[0].append(number)
        else:
            groups.append([number])
    return [[order[number] for number in own] for own in groups]


def places(unit: base.UnitTexts, numbers: Mapping[str, int]) -> list[int]:
    """Return the clusters of a unit, in the common order."""
    return sorted({numbers[word] for word in unit.ranked if word in numbers})


def near_the_centre(
    members: Private[base.TextPiece], paid: PrivacyFilter, centre: NoisySum, threshold: ThresholdChoice, once: Once
) -> Private[base.TextPiece]:
    """Keep the members near a noisy centre, about as many as wanted. `once` keeps the drawn values."""
    drawn: list[int] = once("centre", lambda: paid.release(centre, members.map(lambda p: p.vector)).tolist())
    middle = np.array(drawn, dtype=np.int64)
    length = max(1.0, float(np.linalg.norm(middle)))

    def level(piece: base.TextPiece) -> int:
        own = max(1.0, float(np.linalg.norm(piece.vector)))
        likeness = int(np.dot(piece.vector, middle)) / own / length
        return next(place for place, least in enumerate(LEVELS) if likeness >= least)

    chosen: int = once("threshold", lambda: paid.release(threshold, members.map(level)))
    return members.keep(lambda piece: level(piece) <= chosen)


def numbered(words: Sequence[Sequence[str]]) -> dict[str, int]:
    """Return the number of each keyword's cluster."""
    return {word: number for number, own in enumerate(words) for word in own}


# --- step 2 (d): private prediction -----------------------------------------------------------------------------------
# All documents of a cluster write one text together (`logit_sum`).


def write_texts(
    writers: Writers,
    model: ScoringModel,
    paid: PrivacyFilter,
    *,
    tokens: int,
    shape: Shape,
    clip: float,
    among: int = 1,
) -> list[str]:
    """Draw texts one after the other, until the paid tokens are used; the last text may be incomplete.

    Args:
        writers: the documents.
        model: the model that reads them.
        paid: the filter that pays.
        tokens: the number of tokens that are drawn.
        shape: how a document's logits are bounded (`weigh`).
        clip: the bound.
        among: the divisor of "difference": the approximate number of documents, public.
    """
    texts, written = list[str](), list[int]()
    for step in range(tokens):
        public, weights = writers.opinions(shape, clip, among)
        token = paid.release(AggregatedLogits(clip, public), weights)
        if token not in model.end_tokens:
            written.append(token)
        if token in model.end_tokens or step == tokens - 1:
            texts.append(model.decode(written).strip())
            written = []
            writers.begin_again()
        elif step < tokens - 1:
            writers.append(token)
    # A text that was cut off is worth keeping only if it is all there is.
    ended = texts if token in model.end_tokens else texts[:-1]
    return [text for text in ended if text] or [text for text in texts if text]


# --- step 2 (e): the model drops the texts that are of no use ---------------------------------------------------------
# The texts are public, so this is free. The paper asks the model whether a text is of use, Yes or No. A small one says
# No to all (docs/results/synthesis.md). Here a text is kept if the model finds the task likelier after it than after a
# text that says nothing.

NOTHING = "I am not sure what you mean by that."
LEAST, MOST = 128, 512
"""The number of tokens of a text for which there must be room, and the maximum that is read."""
_BLOCK = 16


def check_task(model: ScoringModel, task: str) -> None:
    """Check that the model has room for a task and a text beside it.

    Raises:
        UsageError: if the task is blank, or too long.
    """
    if task and not task.strip():
        raise UsageError("The task is blank. Say what the corpus is for, or leave --task out: no text is dropped then.")
    if task and _room(model, task) < LEAST:
        raise UsageError(
            f"The task is so long that the model has no room for a text of {LEAST} tokens beside it. Say it in a "
            "sentence or two."
        )


def useful(model: ScoringModel, task: str, texts: Sequence[str]) -> list[bool]:
    """Return for each text whether the task is likelier after it than after a text without content."""
    without, *with_text = likelihoods(model, task, [NOTHING, *texts])
    return [each > without for each in with_text]


def likelihoods(model: ScoringModel, task: str, texts: Sequence[str]) -> list[float]:
    """Return for each text the log-probability of the task as the topic of the text."""
    words, room = _words(model, task), min(MOST, _room(model, task))
    own = [model.encode(text)[:room] for text in texts]
    totals = list[float]()
    for start in range(0, len(own), _BLOCK):
        block = own[start : start + _BLOCK]
        laid_out = judge_layout(model, max(map(len, block)))
        decoding = model.start(laid_out.shared, [laid_out.prompt(tokens) for tokens in block], len(words))
        total = np.zeros(len(block))
        for token in words:
            total += log_softmax(decoding.logits())[:, token]
            decoding.append(token)
        totals += total.tolist()
    return totals


def _words(model: ScoringModel, task: str) -> list[int]:
    return model.encode(f" {task.strip()}")


def _room(model: ScoringModel, task: str) -> int:
    """Return the number of tokens that a text may have beside the task."""
    laid_out = judge_layout(model, 0)
    return model.context_length - len(laid_out.shared) - len(laid_out.tail) - len(_words(model, task))


def of_use(task: str, model: ScoringModel, texts: Sequence[base.SyntheticText]) -> list[base.SyntheticText]:
    """Mark the texts that are useless for a task as not kept; without a task, return the texts unchanged."""
    if not task:
        return list(texts)
    judged = useful(model, task, [text.text for text in texts])
    return [replace(text, kept=text.kept and use) for text, use in zip(texts, judged, strict=True)]


# --- Algorithm 1 ------------------------------------------------------------------------------------------------------

_ONE = np.ones(1, dtype=np.int64)


def synthesize(parameters: DPSynRAG, inputs: base.SynthesisInputs[SynRAGPlan]) -> list[base.SyntheticText]:
    """Run Algorithm 1; return all texts, kept or not."""
    plan, privacy, once, model = inputs.plan, inputs.privacy, inputs.checkpoint.once, inputs.public.model
    paid = privacy.within(privacy.pay(plan.counts, ADD_REMOVE_ONE))
    counts = once("keywords", lambda: paid.release(plan.counts, inputs.units.map(lambda unit: unit.keywords)))
    keywords = once("order", lambda: _group_keywords(parameters, counts, inputs.public))
    if not keywords:
        return []
    members = partition_by_cluster(
        inputs.units,
        partial(places, numbers=numbered(keywords)),
        len(keywords),
        parameters.overlap,
        name=lambda unit: unit.name,
        remember=lambda found: once("places", lambda: found),
    )
    works = [
        partial(_Cluster(parameters, plan, own, model, fund, inputs.checkpoint).make, texts)
        for own, texts, fund in zip(keywords, members, filters(privacy, plan.each, len(keywords)), strict=True)
    ]
    written = run_concurrently(model, works, lambda done: inputs.on_progress("clusters", done, len(keywords)))
    found = [
        base.SyntheticText(text, own[0], parameters.keeps(text, own))
        for own, texts in zip(keywords, written, strict=True)
        for text in texts
    ]
    return of_use(parameters.task, model, found)


def _group_keywords(parameters: DPSynRAG, counts: Mapping[str, int], public: base.Public) -> list[list[str]]:
    """Return the released keywords, by cluster."""
    order = ordered(counts, parameters.clusters, parameters.first, public.model)
    return merged(order, public.embedder, parameters.alike) if parameters.alike < 1 else [[word] for word in order]


@dataclass(frozen=True)
class _Cluster:
    """One cluster, with what writes its texts and pays for them."""

    parameters: DPSynRAG
    plan: SynRAGPlan
    keywords: Sequence[str]
    model: ScoringModel
    paid: PrivacyFilter
    checkpoint: base.Checkpoint

    def make(self, members: Private[base.UnitTexts]) -> list[str]:
        """Return the texts of the cluster, written now unless they were before."""
        about = members.map(lambda unit: unit.about(self.keywords))
        return self.checkpoint.once(f"text {self.keywords[0]}", partial(self._write, about))

    def _once(self, name: str, draw: Callable[[], Any]) -> Any:
        # Each draw is kept by itself. A second draw after a failure that depends on the first would reveal it.
        return self.checkpoint.once(f"{name} {self.keywords[0]}", draw)

    def _write(self, members: Private[base.TextPiece]) -> list[str]:
        """Return the texts; none if, by a noisy count, the units are too few for their votes to exceed the noise."""
        parameters, plan, paid = self.parameters, self.plan, self.paid
        (counted,) = self._once("size", lambda: paid.release(plan.size, members.map(lambda _: _ONE)).tolist())
        if not plan.worth_writing(counted, self.model.vocabulary_size):
            return []
        if parameters.rerank:
            _, (centre, _), (threshold, _), _ = plan.each.drawn
            assert isinstance(centre, NoisySum)
            assert isinstance(threshold, ThresholdChoice)
            members = near_the_centre(members, paid, centre, threshold, self._once)
        laid_out = rewrite_layout(self.model, parameters.text_tokens, parameters.tokens)
        writers = Writers(self.model, laid_out, members.map(lambda piece: piece.text), parameters.tokens)
        return write_texts(
            writers,
            self.model,
            paid,
            tokens=parameters.tokens,
            shape=parameters.shape,
            clip=plan.clip,
            among=parameters.wanted,
        )

"""The parameters of DP-SynRAG, and its plan: the price, divided among the steps before any of them runs."""

import math
from dataclasses import dataclass
from typing import ClassVar, Literal, get_args

from discreet.algorithms.logit_sum import Shape, check_shape, drawn, heard, voices
from discreet.errors import BadData, UsageError
from discreet.generation.prompts import DOCUMENT_TOKENS, rewrite_layout
from discreet.privacy.costs import Cost, Together
from discreet.privacy.mechanisms.counting import KeywordCounts, NoisySum
from discreet.privacy.mechanisms.selection import ThresholdChoice
from discreet.privacy.mechanisms.vectors import LARGEST_CLIP, TokenPrice
from discreet.privacy.partition import ADD_REMOVE_ONE, InEachCluster
from discreet.retrieval.embedding import meaning
from discreet.synthesis.base import CorpusPlan, Public, SynthesisAlgorithm, SynthesisInputs, SyntheticText

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
class DPSynRAG(SynthesisAlgorithm["SynRAGPlan"]):
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

    def check(self, public: Public) -> None:
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

    def make(self, inputs: SynthesisInputs["SynRAGPlan"]) -> list[SyntheticText]:
        """Run Algorithm 1."""
        from discreet.synthesis.dp_synrag import synthesize  # whose steps need these parameters

        return synthesize(self, inputs)


@dataclass(frozen=True, kw_only=True)
class SynRAGPlan(CorpusPlan):
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

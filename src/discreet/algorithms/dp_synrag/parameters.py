"""What a synthetic corpus may cost, and how that is shared out among the steps, before any of them runs."""

import math
from dataclasses import dataclass
from typing import ClassVar, Literal

from discreet.algorithms.aggregating import Shape, check_shape, drawn, heard, voices
from discreet.algorithms.synthetic import CorpusPlan, Journal, Method, Progress, Public, SyntheticText, UnitTexts
from discreet.errors import BadData, UsageError
from discreet.privacy.costs import Cost, Together
from discreet.privacy.filter import PrivacyFilter
from discreet.privacy.individual import PRESENCE
from discreet.privacy.mechanisms.aggregated_logits import LARGEST_CLIP, TokenPrice
from discreet.privacy.mechanisms.keyword_counts import KeywordCounts
from discreet.privacy.mechanisms.noisy_sum import NoisySum
from discreet.privacy.mechanisms.threshold_choice import ThresholdChoice
from discreet.privacy.overlap import InEachCluster
from discreet.privacy.private import Private

First = Literal["surprising", "rare"]

KEYWORD_SHARE = 0.15
"""Of the whole zCDP, for the histogram; the paper leaves the split open. The rest is for the clusters..."""
CENTRE_SHARE, THRESHOLD_SHARE = 0.08, 0.02
"""...and of a cluster's, for its centre and its threshold; the rest is for its tokens."""
FAILURES = 0.1
"""Of delta, for keywords that a single unit has."""
LEVELS = (*(1 - level / 50 for level in range(100)), -math.inf)
"""The thresholds of similarity to choose from, the highest first; the last lets everybody pass."""


@dataclass(frozen=True, kw_only=True)
class DPSynRAG(Method["Plan"]):
    """Parameters of Algorithm 1, by the paper's letters.

    Attributes:
        keywords: how many keywords of a unit count (K).
        clusters: how many keywords make a cluster, at most (R).
        overlap: in how many clusters a unit is at most (L).
        first: which keywords of a unit decide on its clusters: those that surprise the model most in its texts
            (ours), or the rarest of the whole vault (the paper's).
        wanted: how many units a cluster should be left with (k).
        tokens: how many tokens are drawn for a cluster (T).
        shape: how a unit's opinion of the next token is brought into bounds (aggregating.py).
        rerank: whether a cluster is narrowed to the units near its centre; its share goes to the tokens otherwise.
        text_tokens: to how many tokens a unit's text is cut.
    """

    name: ClassVar[str] = "dp-synrag"
    failures: ClassVar[float] = FAILURES
    counts: ClassVar[tuple[str, ...]] = ("keywords", "clusters", "overlap", "wanted", "tokens", "text_tokens")

    keywords: int = 10
    clusters: int = 500
    overlap: int = 2
    first: First = "surprising"
    wanted: int = 80
    tokens: int = 48
    shape: Shape = "votes"
    rerank: bool = True
    text_tokens: int = 128

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.first not in ("surprising", "rare"):
            raise UsageError(f"Clusters are made by surprising or by rare keywords, not by '{self.first}'.")
        check_shape(self.shape)

    @property
    def keywords_read(self) -> tuple[int, int]:
        """The keywords that count, of the tokens that are read."""
        return self.keywords, self.text_tokens

    def steps(self, rho: float, delta: float, dimension: int, length: int) -> "Plan":
        """The price shared out among the steps."""
        in_one = (1 - KEYWORD_SHARE) * rho / self.overlap
        tokens = in_one * (1 - (CENTRE_SHARE + THRESHOLD_SHARE if self.rerank else 0))
        clip = math.sqrt(2 * tokens / self.tokens)  # a token costs c^2/2
        centre = NoisySum.calibrated(CENTRE_SHARE * in_one, dimension, length, PRESENCE)
        threshold = ThresholdChoice.calibrated(
            math.sqrt(8 * THRESHOLD_SHARE * in_one), len(LEVELS), self.wanted, PRESENCE
        )
        narrowing = ((centre, 1), (threshold, 1)) if self.rerank else ()
        return Plan(
            counts=KeywordCounts.calibrated(KEYWORD_SHARE * rho, delta, self.keywords, PRESENCE),
            each=InEachCluster("synthetic texts", (*narrowing, (TokenPrice(clip), self.tokens)), self.overlap),
            clip=clip,
            rho=rho,
        )

    def make(
        self,
        plan: "Plan",
        units: Private[UnitTexts],
        public: Public,
        privacy: PrivacyFilter,
        journal: Journal,
        progress: Progress = lambda *_: None,
    ) -> list[SyntheticText]:
        """Algorithm 1."""
        from discreet.algorithms.dp_synrag import synthesize  # whose steps need these parameters

        return synthesize(self, plan, units, public.model, privacy, journal, progress)


@dataclass(frozen=True, kw_only=True)
class Plan(CorpusPlan):
    """What runs, with which noise.

    Attributes:
        counts: the histogram of keywords.
        each: what is drawn in each cluster.
        clip: the bound of a unit's opinion on a token (c, at temperature 1).
    """

    counts: KeywordCounts
    each: InEachCluster
    clip: float

    @property
    def cost(self) -> Cost:
        """Of everything."""
        return Together((self.counts.cost(PRESENCE), self.each.cost(PRESENCE)))

    @property
    def possible(self) -> bool:
        """A larger clip is no privacy to speak of."""
        return self.clip <= LARGEST_CLIP

    def steps(self, vocabulary: int) -> dict[str, object]:
        """What runs, as plain data."""
        return {
            "keyword_sigma": self.counts.sigma,
            "keyword_threshold": self.counts.threshold,
            "drawn_in_each_cluster": drawn(self.each),
            "clusters_of_a_unit": self.each.overlap,
            "clip": self.clip,
            "voices_needed": voices(vocabulary, self.clip),
        }

    def lines(self, vocabulary: int) -> list[str]:
        """What runs, for a person."""
        return [
            f"keywords: {self.counts}; a keyword is released if about {self.counts.threshold} units have it",
            f"clusters: a unit is in at most {self.each.overlap}; in each:",
            *(f"  {times} x {priced}" for priced, times in self.each.drawn),
            heard(vocabulary, self.clip),
        ]

    def check_size(self, units: int, vocabulary: int) -> None:
        """Refuse to make a corpus for which no keyword would be released."""
        least = self.counts.threshold
        if units < least:
            raise BadData(
                f"There are {units} units to make a corpus from, and at this price a keyword is released if about "
                f"{least} have it: nothing would be. Nothing was paid. Add documents, or pay more."
            )

"""What a synthetic corpus may cost, and how that is shared out among the steps, before any of them runs."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Literal

from discreet.algorithms.aggregating import SHAPES, Shape
from discreet.errors import BudgetExhausted, UsageError
from discreet.privacy.accounting import Budget, Spending, budget_for, largest
from discreet.privacy.costs import Cost, Together
from discreet.privacy.individual import PRESENCE
from discreet.privacy.mechanisms.aggregated_logits import LARGEST_CLIP, TokenPrice
from discreet.privacy.mechanisms.keyword_counts import KeywordCounts
from discreet.privacy.mechanisms.noisy_sum import NoisySum
from discreet.privacy.mechanisms.threshold_choice import ThresholdChoice
from discreet.privacy.overlap import InEachCluster

First = Literal["surprising", "rare"]

KEYWORD_SHARE = 0.15
"""Of the whole zCDP, for the histogram; the paper leaves the split open. The rest is for the clusters..."""
CENTRE_SHARE, THRESHOLD_SHARE = 0.08, 0.02
"""...and of a cluster's, for its centre and its threshold; the rest is for its tokens."""
FAILURES = 0.1
"""Of delta, for keywords that a single unit has."""
LEAST = 0.8
"""A corpus is made with no less than this part of the zCDP that its price pays for by itself."""
LEVELS = (*(1 - level / 50 for level in range(100)), -math.inf)
"""The thresholds of similarity to choose from, the highest first; the last lets everybody pass."""


@dataclass(frozen=True, kw_only=True)
class DPSynRAG:
    """Parameters of Algorithm 1, by the paper's letters.

    Attributes:
        epsilon: the price of the whole corpus.
        delta: of the whole corpus; the vault's if None.
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
        task: what the corpus is for: the model drops texts that are of no use for it. None are dropped if empty.
    """

    name: ClassVar[str] = "dp-synrag"

    epsilon: float = 10.0
    delta: float | None = None
    keywords: int = 10
    clusters: int = 500
    overlap: int = 2
    first: First = "surprising"
    wanted: int = 80
    tokens: int = 48
    shape: Shape = "votes"
    rerank: bool = True
    text_tokens: int = 128
    task: str = ""

    def __post_init__(self) -> None:
        for name in ("keywords", "clusters", "overlap", "wanted", "tokens", "text_tokens"):
            if getattr(self, name) < 1:
                raise UsageError(f"{name} must be at least 1, not {getattr(self, name)}.")
        if not (self.epsilon > 0 and math.isfinite(self.epsilon)):
            raise UsageError(f"epsilon must be a number above 0, not {self.epsilon}.")
        if self.first not in ("surprising", "rare"):
            raise UsageError(f"Clusters are made by surprising or by rare keywords, not by '{self.first}'.")
        if self.shape not in SHAPES:
            raise UsageError(f"There is no shape '{self.shape}': votes, centred, difference or clip.")

    def plan(self, budget: Budget, spent: Spending, dimension: int, length: int, *, rho: float | None = None) -> "Plan":
        """Share the price out; every step as precise as it can be.

        Args:
            budget: the vault's.
            spent: what everybody has spent of it.
            dimension: of the vectors of texts.
            length: the longest that such a vector is.
            rho: of a plan that was made before.

        Raises:
            BudgetExhausted: the price is not left to everybody.
        """
        delta = self.delta if self.delta is not None else budget.delta
        if not delta > 0:
            raise UsageError("A synthetic corpus needs a delta above 0: keywords of a single unit are hidden up to it.")
        failures = FAILURES * delta * (1 - 1e-9)  # so that it stays below what is kept for it, rounded up
        make: Callable[[float], Plan] = lambda rho: self._steps(rho, failures, dimension, length)  # noqa: E731

        def ceiling(plan: Plan) -> Budget:
            return budget_for(plan.cost, self.epsilon, delta, FAILURES * delta)

        def fits(rho: float) -> bool:
            plan = make(rho)
            return plan.clip <= LARGEST_CLIP and ceiling(plan).admits(Spending.of(plan.cost))

        def is_left(rho: float) -> bool:
            return fits(rho) and budget.admits(spent + Spending.of(make(rho).cost))

        if rho is None:
            asked = largest(fits, 1e-6, 1e4)
            # A vault adds up at an order of its own, at which the same steps may count for somewhat more.
            rho = largest(is_left, 1e-6, asked)
            if not is_left(rho) or rho < LEAST * asked:
                raise BudgetExhausted(
                    f"Epsilon {self.epsilon:g} at delta {delta:g} is not left to every unit: everybody has spent "
                    f"{budget.spent(spent):.4g} of {budget.epsilon:g}. Ask for less, or use a vault with a larger "
                    "grant. Nothing was paid.",
                    asked=self.epsilon,
                    left=budget.left(spent),
                )
        plan = make(rho)
        return Plan(plan.counts, plan.each, plan.clip, plan.rho, ceiling(plan))

    def _steps(self, rho: float, failures: float, dimension: int, length: int) -> "Plan":
        in_one = (1 - KEYWORD_SHARE) * rho / self.overlap
        tokens = in_one * (1 - (CENTRE_SHARE + THRESHOLD_SHARE if self.rerank else 0))
        clip = math.sqrt(2 * tokens / self.tokens)  # a token costs c^2/2
        centre = NoisySum.calibrated(CENTRE_SHARE * in_one, dimension, length, PRESENCE)
        threshold = ThresholdChoice.calibrated(
            math.sqrt(8 * THRESHOLD_SHARE * in_one), len(LEVELS), self.wanted, PRESENCE
        )
        narrowing = ((centre, 1), (threshold, 1)) if self.rerank else ()
        return Plan(
            KeywordCounts.calibrated(KEYWORD_SHARE * rho, failures, self.keywords, PRESENCE),
            InEachCluster("synthetic texts", (*narrowing, (TokenPrice(clip), self.tokens)), self.overlap),
            clip,
            rho,
            None,
        )


@dataclass(frozen=True)
class Plan:
    """What runs, with which noise.

    Attributes:
        counts: the histogram of keywords.
        each: what is drawn in each cluster.
        clip: the bound of a unit's opinion on a token (c, at temperature 1).
        rho: the zCDP of everything, about.
        ceiling: the budget that it fills.
    """

    counts: KeywordCounts
    each: InEachCluster
    clip: float
    rho: float
    ceiling: Budget | None

    @property
    def cost(self) -> Cost:
        """Of everything."""
        return Together((self.counts.cost(PRESENCE), self.each.cost(PRESENCE)))

    def voices(self, vocabulary: int) -> int:
        """About how many units of a cluster must agree for a token that the public model does not expect."""
        return math.ceil(math.log(vocabulary) / (2 * self.clip))

    def describe(self, vocabulary: int) -> dict[str, object]:
        """The plan as plain data."""
        return {
            "epsilon": self.ceiling.epsilon if self.ceiling else None,
            "delta": self.ceiling.delta if self.ceiling else None,
            "rho": self.rho,
            "keyword_sigma": self.counts.sigma,
            "keyword_threshold": self.counts.threshold,
            "drawn_in_each_cluster": [
                {"what": str(priced), "times": times, "cost": priced.cost(PRESENCE).describe()}
                for priced, times in self.each.drawn
            ],
            "clusters_of_a_unit": self.each.overlap,
            "clip": self.clip,
            "voices_needed": self.voices(vocabulary),
        }

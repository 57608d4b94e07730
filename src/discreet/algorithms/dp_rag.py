"""DP-RAG: the documents above a private threshold write the answer together, and each token is paid.

Grislain, "RAG with Differential Privacy" (2024). The exponential mechanism chooses a threshold of similarity. All
documents above it then take part in private prediction. This version differs from the public code in two ways
(privacy-spec, part 8):

- **The number of documents has no cap.** With a cap, the removal of one unit admits another unit. That is a
  replacement, which costs twice as much for each token. Without a cap, one unit's removal does not affect the others.
- **The sum is not filtered.** A library's default of sampling among the best 50 tokens of private sums lets one unit
  decide which tokens are possible.
"""

import math
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import ClassVar

from discreet.algorithms.base import Algorithm, AlgorithmSpec, GeneratedAnswer, Plan, Query, Stopped
from discreet.algorithms.ensemble import check_number, check_prefix
from discreet.algorithms.logit_sum import SHAPES, Shape, Writers
from discreet.errors import UnknownName, UsageError
from discreet.models.capabilities import Capability, require_capabilities
from discreet.models.prompts import DOCUMENT_TOKENS, layout
from discreet.models.protocol import ScoringModel, VotingModel
from discreet.privacy.account import Account, PayingUnits, Payment
from discreet.privacy.accounting import Budget, budget_for, largest
from discreet.privacy.costs import Times, Together
from discreet.privacy.filter import PrivacyFilter
from discreet.privacy.mechanisms.selection import ShareChoice, ThresholdChoice
from discreet.privacy.mechanisms.vectors import LARGEST_CLIP, ONE, AggregatedLogits, TokenPrice
from discreet.privacy.partition import ADD_REMOVE_ONE, together
from discreet.privacy.private import Private
from discreet.store.protocol import Hit
from discreet.store.sealed_corpus import Found, SealedCorpus

THRESHOLD_SHARE = 0.1
"""The part of a question's zCDP for the threshold; the rest is for the tokens, in equal parts."""
LEVELS = tuple(round(0.8 - 0.02 * level, 2) for level in range(31))
"""The thresholds of similarity to choose from: 0.80, 0.78, ... 0.20."""


@dataclass(frozen=True)
class Near:
    """A unit that was found, and the first level that it passes."""

    level: int
    hit: Hit


@dataclass(frozen=True, kw_only=True)
class DPRAG(Algorithm):
    """Parameters of DP-RAG.

    Attributes:
        epsilon: the most that the question may cost.
        delta: the question's delta; the vault's if None.
        wanted: the target number of units above the threshold. Used unless `share` is given.
        share: p of top-p: about this share of the weight of all units above the lowest level lies above the threshold;
            0 turns it off. With many units near the question, many units write.
        falloff: the distance from the highest level at which a unit's weight falls by the factor e (alpha of top-p).
        levels: the public thresholds of similarity to choose from, the highest first. Units below the last one never
            take part.
        omega: the weight of the public model's log-probabilities in the sum.
        shape: how a unit's weights for the next token are brought into bounds (`logit_sum`). With "difference", each
            unit's weights are divided by `wanted`.
        max_tokens: the longest answer in tokens. The budget is divided among so many tokens.
        prefix: the first words of the answer: public and free.
        document_tokens: the public length in tokens to which a passage is cut or padded; 0 for the default.
    """

    name: ClassVar[str] = "dp-rag"
    spec: ClassVar[AlgorithmSpec] = AlgorithmSpec(Payment.EVERY_UNIT, frozenset({Capability.LOGITS}))

    epsilon: float = 10.0
    delta: float | None = None
    wanted: int = 80
    share: float = 0.0
    falloff: float = 0.05
    levels: tuple[float, ...] = LEVELS
    omega: float = 1.0
    shape: Shape = "votes"
    max_tokens: int = 16
    prefix: str = ""
    document_tokens: int = 0

    def __post_init__(self) -> None:
        check_number("epsilon", self.epsilon)
        if self.delta is not None and not 0 < self.delta < 1:
            raise UsageError(f"Delta is a probability between 0 and 1, not {self.delta}. Try 1e-6.")
        for name in ("wanted", "max_tokens"):
            if getattr(self, name) < 1:
                raise UsageError(f"{name} is at least 1, not {getattr(self, name)}.")
        if not 0 <= self.share < 1:
            raise UsageError(f"share lies between 0 and 1, not {self.share}. Try 0.5, or 0 to choose by number.")
        check_number("falloff", self.falloff)
        if self.document_tokens < 0:
            raise UsageError(f"document_tokens is at least 1, or 0 for a default, not {self.document_tokens}.")
        object.__setattr__(self, "levels", tuple(sorted(set(self.levels), reverse=True)))  # accepts a list, too
        if not self.levels or not all(-1 <= level <= 1 for level in self.levels):
            raise UsageError("levels is a sequence of at least one threshold, and all lie between -1 and 1.")
        if not (math.isfinite(self.omega) and self.omega >= 0):
            raise UsageError(f"omega is a finite number of at least 0, not {self.omega}. Try 1.")
        check_prefix(self.prefix)
        if self.shape not in SHAPES:
            raise UnknownName("shape", self.shape, SHAPES)

    def plan(self, budget: Budget, vocabulary: int) -> Plan:
        """Return the most that a question may cost: the threshold, and the longest answer.

        Raises:
            UsageError: if the budget is so small that no document could change a token.
        """
        return share_out(self, self.delta or budget.delta).plan

    def run(self, query: Query, corpus: SealedCorpus, model: VotingModel, account: Account) -> GeneratedAnswer:
        """Release a threshold, and let the units above it write the answer."""
        require_capabilities(model, self.spec.capabilities, self.name)
        assert isinstance(model, ScoringModel)
        steps = share_out(self, self.delta or account.budget.delta)
        each = self.document_tokens or DOCUMENT_TOKENS
        laid_out = layout(model, query.text, prefix=self.prefix, document_tokens=each, max_tokens=self.max_tokens)
        paying = account.charge_every_unit(steps.plan.max_cost)
        units = self.by_level(query.text, corpus, paying)
        chosen = paying.paid.release(steps.threshold, units.map(lambda unit: unit.level))
        texts = corpus.texts(self.above(units, chosen).map(lambda unit: unit.hit))
        writers = Writers(model, laid_out, texts, self.max_tokens, query.public)
        return self.write(writers, model, paying.paid, steps.token.clip)

    def by_level(self, question: str, corpus: SealedCorpus, paying: PayingUnits) -> Private[Near]:
        """Return all paying units above the lowest level, each with the first level that it passes.

        A unit's level depends on that unit alone.
        """
        bins = corpus.bins(question, self.levels)
        return together([paying.among(members).map(partial(_near, level)) for level, members in enumerate(bins)])

    def above(self, units: Private[Near], chosen: int) -> Private[Near]:
        """Return all units that pass a released level. A cap on their number would turn removal into replacement."""
        return units.keep(lambda unit: unit.level <= chosen)

    def write(self, writers: Writers, model: ScoringModel, privacy: PrivacyFilter, clip: float) -> GeneratedAnswer:
        """Write the answer token by token. Each token is paid before it is sampled."""
        answer: list[int] = []
        stopped: Stopped = "length"
        for _ in range(self.max_tokens):
            if not privacy.fits([TokenPrice(clip)], ADD_REMOVE_ONE):
                stopped = "budget"
                break
            public, weights = writers.opinions(self.shape, clip, self.wanted)
            token = privacy.release(AggregatedLogits(clip, self.omega * public), weights)
            if token in model.end_tokens:
                stopped = "end"
                break
            answer.append(token)
            if len(answer) < self.max_tokens:
                writers.append(token)
        return GeneratedAnswer(self.prefix + model.decode(answer), stopped, len(answer), len(answer))


@dataclass(frozen=True)
class Steps:
    """The mechanisms of a question, and the most that they may cost.

    Attributes:
        threshold: the choice of the threshold.
        token: the price of a token, which states its clip.
        plan: the plan of the question: one round, which is the whole answer.
    """

    threshold: ThresholdChoice | ShareChoice
    token: TokenPrice
    plan: Plan


@lru_cache(maxsize=128)
def share_out(asked: DPRAG, delta: float) -> Steps:
    """Divide a question's epsilon between the threshold and the tokens; both are as precise as it allows.

    Raises:
        UsageError: if no document could change a token.
    """
    tokens = asked.max_tokens

    def steps(rho: float) -> Steps:
        # Bounded range e costs e^2/8. The threshold's e is its price, a token's is 2c (privacy-spec, part 8).
        spread = math.sqrt(8 * THRESHOLD_SHARE * rho)
        threshold = choice(asked, spread)
        token = TokenPrice(math.sqrt(2 * (1 - THRESHOLD_SHARE) * rho / tokens))
        cost = Together((threshold.cost(ADD_REMOVE_ONE), Times(token.cost(ADD_REMOVE_ONE), tokens)))
        return Steps(threshold, token, Plan(budget_for(cost, asked.epsilon, delta), cost, 1))

    def fits(rho: float) -> bool:
        plan = steps(rho).plan
        return plan.ceiling.admits(plan.max_cost)

    highest = tokens * LARGEST_CLIP**2 / 2 / (1 - THRESHOLD_SHARE)  # a token costs c^2/2
    scale = steps(largest(fits, 1e-12, highest))
    if not scale.token.clip * ONE >= 1:
        raise UsageError(
            f"Too little for any answer: with epsilon {asked.epsilon:g} divided among {tokens} tokens, no document "
            "could change a token. Raise epsilon, or lower max_tokens."
        )
    return scale


def choice(asked: DPRAG, epsilon: float) -> ThresholdChoice | ShareChoice:
    """Return the choice of the threshold: by number (top-k of the report), or by weight (its top-p).

    A unit weighs exp((s - highest) / falloff), where s is the level that it passes. The weight depends on that unit and
    on public numbers alone.
    """
    if not asked.share:
        return ThresholdChoice.calibrated(epsilon, len(asked.levels), asked.wanted, ADD_REMOVE_ONE)
    weights = tuple(math.exp((level - asked.levels[0]) / asked.falloff) for level in asked.levels)
    return ShareChoice.calibrated(epsilon, weights, asked.share, ADD_REMOVE_ONE)


def _near(level: int, member: Found) -> Near:
    return Near(level, member.value)

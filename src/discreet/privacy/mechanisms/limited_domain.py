"""Selection among the values that voters said, from an unbounded domain, or nothing at all.

Two mechanisms of privacy-spec, part 2b. `ObservedSelection` is one draw of the exponential mechanism over the
observed values and a bottom, tight under both relations. `LimitedDomain` is Durfee and Rogers 2019 (top-1), as
DPVoteRAG uses it, charged for the relation that its input really has.
"""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from discreet.privacy.change import Change, Relation
from discreet.privacy.costs import BoundedRange, Cost, Pure
from discreet.privacy.mechanisms.exponential import vote_range, vote_scale
from discreet.privacy.noise import Noise

V = TypeVar("V", int, str)


@dataclass(frozen=True)
class ObservedSelection:
    """Select an observed value with weight exp(count / scale), or None with weight exp(bottom / scale).

    Attributes:
        scale: the noise.
        bottom: the count that None pretends to have.
    """

    scale: float
    bottom: float

    def __str__(self) -> str:
        return f"selection among observed values, scale {self.scale:.6g}, bottom at {self.bottom:.6g}"

    @staticmethod
    def calibrated(epsilon: float, delta: float, change: Change) -> "ObservedSelection":
        """The mechanism that costs (epsilon, delta) under `change`: bottom = 1 + scale ln(1/delta - 1) for a share."""
        scale = vote_scale(change, epsilon)
        return ObservedSelection(scale, scale * (_own_weight(change.shares, scale) + math.log(1 / delta - 1)))

    def chance(self, votes: int) -> float:
        """How probably a value with so many votes is selected when there is no other."""
        return float(np.exp(-np.logaddexp(0.0, (self.bottom - votes) / self.scale)))

    def cost(self, change: Change) -> Cost:
        """Bounded range, unless a value that only one neighbour holds is drawn: probability at most delta.

        Such values weigh at most `_own_weight`, against the weight of the bottom alone; for one share,
        delta = 1 / (1 + exp((bottom - 1) / scale)).
        """
        ahead = self.bottom / self.scale - _own_weight(change.shares, self.scale)
        return BoundedRange(vote_range(change, self.scale), float(np.exp(-np.logaddexp(0.0, ahead))))

    def draw(self, shares: Sequence[V | None], noise: Noise) -> V | None:
        """An observed value, or None. Shares that are None abstain: that moves fewer votes than any value would."""
        counts: Counter[V] = Counter(share for share in shares if share is not None)
        values: list[V] = sorted(counts)
        chosen = noise.select([*(float(counts[value]) for value in values), self.bottom], self.scale)
        return values[chosen] if chosen < len(values) else None


@dataclass(frozen=True)
class LimitedDomain:
    """Durfee and Rogers 2019, Algorithm 1 with k = 1: Gumbel(1/epsilon) noise on the `domain` largest counts.

    None competes at h + 1 + ln(1/delta)/epsilon, where h is the largest count left out.

    Attributes:
        epsilon, delta: the parameters of the mechanism, which are its cost when one vote is added or removed.
        domain: how many of the largest counts take part (the paper's k-bar).
        votes: the public number of votes. With domain >= votes no count is ever left out.
    """

    epsilon: float
    delta: float
    domain: int
    votes: int

    def __str__(self) -> str:
        return f"LimitedDomain, epsilon {self.epsilon:.6g}, delta {self.delta:.6g}, domain {self.domain}"

    @staticmethod
    def calibrated(epsilon: float, delta: float, change: Change, votes: int) -> "LimitedDomain":
        """The mechanism that costs (epsilon, delta) under `change`, of one share."""
        inner = epsilon / vote_range(change, 1.0)
        shrink = 1 + math.exp(inner) if change.relation is Relation.REPLACE else 1.0
        return LimitedDomain(inner, delta / shrink, votes, votes)

    def cost(self, change: Change) -> Cost:
        """(epsilon, delta) for a vote that comes or goes; (2 epsilon, (1 + e^epsilon) delta) for one replaced.

        Bounded range is proved only where no count is left out; otherwise the pure curve is charged.
        """
        if change.shares != 1:
            raise NotImplementedError("LimitedDomain is analysed for one share a unit; use ObservedSelection.")
        replaced = change.relation is Relation.REPLACE
        epsilon = 2 * self.epsilon if replaced else self.epsilon
        delta = (1 + math.exp(self.epsilon)) * self.delta if replaced else self.delta
        return (BoundedRange if self.domain >= self.votes else Pure)(epsilon, delta)

    def draw(self, shares: Sequence[int], noise: Noise) -> int | None:
        """An observed value among the `domain` most frequent, or None."""
        if len(shares) > self.votes:
            raise ValueError(f"This mechanism is for at most {self.votes} votes; their number is public.")
        # Ties at the boundary go by the value itself, a public order.
        ranked = sorted(Counter(shares).items(), key=lambda item: (-item[1], item[0]))
        kept, rest = ranked[: self.domain], ranked[self.domain :]
        bottom = (rest[0][1] if rest else 0) + 1 + math.log(1 / self.delta) / self.epsilon
        chosen = noise.select([*(float(count) for _, count in kept), bottom], 1 / self.epsilon)
        return kept[chosen][0] if chosen < len(kept) else None


def _own_weight(shares: int, scale: float) -> float:
    """At most the logarithm of what values that only one neighbour holds can weigh together.

    `shares` votes on values of v votes each weigh (shares / v) exp(v / scale); a mixture is no heavier than the best v.
    """
    return max(math.log(shares / votes) + votes / scale for votes in range(1, shares + 1))

"""Selection among the values of the votes, from an unbounded domain; the result may be None.

Two mechanisms of privacy-spec, part 2b. `ObservedSelection` is one draw of the exponential mechanism over the observed
values and a bottom, tight under both relations. `LimitedDomain` is Durfee and Rogers 2019 (top-1), as used by
DPVoteRAG, and charged for the actual relation of its input.
"""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from discreet.privacy.costs import BoundedRange, Cost, Pure
from discreet.privacy.mechanisms.counting import vote_range
from discreet.privacy.mechanisms.exponential import vote_scale
from discreet.privacy.mechanisms.optimal_selection import count_votes
from discreet.privacy.noise import Noise
from discreet.privacy.private import Change, Relation

V = TypeVar("V", int, str)


@dataclass(frozen=True)
class ObservedSelection:
    """Select an observed value with weight exp(count / scale), or None with weight exp(bottom / scale).

    Attributes:
        scale: the scale of the noise.
        bottom: the virtual count of None.
    """

    scale: float
    bottom: float

    def __str__(self) -> str:
        return f"selection among observed values, scale {self.scale:.6g}, bottom at {self.bottom:.6g}"

    @staticmethod
    def calibrated(epsilon: float, delta: float, change: Change) -> "ObservedSelection":
        """Return the mechanism that costs (epsilon, delta) under `change`.

        For one share, bottom = 1 + scale ln(1/delta - 1).
        """
        scale = vote_scale(change, epsilon)
        return ObservedSelection(scale, scale * (_own_weight(change.shares, scale) + math.log(1 / delta - 1)))

    def chance(self, votes: int) -> float:
        """Return the probability that a value with `votes` votes is selected if no other value exists."""
        return float(np.exp(-np.logaddexp(0.0, (self.bottom - votes) / self.scale)))

    def votes_needed(self, probability: float) -> int:
        """Return the fewest votes with which a value without a rival is selected with `probability`."""
        return math.ceil(self.bottom + self.scale * math.log(probability / (1 - probability)))

    def cost(self, change: Change) -> Cost:
        """Return a bounded range; delta bounds the probability of a value that only one neighbour holds.

        Such values weigh at most `_own_weight`, against the weight of the bottom alone. For one share, delta = 1 / (1 +
        exp((bottom - 1) / scale)).
        """
        ahead = self.bottom / self.scale - _own_weight(change.shares, self.scale)
        return BoundedRange(vote_range(change, self.scale), float(np.exp(-np.logaddexp(0.0, ahead))))

    def draw(self, shares: Sequence[V | None], noise: Noise) -> V | None:
        """Return an observed value, or None. A share of None abstains, which moves fewer votes than any value."""
        counts: Counter[V] = count_votes(shares)
        values: list[V] = sorted(counts)
        chosen = noise.select([*(float(counts[value]) for value in values), self.bottom], self.scale)
        return values[chosen] if chosen < len(values) else None


@dataclass(frozen=True)
class LimitedDomain:
    """Durfee and Rogers 2019, Algorithm 1 with k = 1: Gumbel(1/epsilon) noise on the `domain` largest counts.

    None competes at h + 1 + ln(1/delta)/epsilon, where h is the largest omitted count.

    Attributes:
        epsilon, delta: the parameters of the mechanism, equal to its cost if one vote is added or removed.
        domain: the number of largest counts that take part (the paper's k-bar).
        votes: the public number of votes. With domain >= votes no count is omitted.
    """

    epsilon: float
    delta: float
    domain: int
    votes: int

    def __str__(self) -> str:
        return f"LimitedDomain, epsilon {self.epsilon:.6g}, delta {self.delta:.6g}, domain {self.domain}"

    @staticmethod
    def calibrated(epsilon: float, delta: float, change: Change, votes: int) -> "LimitedDomain":
        """Return the mechanism that costs (epsilon, delta) under `change` of one share."""
        inner = epsilon / vote_range(change, 1.0)
        shrink = 1 + math.exp(inner) if change.relation is Relation.REPLACE else 1.0
        return LimitedDomain(inner, delta / shrink, votes, votes)

    def cost(self, change: Change) -> Cost:
        """Return (epsilon, delta) if a vote is added or removed; (2 epsilon, (1 + e^epsilon) delta) if one is replaced.

        Bounded range is proved only if no count is omitted; otherwise the pure curve is charged.

        Raises:
            NotImplementedError: if a unit changes several shares.
        """
        if change.shares != 1:
            raise NotImplementedError("LimitedDomain is analysed for one share a unit; use ObservedSelection.")
        replaced = change.relation is Relation.REPLACE
        epsilon = 2 * self.epsilon if replaced else self.epsilon
        delta = (1 + math.exp(self.epsilon)) * self.delta if replaced else self.delta
        return (BoundedRange if self.domain >= self.votes else Pure)(epsilon, delta)

    def draw(self, shares: Sequence[int], noise: Noise) -> int | None:
        """Return an observed value among the `domain` most frequent, or None.

        Raises:
            ValueError: if there are more than `votes` shares.
        """
        if len(shares) > self.votes:
            raise ValueError(f"This mechanism was calibrated for at most {self.votes} votes.")
        # Ties at the boundary are resolved by the value itself, a public order.
        ranked = sorted(Counter(shares).items(), key=lambda item: (-item[1], item[0]))
        kept, rest = ranked[: self.domain], ranked[self.domain :]
        bottom = (rest[0][1] if rest else 0) + 1 + math.log(1 / self.delta) / self.epsilon
        chosen = noise.select([*(float(count) for _, count in kept), bottom], 1 / self.epsilon)
        return kept[chosen][0] if chosen < len(kept) else None


def _own_weight(shares: int, scale: float) -> float:
    """Return an upper bound of the log-weight of all values that only one neighbour holds.

    `shares` votes on values of v votes each weigh (shares / v) exp(v / scale). A mixture weighs at most as much as the
    best v.
    """
    return max(math.log(shares / votes) + votes / scale for votes in range(1, shares + 1))

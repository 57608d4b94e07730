"""Selection of one answer with half of the votes: the leader (privacy-spec, part 10.4).

The exponential mechanism over the observed answers (`ObservedSelection`) pays for a replaced vote as if two answers
always competed. They compete only if both are near the top. Here an answer that is alone at the top is released by the
best possible curve, and only answers that are near each other share the probability (`leader_law`).

What the law costs has no closed form. `leader_certificate` proves a bound for the parameters at hand. Where it finds no
proof, the selection is `ObservedSelection` at the same price. That choice follows from public numbers.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

from discreet.privacy.change import Change
from discreet.privacy.costs import Cost, Pure
from discreet.privacy.mechanisms.leader_certificate import inner_epsilon
from discreet.privacy.mechanisms.leader_law import leader_curve, leader_law
from discreet.privacy.mechanisms.limited_domain import ObservedSelection, V
from discreet.privacy.mechanisms.selection_curves import least_votes, read_curve
from discreet.privacy.noise import WHOLE, Noise
from discreet.privacy.partition import REPLACE_ONE


@dataclass(frozen=True)
class LeaderSelection:
    """Select at most one of the answers that voters gave.

    Attributes:
        epsilon, delta: the cost.
        voters: the public number of voters, at least the number of votes.
    """

    epsilon: float
    delta: float
    voters: int

    def __str__(self) -> str:
        law = f"its law at {self.inner:.6g}" if self.inner else f"not certified, so {self.fallback}"
        return f"leader selection, epsilon {self.epsilon:.6g}, delta {self.delta:.6g}, {self.voters} voters; {law}"

    @property
    def inner(self) -> float | None:
        """The epsilon of the law; None if no law is certified at this price."""
        return inner_epsilon(self.epsilon, self.delta, self.voters)

    @property
    def fallback(self) -> ObservedSelection:
        """The selection in place of a law that is not certified."""
        return ObservedSelection.calibrated(self.epsilon, self.delta, REPLACE_ONE)

    def chance(self, votes: int) -> float:
        """Return how probably an answer with so many votes is released if no other answer competes."""
        if self.inner is None:
            return self.fallback.chance(votes)
        return read_curve(leader_curve(self.inner, self.delta), votes) / WHOLE

    def votes_needed(self, probability: float) -> int | None:
        """Return the fewest votes with which an answer without a rival is released with `probability`."""
        if self.inner is None:
            return self.fallback.votes_needed(probability)
        return least_votes(leader_curve(self.inner, self.delta), probability)

    def cost(self, change: Change) -> Cost:
        """Return (epsilon, delta). A vote that comes or goes is a vote that replaces an abstention.

        Raises:
            NotImplementedError: if a unit has several shares.
        """
        if change.shares != 1:
            raise NotImplementedError("Leader selection is analysed for one share a unit; use ObservedSelection.")
        return Pure(self.epsilon, self.delta)

    def draw(self, shares: Sequence[V | None], noise: Noise) -> V | None:
        """Return the selected answer, or None. Shares that are None abstain.

        Raises:
            ValueError: if there are more votes than `voters`.
        """
        counts: Counter[V] = Counter(share for share in shares if share is not None)
        if counts.total() > self.voters:
            raise ValueError(f"This selection is for at most {self.voters} votes.")
        if self.inner is None:
            return self.fallback.draw(shares, noise)
        answers: list[V] = sorted(counts)
        most = max(counts.values(), default=0)
        tied = [place for place, answer in enumerate(answers) if counts[answer] == most]
        if not answers:
            return None
        leader = tied[noise.below(len(tied))]
        law = leader_law([counts[answer] for answer in answers], leader, self.voters, self.inner, self.delta)
        chosen = noise.invert(list(accumulate(law)))
        return answers[chosen] if chosen < len(answers) else None

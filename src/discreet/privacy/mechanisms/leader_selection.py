"""Selection of one answer with half of the votes: the leader (privacy-spec, part 10.4).

The exponential mechanism over the observed answers (`ObservedSelection`) pays for a replaced vote as if two answers
always competed. They compete only if both are near the top. Here an answer that is alone at the top is released by the
best possible curve, and only answers that are near each other share the probability (`leader_law`).

What the law costs has no closed form. `leader_certificate` proves a bound for the parameters at hand. Where it finds no
proof, the selection is `ObservedSelection` at the same price. That choice follows from public numbers.

Public candidates have votes of their own from the start, on the same curve (part 10.5). All others stay possible. Their
number is filled up to one of `SIZES` with candidates that no voter can name: then there are few proofs. If such a one
is drawn, nothing is released, which is post-processing.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Any

from discreet.privacy.costs import Cost, Pure
from discreet.privacy.mechanisms.leader_certificate import CertifiedLaw, find_law
from discreet.privacy.mechanisms.leader_law import leader_curve, leader_law
from discreet.privacy.mechanisms.limited_domain import ObservedSelection, V
from discreet.privacy.mechanisms.optimal_selection import count_votes, least_votes, read_curve
from discreet.privacy.noise import WHOLE, Noise
from discreet.privacy.partition import REPLACE_ONE
from discreet.privacy.private import Change

SIZES = (5, 10, 20)
"""The numbers of candidates for which a price is proved."""
MOST_CANDIDATES = SIZES[-1]


@dataclass(frozen=True)
class LeaderSelection:
    """Select at most one of the answers that voters gave, or of the candidates.

    Attributes:
        epsilon, delta: the cost.
        voters: the public number of voters, at least the number of votes.
        candidates: answers that are public before the votes are counted, at most 20. They are left out where no price
            is proved with them.
    """

    epsilon: float
    delta: float
    voters: int
    candidates: tuple[Any, ...] = ()

    def __post_init__(self) -> None:
        if len(set(self.candidates)) < len(self.candidates):
            raise ValueError("A candidate is named twice.")
        if len(self.candidates) > MOST_CANDIDATES:
            raise ValueError(f"{len(self.candidates)} candidates are more than {MOST_CANDIDATES}.")

    def __str__(self) -> str:
        law = f"its law at {self.inner:.6g}" if self.inner else f"not certified, so {self.fallback}"
        among = f", {len(self.candidates)} public candidates at {self.ahead} votes" if self.proposes else ""
        if self.candidates and not among:
            among = f", {len(self.candidates)} public candidates, not certified, so without them"
        price = f"epsilon {self.epsilon:.6g}, delta {self.delta:.6g}"
        return f"leader selection, {price}, {self.voters} voters{among}; {law}"

    def with_candidates(self, candidates: Sequence[V]) -> "LeaderSelection":
        """Return the same selection with public candidates."""
        return replace(self, candidates=tuple(dict.fromkeys(candidates)))

    @property
    def heard(self) -> tuple[Any, ...]:
        """The candidates that take part; none if no law with them is certified."""
        return self.candidates if self.proposes else ()

    @property
    def proposes(self) -> bool:
        """Whether there are candidates, and a law with them is certified."""
        return self.size > 0

    @property
    def size(self) -> int:
        """The number of candidates, filled up; 0 if none take part."""
        return self._law[0]

    @property
    def inner(self) -> float | None:
        """The epsilon of the law; None if no law is certified at this price."""
        law = self._law[1]
        return law.epsilon if law else None

    @property
    def ahead(self) -> int:
        """The votes that each candidate has from the start."""
        law = self._law[1]
        return law.head_start if law else 0

    @property
    def _law(self) -> tuple[int, CertifiedLaw | None]:
        """The number of candidates that a certified law has, and that law. It follows from public numbers."""
        for size in SIZES if self.candidates else ():
            if size >= len(self.candidates):
                law = find_law(self.epsilon, self.delta, self.voters, size)
                if law is not None:
                    return size, law
        return 0, find_law(self.epsilon, self.delta, self.voters)

    @property
    def fallback(self) -> ObservedSelection:
        """The selection in place of a law that is not certified."""
        return ObservedSelection.calibrated(self.epsilon, self.delta, REPLACE_ONE)

    def chance(self, votes: int) -> float:
        """Return how probably an answer with so many votes is released if no other answer competes."""
        if self.inner is None:
            return self.fallback.chance(votes)
        return read_curve(leader_curve(self.inner, self.delta), votes) / WHOLE

    def candidate_chance(self, votes: int) -> float:
        """Return how probably a candidate with so many votes is released if no other answer competes."""
        return self.chance(votes + self.ahead)

    def votes_needed(self, probability: float) -> int | None:
        """Return the fewest votes with which an answer without a rival is released with `probability`."""
        if self.inner is None:
            return self.fallback.votes_needed(probability)
        return least_votes(leader_curve(self.inner, self.delta), probability)

    def candidate_votes_needed(self, probability: float) -> int | None:
        """Return the fewest votes with which a candidate without a rival is released with `probability`."""
        votes = self.votes_needed(probability)
        return None if votes is None else max(0, votes - self.ahead)

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
        counts = count_votes(shares)
        if counts.total() > self.voters:
            raise ValueError(f"This selection is for at most {self.voters} votes.")
        size, certified = self._law
        if certified is None:
            return self.fallback.draw(shares, noise)
        known: tuple[V, ...] = self.candidates if size else ()
        answers: list[V] = sorted(set(counts) | set(known))
        votes = [counts[answer] + certified.head_start * (answer in known) for answer in answers]
        # The candidates that fill up the number.
        votes += [certified.head_start] * (size - len(known))
        if not votes:
            return None
        tied = [place for place, count in enumerate(votes) if count == max(votes)]
        leader = tied[noise.below(len(tied))]
        law = leader_law(votes, leader, self.voters + size, certified.epsilon, self.delta, certified.head_start)
        chosen = noise.invert(list(accumulate(law)))
        return answers[chosen] if chosen < len(answers) else None

"""BROKEN on purpose: releases of votes that an attack must see through. They show that the attack finds what leaks."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from discreet.algorithms.common.answer import GeneratedAnswer
from discreet.privacy.costs import Cost
from discreet.privacy.filter import PrivacyFilter
from discreet.privacy.noise import Noise
from discreet.privacy.private import Change, Private
from discreet.registry import Consensus, MuRAGAda


@dataclass(frozen=True)
class EveryVote:
    """BROKEN: every answer that a voter gave, without noise and without a threshold."""

    sound: Any

    def cost(self, change: Change) -> Cost:
        """Return the cost of the sound release."""
        cost: Cost = self.sound.cost(change)
        return cost

    def draw(self, shares: Sequence[Any], noise: Noise) -> str | None:
        """Return the votes, the most frequent one first."""
        named = (share if isinstance(share, tuple) else (share,) for share in shares)
        counts = Counter(vote for votes in named for vote in votes if vote)
        return "; ".join(str(vote) for vote, _ in counts.most_common()) or None


@dataclass(frozen=True)
class LeakyFilter:
    """BROKEN: pays for what a release costs, and releases every vote."""

    privacy: PrivacyFilter

    def release(self, mechanism: Any, votes: Private[Any]) -> str | None:
        """Release the votes at the price of the mechanism."""
        return self.privacy.release(EveryVote(mechanism), votes)


@dataclass(frozen=True, kw_only=True)
class BrokenConsensus(Consensus):
    """BROKEN: says what every voter says."""

    def respond(
        self, question: Any, documents: Any, model: Any, privacy: Any, *rest: Any, **more: Any
    ) -> GeneratedAnswer:
        """Answer with a filter that leaks."""
        leaky: Any = LeakyFilter(privacy)
        return super().respond(question, documents, model, leaky, *rest, **more)


def every_vote(*, readings: bool) -> MuRAGAda:
    """Return the default algorithm with the broken release."""
    return MuRAGAda(inner=replace(BrokenConsensus(), readings=readings))

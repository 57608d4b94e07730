"""BROKEN on purpose: releases of votes that an attack must see through. They show that the attack finds what leaks."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from discreet.privacy.change import Change
from discreet.privacy.costs import Cost
from discreet.privacy.filter import PrivacyFilter
from discreet.privacy.mechanisms.counted_answer import CountedAnswer
from discreet.privacy.noise import Noise
from discreet.privacy.private import Private
from discreet.registry import Consensus, MuRAGAda


@dataclass(frozen=True)
class EveryVote:
    """BROKEN: every answer that a voter gave, with its count, without noise and without a threshold."""

    sound: Any

    def cost(self, change: Change) -> Cost:
        """Return the cost of the sound release."""
        cost: Cost = self.sound.cost(change)
        return cost

    def draw(self, shares: Sequence[Any], noise: Noise) -> tuple[CountedAnswer, ...]:
        """Count the votes."""
        counts = Counter(share for share in shares if share)
        return tuple(CountedAnswer(vote, count, count, count) for vote, count in counts.most_common())


@dataclass(frozen=True, kw_only=True)
class BrokenConsensus(Consensus):
    """BROKEN: says what every voter says."""

    def _release(
        self, selection: Any, votes: Private[str | None], privacy: PrivacyFilter
    ) -> tuple[str | None, CountedAnswer | None]:
        released = privacy.release(EveryVote(selection), votes)
        if not released:
            return None, None
        return "; ".join(str(one.answer) for one in released), released[0]


def every_vote(*, readings: bool) -> MuRAGAda:
    """Return the default algorithm with the broken release."""
    return MuRAGAda(inner=replace(BrokenConsensus(), readings=readings))

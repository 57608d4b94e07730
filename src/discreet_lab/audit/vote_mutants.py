"""BROKEN on purpose: releases of votes with one mistake each, which an audit must flag. None is private."""

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Any

from discreet.privacy.costs import Cost, Times
from discreet.privacy.mechanisms.counting import NoisyCount, SecretSample, ThresholdedCounts
from discreet.privacy.mechanisms.leader import LeaderSelection, leader_curve, leader_law
from discreet.privacy.mechanisms.optimal_selection import CountedAnswer, CountedSelection, OptimalSelection, read_curve
from discreet.privacy.mechanisms.order_selection import OrderSelection
from discreet.privacy.noise import WHOLE, Noise
from discreet.privacy.private import Change, Relation
from discreet_lab.audit.case import FAILURE, rho_of
from discreet_lab.audit.mechanisms import MechanismCase
from discreet_lab.audit.votes import leader_at_the_line, list_of, names_of, order_selection_of

ADD_REMOVE = Change(1, Relation.ADD_REMOVE)
COIN = 0.2
MANY = 60
"""So many shares that no count of them is taken for a count of none."""


class SharperCoins:
    """BROKEN: coins whose logit is too large, as of a curve with too large an epsilon."""

    noise: Noise
    part: float

    def toss(self, weight: int) -> bool:
        """Toss a coin that is nearer to certainty."""
        return self.noise.toss(_sharpen(weight, self.part))

    def invert(self, table: Sequence[int]) -> int:
        """Look up a table that is nearer to certainty."""
        return self.noise.invert([_sharpen(entry, self.part) for entry in table])


def _sharpen(weight: int, part: float) -> int:
    if weight in (0, WHOLE):
        return weight
    chance = weight / WHOLE
    logit = (math.log(chance) - math.log1p(-chance)) / part
    return round(WHOLE / (1 + math.exp(min(700.0, -logit))))


class BrokenCandidates(OptimalSelection[str]):
    """BROKEN: the answers of the voters are taken for public candidates."""

    def draw(self, shares: Sequence[str | None], noise: Noise) -> tuple[str, ...]:
        """Give the prior to every answer that a voter gave."""
        named = tuple(sorted({share for share in shares if share is not None}))
        return OptimalSelection[str](self.epsilon, self.delta, named, self.prior).draw(shares, noise)


class BrokenMost(OptimalSelection[str]):
    """BROKEN: of the released answers the most common one, by the sealed counts."""

    def draw(self, shares: Sequence[str | None], noise: Noise) -> tuple[str, ...]:
        """Release one of them."""
        counts = Counter(share for share in shares if share is not None)
        return tuple(sorted(super().draw(shares, noise), key=lambda answer: -counts[answer])[:1])


class BrokenSelectionRelation(OptimalSelection[str]):
    """BROKEN: a replaced vote is charged as one that comes or goes."""

    def cost(self, change: Change) -> Cost:
        """Return half of the cost."""
        return super().cost(ADD_REMOVE)


class BrokenLeader(LeaderSelection):
    """BROKEN: R is left out. The leader has its own curve, and what rivals have comes from that of nothing."""

    def draw(self, shares: Sequence[str | None], noise: Noise) -> str | None:  # type: ignore[override]
        """Give the leader all that the rivals leave, up to its own curve."""
        ranked = Counter(share for share in shares if share is not None).most_common()
        if self.inner is None or not ranked:
            return super().draw(shares, noise)
        law = leader_law([votes for _, votes in ranked], 0, self.voters, self.inner, self.delta)
        law[0] = min(math.floor(self.chance(ranked[0][1]) * WHOLE), WHOLE - sum(law[1:]))
        chosen = noise.invert(list(accumulate(law)))
        return ranked[chosen][0] if chosen < len(ranked) else None


class BrokenRawCounts(LeaderSelection):
    """BROKEN: a candidate has its own curve, but leads and competes by the votes of voters alone."""

    def draw(self, shares: Sequence[str | None], noise: Noise) -> str | None:  # type: ignore[override]
        """Compare the votes of voters, without those that candidates have from the start."""
        ranked = Counter(share for share in shares if share is not None).most_common()
        if self.inner is None or not ranked:
            return super().draw(shares, noise)
        table = leader_curve(self.inner, self.delta)
        alone = [read_curve(table, votes + self.ahead * (name in self.candidates)) / WHOLE for name, votes in ranked]
        weights = [math.exp(self.inner / 2 * votes) for _, votes in ranked]
        law = [min(own, weight / (sum(weights) + self.voters)) for own, weight in zip(alone, weights, strict=True)]
        law[0] = alone[0] * (1 - sum(law[1:]))
        chosen = noise.invert(list(accumulate(math.floor(part * WHOLE) for part in law)))
        return ranked[chosen][0] if chosen < len(ranked) else None


class BrokenInterval(ThresholdedCounts):
    """BROKEN: the interval lies around the count without noise."""

    def draw(self, shares: Sequence[Any], noise: Noise) -> tuple[CountedAnswer, ...]:
        """Put the interval around the sealed count."""
        counts = Counter(value for share in shares for value in share)
        released = super().draw(shares, noise)
        return tuple(replace(one, low=counts[one.answer] - 1, high=counts[one.answer] + 1) for one in released)


class BrokenCountedCandidates(CountedSelection[str]):
    """BROKEN: the answers of the voters are taken for public candidates."""

    def draw(self, shares: Sequence[str | None], noise: Noise) -> tuple[CountedAnswer, ...]:
        """Give a start to every answer that a voter gave."""
        named = sorted({share for share in shares if share is not None})
        return CountedSelection[str](self.epsilon, self.delta).with_candidates(named).draw(shares, noise)


class BrokenThresholdCandidates(ThresholdedCounts):
    """BROKEN: the answers of the voters are taken for public candidates."""

    def draw(self, shares: Sequence[Any], noise: Noise) -> tuple[CountedAnswer, ...]:
        """Hold every answer that a voter gave to the threshold of candidates."""
        named = sorted({value for share in shares for value in share})
        return ThresholdedCounts(self.sigma, self.threshold).with_candidates(named).draw(shares, noise)


class BrokenIdleCandidates(ThresholdedCounts):
    """BROKEN: a candidate without a vote is left out, although its noisy count reaches the threshold at times."""

    def draw(self, shares: Sequence[Any], noise: Noise) -> tuple[CountedAnswer, ...]:
        """Count only the candidates that a voter gave."""
        named = {value for share in shares for value in share}
        heard = tuple(one for one in self.candidates if one in named)
        sound = ThresholdedCounts(self.sigma, self.threshold, self.values, heard, self.prior)
        return sound.draw(shares, noise)


class BrokenKeyCoin(SecretSample[Any, int]):
    """BROKEN: the coin follows from the unit's key."""

    def draw(self, shares: Sequence[tuple[str, bool]], noise: Noise) -> int:
        """Let a unit take part if its key says so."""
        return self.mechanism.draw([yes for key, yes in shares if sum(key.encode()) % 5 == 0], noise)


@dataclass(frozen=True)
class BrokenReuse:
    """BROKEN: one toss of the coins for two questions, each charged as if it had its own."""

    sampled: SecretSample[bool, int]

    def cost(self, change: Change) -> Cost:
        """Return twice the cost of one."""
        return Times(self.sampled.cost(change), 2)

    def draw(self, shares: Sequence[bool], noise: Noise) -> tuple[bool, bool]:
        """Count the same sample twice, and say whether each count is above 0."""
        weight = math.floor(self.sampled.probability * WHOLE)
        sample = [share for share in shares if noise.toss(weight)]
        first, second = (self.sampled.mechanism.draw(sample, noise) for _ in range(2))
        return first > 0, second > 0


@dataclass(frozen=True)
class BrokenOverflow:
    """BROKEN: a number of rows with hardly a tail, whose failure is not paid. Then the taken rows are counted."""

    count: NoisyCount
    tail: int = 1

    def cost(self, change: Change) -> Cost:
        """Return the cost of two counts alone."""
        return Times(self.count.cost(change), 2)

    def draw(self, shares: Sequence[bool], noise: Noise) -> tuple[int, int]:
        """Count the shares, and count them again unless they are more than rows."""
        counted = self.count.draw(shares, noise)
        fits = len(shares) <= counted + self.tail
        return counted, self.count.draw(shares if fits else (), noise)


class BrokenOrderCandidates(OrderSelection[str]):
    """BROKEN: the answers of the voters are taken for public candidates."""

    def draw(self, shares: Sequence[str | None], noise: Noise) -> tuple[str, ...]:
        """Give a start to every answer that a voter gave."""
        named = sorted({share for share in shares if share is not None})
        return OrderSelection[str](self.table, self.delta, self.orders, tuple(named)).draw(shares, noise)


class BrokenEstimate(CountedSelection[str]):
    """BROKEN: the released count is the sealed one; only the selection is random."""

    def draw(self, shares: Sequence[str | None], noise: Noise) -> tuple[CountedAnswer, ...]:
        """Replace the noisy counts."""
        counts = Counter(shares)
        return tuple(replace(one, count=counts[str(one.answer)]) for one in super().draw(shares, noise))


def vote_twins(epsilon: float) -> Iterator[MechanismCase]:
    """Yield the mutants, each with the pair that shows its mistake."""

    def case(name: str, mistake: str, mechanism: Any, first: Any, second: Any, **more: Any) -> MechanismCase:
        return MechanismCase(name, mistake, mechanism, more.pop("change", ADD_REMOVE), first, second, **more)

    yield case(
        "optimal-selection",
        "candidates that the voters name",
        BrokenCandidates(epsilon, FAILURE, prior=0.02),
        (),
        ("y",),
    )
    high = OptimalSelection[str](epsilon, FAILURE).votes_needed(1.0) or 1
    crowd = ("a",) * high + ("b",) * high
    most = BrokenMost(epsilon, FAILURE)
    yield case("optimal-selection", "the most common by sealed counts", most, crowd, (*crowd, "b"))
    sound = OptimalSelection[str](epsilon, FAILURE)
    line = sound.votes_needed(1 / (1 + math.exp(-epsilon))) or 1
    cheap = BrokenSelectionRelation(epsilon, FAILURE)
    common = ("a",) * (line - 1) + ("b",) * (line - 1)
    replaced = Change(1, Relation.REPLACE)
    yield case(
        "optimal-selection",
        "replacement charged as adding",
        cheap,
        (*common, "a"),
        (*common, "b"),
        see=list_of,
        change=replaced,
    )
    honest, line = leader_at_the_line(epsilon)
    led = BrokenLeader(honest.epsilon, honest.delta, honest.voters)
    rivals = (*("a", "b") * line, "a")
    yield case("leader-selection", "the leader takes nothing's part", led, rivals, (*rivals, "b"))
    raw = BrokenRawCounts(honest.epsilon, honest.delta, honest.voters, ("a",))
    sure = raw.candidate_votes_needed(0.95) or 1
    rivals = ("a", "b") * sure
    mistake = "a candidate competes without its start"
    yield case("leader-selection", mistake, raw, (*rivals, "a"), (*rivals, "b"), change=replaced)
    estimate = BrokenEstimate(epsilon, FAILURE)
    yield case("counted-selection", "the sealed count of what is released", estimate, crowd, (*crowd, "b"))
    named = BrokenCountedCandidates(epsilon, FAILURE)
    yield case("counted-selection", "candidates that the voters name", named, (), ("y",))
    curve = order_selection_of(epsilon, ADD_REMOVE)
    started = BrokenOrderCandidates(curve.table, curve.delta, curve.orders)
    yield case("order-selection", "candidates that the voters name", started, (), ("y",))
    counts = ThresholdedCounts.calibrated(rho_of(epsilon), FAILURE, ADD_REMOVE)
    lower = BrokenThresholdCandidates(counts.sigma, counts.threshold)
    yield case("thresholded-counts", "candidates that the voters name", lower, [], [("y",)], see=names_of)
    idle = BrokenIdleCandidates(counts.sigma, counts.threshold, candidates=("y",), prior=0.25)
    yield case("thresholded-counts", "a candidate only if a voter gave it", idle, [], [("y",)], see=names_of)
    broken = BrokenInterval(counts.sigma, counts.threshold)
    many = [("a",)] * math.ceil(counts.threshold + 8 * counts.sigma)
    yield case(
        "thresholded-counts",
        "an interval around the sealed count",
        broken,
        many,
        [*many, ("a",)],
        see=lambda released: tuple(one.low for one in released),
    )
    rows, full = BrokenOverflow(NoisyCount(2 / epsilon)), [True] * MANY
    yield case(
        "noisy-count",
        "overflow that is not paid",
        rows,
        full,
        full[1:],
        see=lambda seen: (seen[0] == MANY - 1 - rows.tail, seen[1] > MANY // 2),
    )
    inner = NoisyCount(1 / math.log1p(math.expm1(epsilon) / COIN))
    keyed = BrokenKeyCoin(inner, COIN)
    yield case("secret-sample", "a coin that follows from the unit's key", keyed, [], [("d", True)], see=_cut)
    reused = BrokenReuse(SecretSample(inner, COIN))
    yield case("secret-sample", "a coin that is reused", reused, [], [True])


def _cut(count: int) -> int:
    return max(-3, min(4, count))

"""Partitions of a question's units into voters, rows and clusters, with the change that one unit makes to each."""

import math
import secrets
from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Generic, NamedTuple, TypeVar

from discreet.errors import DiscreetError
from discreet.privacy.accounting import Spending
from discreet.privacy.costs import Cost, Times, Together
from discreet.privacy.filter import Priced, PrivacyFilter
from discreet.privacy.mechanisms.counting import GaussianCount, NoisyCount
from discreet.privacy.noise import WHOLE, Noise, sample
from discreet.privacy.private import Change, Private, Relation, unseal

_MARGIN = 1.001
"""It covers the error of `lgamma` for up to 10^10 units."""
_STEPS = 60
_MOST_UNITS, _STEP = 100_000, 1.1

Count = NoisyCount | GaussianCount


@dataclass(frozen=True)
class RowShape:
    """The shape of one question: public.

    Attributes:
        number: the number of rows.
        units: if more units are admitted, nothing is read.
        weight: the probability with which each admitted unit takes part, in units of 2^-64.
    """

    number: int
    units: int
    weight: int = WHOLE

    @property
    def probability(self) -> float:
        """The probability with which each admitted unit takes part."""
        return self.weight / WHOLE


@dataclass(frozen=True)
class RowRule:
    """How the number of rows follows from the released count.

    A noisy count of the admitted units is released. With a tail of the noise on top of it, it is the number of rows,
    which is public. If more units are admitted than rows, nothing is read, and nothing but the count is released.

    The work is bounded. Above the largest number of rows, each unit takes part by a fresh secret coin of a public
    probability. If the coins choose more units than rows, again nothing is read.

    What it costs (docs/privacy-details.md, "All admitted units vote"): the count, and a probability of failure that is
    added to the others. At one value of the count alone, a vault with n units overflows and one with n - 1 units
    does not. The noise is then minus the tail, or one less, which has a probability of at most `overflow`. The coins of
    the other units fill all rows with a probability of at most `crowding`. Outside these two events a unit takes a row
    of its own, or leaves it empty, and moves no other unit.

    Attributes:
        count: the count, whose `failure` is that of both events.
        tail: the rows beyond the count.
        crowding: the probability, at most, that the coins of the other units fill all rows.
        most: the largest number of rows.
    """

    count: Count
    tail: int
    crowding: float
    most: int

    @staticmethod
    def of(count: Count, failure: float, most: int) -> "RowRule":
        """Return the rule whose overflow and whose coins fail with at most half of `failure` each."""
        overflow = crowding = failure / 2
        return RowRule(replace(count, failure=failure), count.tail(overflow), crowding, most)

    def rows(self, counted: int) -> RowShape:
        """Return the shape that follows from the released count."""
        units = max(1, counted + self.tail)
        if units <= self.most:
            return RowShape(units, units)
        return RowShape(self.most, units, coin_weight(units, self.most, self.crowding))

    def hold(self, units: int, votes: int) -> bool:
        """Return whether so many of the admitted units take part on average, if the count has no noise."""
        return units * self.rows(units).probability >= votes

    def units_for(self, votes: int) -> int:
        """Return about how many units must be admitted so that `votes` of them take part; `votes` if none are enough.

        It is a plan, without the noise of the count.
        """

        def suffices(units: int) -> bool:
            return self.hold(units, votes)

        if suffices(votes) or votes > self.most + 1:  # the coins let so many take part at most
            return votes
        admitted = [votes]
        while (more := math.ceil(admitted[-1] * _STEP)) < _MOST_UNITS:
            admitted.append(more)
        first = bisect_left(admitted, True, key=suffices)
        return admitted[first] if first < len(admitted) else votes


@lru_cache(maxsize=1024)
def coin_weight(units: int, rows: int, failure: float) -> int:
    """Return a probability in units of 2^-64: others than a given one of `units` fill `rows` with at most `failure`.

    It is the largest, up to the precision of the bound.
    """
    low, high = 0.0, 1.0
    for _ in range(_STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if binomial_tail(units - 1, middle, rows) <= failure else (low, middle)
    return math.floor(low * WHOLE)


def binomial_tail(trials: int, probability: float, least: int) -> float:
    """Return an upper bound of P[Binomial(trials, probability) >= least]; 1 if `least` is not above the mean.

    The ratio of a term to the one before falls. So the tail is at most a geometric series that begins with its first
    term.
    """
    if least > trials or probability <= 0:
        return 0.0
    if probability >= 1 or least <= trials * probability:
        return 1.0
    ratio = (trials - least) / (least + 1) * probability / (1 - probability)
    term = _log_choices(trials, least) + least * math.log(probability) + (trials - least) * math.log1p(-probability)
    return min(1.0, math.exp(term) / (1 - ratio) * _MARGIN)


@lru_cache(maxsize=1024)
def _log_choices(trials: int, chosen: int) -> float:
    """Return the logarithm of the binomial coefficient."""
    return math.lgamma(trials + 1) - math.lgamma(chosen + 1) - math.lgamma(trials - chosen + 1)


S = TypeVar("S")

ADD_REMOVE_ONE = Change(1, Relation.ADD_REMOVE)
"""The effect of one unit on the units above a threshold: it is among them or not."""


REPLACE_ONE = Change(1, Relation.REPLACE)
"""The effect of one unit on a fixed number of slots, filled by rank: without it, another unit takes a slot."""


class Member(NamedTuple, Generic[S]):
    """A value that a unit contributes to a question, with the unit's key in the ledger."""

    key: bytes
    value: S


def together(parts: Sequence[Private[S]]) -> Private[S]:
    """Return the members of several parts without a common unit as one sealed value."""
    return Private([member for part in parts for member in unseal(part, list)], ADD_REMOVE_ONE)


def partition_to_voters(
    members: Private[Member[S]], voters: int, each: int, order: Callable[[S], object]
) -> Private[tuple[S, ...]]:
    """Deal the first `voters * each` members to voters in a uniformly random partition (MuRAG's Algorithm 3).

    Empty slots stay empty, and are not visible. If a unit is removed, another one may take its slot among the first;
    all else stays equal. By coupling the two shuffles, one share differs. Shares keep no trace of rank.

    Args:
        members: the best first.
        voters: the public number of shares.
        each: the public number of slots of a share.
        order: the sort key of values within a share; a function of the value alone.
    """

    def dealt(found: Sequence[Member[S]]) -> list[tuple[S, ...]]:
        slots: list[S | None] = [member.value for member in found[: voters * each]]
        slots += [None] * (voters * each - len(slots))
        secrets.SystemRandom().shuffle(slots)
        return [
            tuple(sorted((value for value in slots[start : start + each] if value is not None), key=order))  # type: ignore[arg-type]
            for start in range(0, voters * each, each)
        ]

    return Private(unseal(members, dealt), REPLACE_ONE)


def partition_to_rows(members: Private[Member[S]], rows: RowShape, noise: Noise) -> Private[tuple[S, ...]]:
    """Give each member a row of its own, in a uniformly random order; return all rows, most of one value or empty.

    If a member is removed, its row is empty, and no other member moves up. So a unit is added or removed, for a release
    that treats an empty row as absent. `RowRule` has the two exceptions, whose probability the released count
    pays: more members than `rows.units`, or more chosen by their coins than rows. Then all rows are empty.

    The coins are tossed here, one for each member. They leave no trace, and no caller can supply one.

    Args:
        members: the admitted units.
        rows: the public shape.
        noise: the source of the coins.

    Raises:
        DiscreetError: if members are not added or removed, but replaced.
    """
    if members.change != ADD_REMOVE_ONE:
        raise DiscreetError(f"Every unit has a row only among units that are added or removed, not {members.change}.")

    def seated(found: Sequence[Member[S]]) -> list[tuple[S, ...]]:
        taking = [member for member in found if noise.toss(rows.weight)]
        fits = len(found) <= rows.units and len(taking) <= rows.number
        slots: list[tuple[S, ...]] = [(member.value,) for member in taking] if fits else []
        slots += [()] * (rows.number - len(slots))
        secrets.SystemRandom().shuffle(slots)
        return slots

    return Private(unseal(members, seated), ADD_REMOVE_ONE)


def assign_rows(
    members: Private[Member[S]], rows: int, noise: Noise, remember: Callable[[dict[int, S]], None]
) -> Private[tuple[int, S]]:
    """Assign each member a row of its own out of 0..rows-1, uniformly at random.

    If a unit is removed, its row is empty, or has a member that was left out before. By coupling the choices, one row
    differs. Only admitted members get rows: a unit that cannot pay takes no row.

    Args:
        members: at most as many as rows.
        rows: the public number of rows.
        noise: the source of randomness for the rows.
        remember: stores the content of each row, for the custodian.
    """

    def seated(found: Sequence[Member[S]]) -> list[tuple[int, S]]:
        taken = sample(range(rows), len(found), noise)
        held = [(row, member.value) for row, member in zip(taken, found, strict=True)]
        remember(dict(held))
        return held

    return Private(unseal(members, seated), REPLACE_ONE)


def partition_by_cluster(
    units: Private[S],
    clusters_of: Callable[[S], Sequence[int]],
    count: int,
    overlap: int,
    *,
    name: Callable[[S], str],
    remember: Callable[[dict[str, list[int]]], dict[str, list[int]]],
) -> list[Private[S]]:
    """Put each unit into clusters 0..count-1. A unit changes its own clusters, and no other.

    Args:
        units: the value of each unit.
        clusters_of: returns the clusters of a unit, best first; a function of the unit and of public values alone.
        count: the number of clusters.
        overlap: the largest number of clusters of a unit.
        name: returns the name of a unit, which is the same when interrupted work resumes.
        remember: stores the clusters of all units at the first call, and returns the stored ones. A unit's documents
            may change before interrupted work resumes, and must not put it into more clusters than were paid.

    Raises:
        DiscreetError: if units are not added or removed, but replaced.
    """
    if units.change != ADD_REMOVE_ONE:
        raise DiscreetError(f"Clusters need units that are added or removed, not {units.change}.")

    def split(shares: Sequence[S]) -> list[list[S]]:
        kept = remember({name(share): list(dict.fromkeys(clusters_of(share)))[:overlap] for share in shares})
        clusters: list[list[S]] = [[] for _ in range(count)]
        for share in shares:
            for cluster in kept.get(name(share), []):
                clusters[cluster].append(share)
        return clusters

    return [Private(shares, ADD_REMOVE_ONE) for shares in unseal(units, split)]


# --- clusters of units, with at most L clusters a unit ----------------------------------------------------------------
# All clusters together cost L times the cost of one: DP-SynRAG, Theorem 1. `partition.partition_by_cluster` decides
# which clusters a unit is in.


@dataclass(frozen=True)
class InEachCluster:
    """The draws in every cluster, as one cost for every unit.

    Attributes:
        what: the description for the receipt.
        drawn: the mechanisms that run in one cluster, each with its number of draws.
        overlap: the largest number of clusters of a unit.
    """

    what: str
    drawn: tuple[tuple[Priced, int], ...]
    overlap: int

    def __str__(self) -> str:
        return f"{self.what}, a unit in at most {self.overlap} cluster{'s' if self.overlap > 1 else ''}"

    def of_one(self, change: Change) -> Cost:
        """Return the cost of one cluster."""
        return Together(tuple(Times(priced.cost(change), times) for priced, times in self.drawn))

    def cost(self, change: Change) -> Cost:
        """Return the cost of all clusters for a unit."""
        return Times(self.of_one(change), self.overlap)


def filters(privacy: PrivacyFilter, each: InEachCluster, count: int) -> list[PrivacyFilter]:
    """Pay for all clusters; return a filter for each, which can spend the cost of one cluster and has its own noise.

    The filters may be used concurrently: the draws of one do not depend on the timing of the others.

    Raises:
        BudgetExhausted: if the budget refuses. Nothing was charged or drawn.
    """
    privacy.pay(each, ADD_REMOVE_ONE)
    most = Spending.of(each.of_one(ADD_REMOVE_ONE))
    return [privacy.within(most, privacy.noise.beside()) for _ in range(count)]

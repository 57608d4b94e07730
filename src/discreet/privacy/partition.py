"""Partitions of a question's units into voters, rows and clusters, with the change that one unit makes to each."""

import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from discreet.errors import DiscreetError
from discreet.privacy.noise import Noise, sample
from discreet.privacy.private import Change, Private, Relation, unseal
from discreet.privacy.rows import Rows

S = TypeVar("S")

ADD_REMOVE_ONE = Change(1, Relation.ADD_REMOVE)
"""The effect of one unit on the units above a threshold: it is among them or not."""


REPLACE_ONE = Change(1, Relation.REPLACE)
"""The effect of one unit on a fixed number of slots, filled by rank: without it, another unit takes a slot."""


@dataclass(frozen=True)
class Member(Generic[S]):
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


def partition_to_rows(members: Private[Member[S]], rows: Rows, noise: Noise) -> Private[tuple[S, ...]]:
    """Give each member a row of its own, in a uniformly random order; return all rows, most of one value or empty.

    If a member is removed, its row is empty, and no other member moves up. So a unit is added or removed, for a release
    that treats an empty row as absent. `privacy.rows` has the two exceptions, whose probability the released count
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
        found: list[list[S]] = [[] for _ in range(count)]
        for share in shares:
            for cluster in kept.get(name(share), []):
                found[cluster].append(share)
        return found

    return [Private(shares, ADD_REMOVE_ONE) for shares in unseal(units, split)]

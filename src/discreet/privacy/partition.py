"""Units of a question, and how they are dealt to voters, rows and clusters; what one unit changes in each."""

import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from discreet.errors import DiscreetError
from discreet.privacy.change import Change, Relation
from discreet.privacy.noise import Noise, sample
from discreet.privacy.private import Private, unseal

S = TypeVar("S")

ADD_REMOVE_ONE = Change(1, Relation.ADD_REMOVE)
"""What one unit does to the units above a threshold: it is among them or not."""


REPLACE_ONE = Change(1, Relation.REPLACE)
"""What one unit does to a fixed number of places, filled by rank: without it, another unit takes one."""


@dataclass(frozen=True)
class Member(Generic[S]):
    """Something that a unit brings to a question, with the unit's key in the ledger."""

    key: bytes
    value: S


def together(parts: Sequence[Private[S]]) -> Private[S]:
    """The members of several parts that have no unit in common, as one."""
    return Private([member for part in parts for member in unseal(part, list)], ADD_REMOVE_ONE)


def partition_to_voters(
    members: Private[Member[S]], voters: int, each: int, order: Callable[[S], object]
) -> Private[tuple[S, ...]]:
    """MuRAG's Algorithm 3, dealt to voters: the first `voters * each` members in a uniformly random partition.

    Places that nobody fills stay empty; that shows nowhere. If a unit goes, another may take its place among the
    first, and nothing else changes: coupling the two shuffles, one share differs. Shares keep no trace of rank.

    Args:
        members: the best first.
        voters: the number of shares, public.
        each: how many places a share has, public.
        order: how values are ordered within a share; of the value alone.
    """

    def dealt(found: Sequence[Member[S]]) -> list[tuple[S, ...]]:
        places: list[S | None] = [member.value for member in found[: voters * each]]
        places += [None] * (voters * each - len(places))
        secrets.SystemRandom().shuffle(places)
        return [
            tuple(sorted((value for value in places[start : start + each] if value is not None), key=order))  # type: ignore[arg-type]
            for start in range(0, voters * each, each)
        ]

    return Private(unseal(members, dealt), REPLACE_ONE)


def assign_rows(
    members: Private[Member[S]], rows: int, noise: Noise, remember: Callable[[dict[int, S]], None]
) -> Private[tuple[int, S]]:
    """Members in rows of their own, out of 0..rows-1, uniformly at random.

    If a unit goes, its row is empty, or one that found no place has it: coupling the choices, one row differs. Rows
    are given to those who were admitted: whoever cannot pay takes nobody's.

    Args:
        members: no more than there are rows.
        rows: how many rows there are, public.
        noise: from which rows are drawn.
        remember: keeps what is in which row, for the custodian.
    """

    def seated(found: Sequence[Member[S]]) -> list[tuple[int, S]]:
        taken = sample(range(rows), len(found), noise)
        held = [(row, member.value) for row, member in zip(taken, found, strict=True)]
        remember(dict(held))
        return held

    return Private(unseal(members, seated), REPLACE_ONE)


def partition_by_cluster(
    units: Private[S],
    places: Callable[[S], Sequence[int]],
    count: int,
    overlap: int,
    *,
    name: Callable[[S], str],
    remember: Callable[[dict[str, list[int]]], dict[str, list[int]]],
) -> list[Private[S]]:
    """Put each unit into clusters 0..count-1; one that comes or goes does so in its own, and changes no other.

    Args:
        units: what each unit brings.
        places: the clusters of a unit, best first; of it and of public values alone.
        count: how many clusters there are.
        overlap: so many of its places count.
        name: what a unit is called, the same whenever the work is taken up again.
        remember: keeps the places of all units when they are found first, and returns those that it kept: work that
            is taken up again after a unit's documents changed must not put it into more clusters than were paid.
    """
    if units.change != ADD_REMOVE_ONE:
        raise DiscreetError(f"Clusters are made of units that come or go, not of {units.change}.")

    def split(shares: Sequence[S]) -> list[list[S]]:
        kept = remember({name(share): list(dict.fromkeys(places(share)))[:overlap] for share in shares})
        found: list[list[S]] = [[] for _ in range(count)]
        for share in shares:
            for place in kept.get(name(share), []):
                found[place].append(share)
        return found

    return [Private(shares, ADD_REMOVE_ONE) for shares in unseal(units, split)]

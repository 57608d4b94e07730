"""Per-unit payment: only those individuals pay whose documents a question could have used.

Feldman and Zrnic, "Individual Privacy Accounting via a Renyi Filter" (2021), Corollary 3.3. What makes it sound:

- Who takes part is decided for each unit by itself, from public values and what that unit has paid before: never by
  rank, never by who else is there. With one unit gone, all others' payments, balances and admissions are the same.
- **Everybody admitted pays, used or not**, and at the question's ceiling, durably, before any noise is drawn. What
  was not spent is returned afterwards; how much that is follows from released values.
- A unit that cannot pay was never admitted. Nothing stops, fails or is said because of it.

`UnitFilter` belongs to one question, as `PrivacyFilter` does to one of corpus-wide payment.
"""

import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from discreet.errors import DiscreetError
from discreet.privacy.accounting import Budget, Spending
from discreet.privacy.change import Change, Relation
from discreet.privacy.filter import PrivacyFilter, Receipt
from discreet.privacy.ledger import APART, UnitLedger
from discreet.privacy.noise import Noise, SystemNoise, sample
from discreet.privacy.private import Private, unseal
from discreet.privacy.reservation import Reservation

S = TypeVar("S")

PRESENCE = Change(1, Relation.ADD_REMOVE)
"""What one unit does to the units above a threshold: it is among them or not."""

PLACE = Change(1, Relation.REPLACE)
"""What one unit does to a fixed number of places, filled by rank: without it, another unit takes one."""


@dataclass(frozen=True)
class Member(Generic[S]):
    """Something that a unit brings to a question, with the unit's key in the ledger."""

    key: bytes
    value: S


class UnitFilter:
    """Admits units to a question, has them pay, and lets mechanisms open what they bring.

    A question may have several parts, each with its own admission. Parts whose units have none in common
    (`apart=True`) cost any unit no more than the dearest of them.
    """

    def __init__(
        self,
        ledger: UnitLedger,
        question: str,
        *,
        ceiling: Budget | None = None,
        unit: str = "document",
        noise: Noise | None = None,
    ) -> None:
        """For one question.

        Args:
            ledger: who has paid what.
            question: its id.
            ceiling: the question's own budget, by which its receipt counts; the ledger's if not given.
            unit: what a unit is called.
            noise: the operating system's, unless this is a simulation.
        """
        self._ceiling = ceiling or ledger.budget
        self.noise = noise or SystemNoise()
        if not (self.noise.secure or ledger.simulation):
            raise DiscreetError("Insecure noise is for simulations; a real vault draws from the operating system.")
        self._ledger, self._question, self._unit = ledger, question, unit
        self._parts: dict[int, Reservation] = {}
        self._everybody = False

    @property
    def budget(self) -> Budget:
        """What every unit may spend."""
        return self._ledger.budget

    def admit(
        self, members: Private[Member[S]], most: Spending, *, apart: bool = False, again: bool = False
    ) -> tuple[Private[Member[S]], PrivacyFilter]:
        """Admit those members that can pay `most`, and have all of them pay it.

        Args:
            members: of each unit, the first counts; who is among them must be decided unit by unit.
            most: what the part may cost at most.
            apart: whether no unit of this part is in another part with this mark.
            again: whether those are admitted who paid for this part before, if it was reserved before: for work that
                was interrupted (see `PrivacyFilter`).

        Returns:
            the admitted members, in the order in which they came, and the filter to spend `most` with.
        """
        part = self._number(apart)

        def paying(found: Sequence[Member[S]]) -> list[Member[S]]:
            # Each unit once, whatever was handed in: two places for one unit would be two shares that it changes.
            once = {member.key: member for member in reversed(found)}
            before = self._ledger.payers(self._question, part) if again else None
            admitted = before if before is not None else self._ledger.reserve(self._question, part, most, list(once))
            return [member for member in found if member.key in admitted and once[member.key] is member]

        if members.change != PRESENCE:
            # Payment by rank: with one unit gone, another would pay in its place.
            raise DiscreetError(f"Units are admitted from those above a threshold, not by {members.change}.")
        return Private(unseal(members, paying), PRESENCE), self._part(part, most)

    def admit_everybody(
        self, nearest: Callable[[int], Private[Member[S]]], places: int, most: Spending
    ) -> tuple[Private[Member[S]], PrivacyFilter]:
        """Have every unit of the vault pay `most`; the nearest of those that could.

        Args:
            nearest: the nearest members, so many of them, nearest first.
            places: how many are wanted.
            most: what the question may cost at most.

        Raises:
            BudgetExhausted: nobody could pay. That is public: it follows from what everybody paid.
        """
        self._everybody = True
        part = self._number(apart=False)
        excluded = self._ledger.reserve_all(self._question, part, most)
        found = unseal(
            nearest(places + len(excluded)),
            lambda members: [member for member in members if member.key not in excluded][:places],
        )
        return Private(found, PLACE), self._part(part, most)

    def settle(self) -> None:
        """Return what was reserved and not spent, when the question is over."""
        # The last first: a ledger has less to write as long as no other was settled in between.
        for part, reservation in reversed(self._parts.items()):
            self._ledger.settle(self._question, part, reservation.spent(), reservation.charges)

    def receipt(self) -> Receipt:
        """What the question cost any one unit at most."""
        charges = tuple(charge for reservation in self._parts.values() for charge in reservation.charges)
        return Receipt(
            epsilon=self._ceiling.spent(self.spent()) if charges else 0.0,
            delta=self._ceiling.delta if charges else 0.0,
            relation="add-remove",
            unit=self._unit,
            charges=charges,
            accountant=f"{self.budget.accountant} filter for each unit",
            noise=type(self.noise).__name__,
            payment="every unit" if self._everybody else "each unit that took part",
            each=self._most_charges(),
        )

    def spent(self) -> Spending:
        """The most that any one unit has paid so far."""
        together, apart = Spending.nothing(), Spending.nothing()
        for part, reservation in self._parts.items():
            if part >= APART:
                apart = apart.or_more(reservation.spent())
            else:
                together = together + reservation.spent()
        return together + apart

    def _most_charges(self) -> int:
        made = [(part >= APART, len(reservation.charges)) for part, reservation in self._parts.items()]
        return sum(count for apart, count in made if not apart) + max((n for apart, n in made if apart), default=0)

    def _number(self, apart: bool) -> int:
        return len(self._parts) + (APART if apart else 0)

    def _part(self, part: int, most: Spending) -> PrivacyFilter:
        self._parts[part] = reservation = Reservation(most, self.budget, simulation=self._ledger.simulation)
        return PrivacyFilter(reservation, self.budget, self._question, unit=self._unit, noise=self.noise)


def together(parts: Sequence[Private[S]]) -> Private[S]:
    """The members of several parts that have no unit in common, as one."""
    return Private([member for part in parts for member in unseal(part, list)], PRESENCE)


def deal(members: Private[Member[S]], voters: int, each: int, order: Callable[[S], object]) -> Private[tuple[S, ...]]:
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

    return Private(unseal(members, dealt), PLACE)


def seats(
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

    return Private(unseal(members, seated), PLACE)


def clusters(
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
    if units.change != PRESENCE:
        raise DiscreetError(f"Clusters are made of units that come or go, not of {units.change}.")

    def split(shares: Sequence[S]) -> list[list[S]]:
        kept = remember({name(share): list(dict.fromkeys(places(share)))[:overlap] for share in shares})
        found: list[list[S]] = [[] for _ in range(count)]
        for share in shares:
            for place in kept.get(name(share), []):
                found[place].append(share)
        return found

    return [Private(shares, PRESENCE) for shares in unseal(units, split)]

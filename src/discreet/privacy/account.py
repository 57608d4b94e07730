"""The payment policy: which units pay for a question. It is in this module alone.

An algorithm asks an account for units that have paid, and for a filter that spends the payment. It does not know which
units pay. There are four accounts:

    CorpusAccount   every unit of the vault pays for every release, when it is drawn
    UnitAccount     each unit pays for the questions in which it takes part
    FreeAccount     opens no value, charges no unit
    UnpaidAccount   opens values without payment and without a guarantee: for baselines
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar, Protocol, TypeVar

from discreet.errors import DiscreetError
from discreet.privacy.accounting import Budget, Spending
from discreet.privacy.costs import Cost, Together
from discreet.privacy.filter import (
    APART,
    Ledger,
    NotPrivateFilter,
    PrivacyFilter,
    Receipt,
    ReservationLedger,
    UnitLedger,
)
from discreet.privacy.noise import Noise, SystemNoise
from discreet.privacy.partition import ADD_REMOVE_ONE, REPLACE_ONE, Member
from discreet.privacy.private import Change, Private, unseal

S = TypeVar("S")


class Payment(StrEnum):
    """The payment of an algorithm. An algorithm that does not declare one is refused.

    Attributes:
        EVERY_UNIT: it charges all units alike (`Account.charge_every_unit`). It runs in every vault.
        EACH_UNIT: it charges the units that take part (`Account.admit`). It runs in vaults with per-unit payment.
        NOTHING: it charges no unit, since it reads no document or gives no guarantee.
    """

    EVERY_UNIT = "every unit"
    EACH_UNIT = "each unit that takes part"
    NOTHING = "nothing"


class PayingUnits:
    """The units that pay when every unit is charged, and the filter that spends their payment.

    A unit whose balance is too small does not pay. `among` and `nearest` leave out its documents.

    Attributes:
        paid: the filter.
    """

    def __init__(self, paid: PrivacyFilter, unable: frozenset[bytes] = frozenset()) -> None:
        self.paid, self._unable = paid, unable

    def among(self, members: Private[Member[S]]) -> Private[Member[S]]:
        """Return the members that pay. Each is admitted by its own balance alone.

        Raises:
            PrivateValueError: if `members` are chosen by rank. `nearest` replaces those that cannot pay.
        """
        unable = self._unable
        return members.keep(lambda member: member.key not in unable) if unable else members

    def nearest(self, find: Callable[[int], Private[Member[S]]], count: int) -> Private[Member[S]]:
        """Return the nearest members that pay, nearest first: at most `count`.

        Args:
            find: returns the given number of nearest members, nearest first.
            count: the public number of members to return.
        """
        unable = self._unable
        nearest_units = unseal(
            find(count + len(unable)),
            lambda members: [member for member in members if member.key not in unable][:count],
        )
        return Private(nearest_units, REPLACE_ONE)


class Account(Protocol):
    """The interface of accounts: an account charges the units of a vault for one question."""

    @property
    def budget(self) -> Budget:
        """The most that any unit may spend in all its questions."""

    @property
    def noise(self) -> Noise:
        """The source of randomness of the mechanisms."""

    def admit(
        self, members: Private[Member[S]], most: Spending, *, disjoint: bool = False
    ) -> tuple[Private[Member[S]], PrivacyFilter]:
        """Charge those of `members` that can pay `most`; return them and the filter that spends it.

        Args:
            members: chosen unit by unit, by public values: above a threshold, never by rank.
            most: the most that this part of the question may cost a unit.
            disjoint: whether no unit is in two parts with this mark. A unit then pays for the dearest of its parts.

        Raises:
            DiscreetError: if units do not pay individually in this vault.
        """

    def charge_every_unit(self, most: Spending) -> PayingUnits:
        """Charge every unit of the vault up to `most`; return those that pay and the filter that spends it.

        Raises:
            BudgetExhausted: if even a unit without earlier payments could not pay. This fact is public.
        """

    def unpaid(self) -> PrivacyFilter:
        """Return a filter that opens values without payment.

        Raises:
            DiscreetError: if the algorithm has a guarantee, so that it must pay.
        """

    def settle(self) -> None:
        """Return to the units what was reserved and not spent. Call it once, when the question is over."""

    def receipt(self) -> Receipt:
        """Return what the question cost any one unit at most."""


@dataclass(frozen=True)
class _Forfeited:
    """A payment without a draw, of a question that failed on documents."""

    most: Cost

    def cost(self, change: Change) -> Cost:
        """Return what the question could have cost."""
        return self.most

    def __str__(self) -> str:
        return "no answer: the question failed on documents"


class _OneFilter:
    """An account whose payments, if there are any, go through one filter. Parameters: see `CorpusAccount`."""

    _filters: ClassVar[type[PrivacyFilter]] = PrivacyFilter

    def __init__(
        self, ledger: Ledger, ceiling: Budget, question: str, *, unit: str = "document", noise: Noise | None = None
    ) -> None:
        self._ledger = ledger
        self._filter = self._filters(ledger, ceiling, question, unit=unit, noise=noise)

    @property
    def budget(self) -> Budget:
        """The most that any unit may spend in all its questions."""
        return self._ledger.budget

    @property
    def noise(self) -> Noise:
        """The source of randomness of the mechanisms."""
        return self._filter.noise

    def settle(self) -> None:
        """Do nothing: nothing was reserved."""

    def receipt(self) -> Receipt:
        """Return the cost of the question for every unit; of a baseline, a receipt without a guarantee."""
        return self._filter.receipt()


class CorpusAccount(_OneFilter):
    """The account of a question for which every unit of the vault pays, within the question's own budget.

    Args:
        ledger: the record of all charges.
        ceiling: the question's own budget.
        question: the question's id in the ledger.
        unit: the word for a privacy unit on the receipt.
        noise: the operating system's if None; seeded noise needs a ledger of a simulation.
    """

    def admit(
        self, members: Private[Member[S]], most: Spending, *, disjoint: bool = False
    ) -> tuple[Private[Member[S]], PrivacyFilter]:
        """Refuse: units have no balance of their own in this vault."""
        raise DiscreetError(
            "In this vault every unit pays for every question. Use an algorithm that charges all units."
        )

    def charge_every_unit(self, most: Spending) -> PayingUnits:
        """Return all units. They pay for each release when it is drawn; `most` is not reserved."""
        return PayingUnits(self._filter)

    def unpaid(self) -> PrivacyFilter:
        """Refuse: an algorithm with a guarantee must pay."""
        raise must_pay()

    def forfeit(self, costs: Sequence[Cost]) -> None:
        """Charge every unit what a question could have cost, since it failed on documents: the engine, or another step.

        Otherwise a failure that a document causes could be asked for again and again, for nothing.

        Args:
            costs: those of the plan, in its order. What the question has paid already counts: its ceiling is the most.

        Raises:
            BudgetExhausted: if another question has used up the budget. The caller shows this in place of the failure,
                since the same question would show it if it had not failed.
        """
        for cost in self._unpaid(costs):
            self._filter.pay(_Forfeited(cost), REPLACE_ONE)

    def check_not_free(self, costs: Sequence[Cost]) -> None:
        """Refuse an answer that paid nothing if `forfeit` would be refused: else a failure would show for nothing.

        Raises:
            BudgetExhausted: if another question has used up the budget.
        """
        for cost in self._unpaid(costs)[:1]:
            if not self._filter.receipt().charges and not self._ledger.affords(Spending.of(cost)):
                self.forfeit([cost])  # which is refused

    def _unpaid(self, costs: Sequence[Cost]) -> list[Cost]:
        # From the last one: a question pays in the order of its plan, so those are the ones that it has not paid.
        parts = [part for cost in costs for part in (cost.costs if isinstance(cost, Together) else [cost])]
        unpaid, total = list[Cost](), self._filter.receipt().spending or Spending.nothing()
        for cost in reversed(parts):
            if self._filter.ceiling.admits(more := total + Spending.of(cost)):
                unpaid, total = [cost, *unpaid], more
        return unpaid


class FreeAccount(CorpusAccount):
    """The account of an algorithm with a guarantee that reads no document: it opens no value and charges no unit."""

    def charge_every_unit(self, most: Spending) -> PayingUnits:
        """Refuse: the algorithm declares that it charges nothing."""
        raise DiscreetError("The algorithm declares Payment.NOTHING, and charges units. Declare how it pays.")


class UnpaidAccount(_OneFilter):
    """The account of a baseline, without payment and guarantee. Parameters: see `CorpusAccount`."""

    _filters = NotPrivateFilter

    def admit(
        self, members: Private[Member[S]], most: Spending, *, disjoint: bool = False
    ) -> tuple[Private[Member[S]], PrivacyFilter]:
        """Refuse: a baseline charges nothing."""
        raise pays_nothing()

    def charge_every_unit(self, most: Spending) -> PayingUnits:
        """Refuse: a baseline charges nothing."""
        raise pays_nothing()

    def unpaid(self) -> PrivacyFilter:
        """Return the filter that opens values without payment."""
        return self._filter


def must_pay() -> DiscreetError:
    """Return the error for opening a private value without payment."""
    return DiscreetError("An algorithm with a guarantee must pay before it opens a private value. Charge the account.")


def pays_nothing() -> DiscreetError:
    """Return the error for charging units for an algorithm without a guarantee."""
    return DiscreetError("An algorithm without a guarantee charges nothing. Use `account.unpaid()`.")


# --- per-unit payment: a unit pays only for the questions that could have used its documents --------------------------
# Feldman and Zrnic, "Individual Privacy Accounting via a Renyi Filter" (2021), Corollary 3.3. It is sound because:
#
# - Admission is decided for each unit on its own, from public values and the unit's earlier payments. It never depends
#   on rank or on the presence of other units. Without one unit, the payments, balances and admissions of all others are
#   the same.
# - **Every admitted unit pays, used or not.** It pays the question's ceiling, durably, before any noise is drawn. The
#   unspent part is returned afterwards; released values alone determine it.
# - A unit that cannot pay is not admitted. This stops, fails or shows nothing.
#
# `UnitAccount` belongs to one question, as `account.CorpusAccount` does where every unit pays.


class UnitAccount:
    """The account of one question with per-unit payment.

    It admits and charges units, and lets mechanisms open their shares. A question may have several parts, each with its
    own admission. Disjoint parts cost any unit no more than the dearest of them.
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
        """Open the account of one question.

        Args:
            ledger: the record of all charges.
            question: the question's id in the ledger.
            ceiling: the question's own budget, by which its receipt counts; the ledger's if None.
            unit: the word for a privacy unit on the receipt.
            noise: the operating system's if None; seeded noise needs a ledger of a simulation.
        """
        self._ceiling = ceiling or ledger.budget
        self.noise = noise or SystemNoise()
        if not (self.noise.secure or ledger.simulation):
            raise DiscreetError("Insecure noise is for simulations; a real vault needs `SystemNoise`.")
        self._ledger, self._question, self._unit = ledger, question, unit
        self._parts: dict[int, ReservationLedger] = {}
        self._every_unit = False

    @property
    def budget(self) -> Budget:
        """The most that any unit may spend in all its questions."""
        return self._ledger.budget

    def admit(
        self, members: Private[Member[S]], most: Spending, *, disjoint: bool = False, again: bool = False
    ) -> tuple[Private[Member[S]], PrivacyFilter]:
        """Charge those of `members` that can pay `most`; return them and the filter that spends it.

        Args:
            members: chosen unit by unit, by public values; of each unit, the first counts.
            most: the most that this part of the question may cost a unit.
            disjoint: whether no unit of this part is in another part with this mark.
            again: whether a part that was reserved before admits its earlier payers, for interrupted work (see
                `PrivacyFilter`).

        Returns:
            the admitted members, in the order of `members`, and the filter that spends `most`.

        Raises:
            DiscreetError: if `members` are chosen by rank.
        """
        part = self._number(disjoint)

        def paying(found: Sequence[Member[S]]) -> list[Member[S]]:
            # Each unit counts once. A unit with two members could change two shares.
            once = dict[bytes, Member[S]]()
            for member in found:
                once.setdefault(member.key, member)
            before = self._ledger.payers(self._question, part) if again else None
            admitted = before if before is not None else self._ledger.reserve(self._question, part, most, list(once))
            return [member for key, member in once.items() if key in admitted]

        if members.change != ADD_REMOVE_ONE:
            # With payment by rank, the removal of one unit would make another unit pay.
            raise DiscreetError(f"Only units above a threshold can be admitted, not values with {members.change}.")
        admitted = Private(unseal(members, paying), ADD_REMOVE_ONE)
        paid = self._part(part, most)
        paid.unable = self._ledger.unable(self._question, part)
        return admitted, paid

    def charge_every_unit(self, most: Spending) -> PayingUnits:
        """Charge every unit of the vault `most`, later ones included; return those that pay and the filter.

        Raises:
            BudgetExhausted: if even a unit without earlier payments could not pay. This fact is public.
        """
        self._every_unit = True
        part = self._number(disjoint=False)
        unable = self._ledger.reserve_all(self._question, part, most)
        return PayingUnits(self._part(part, most), unable)

    def unpaid(self) -> PrivacyFilter:
        """Refuse: an algorithm with a guarantee must pay."""
        raise must_pay()

    def settle(self) -> None:
        """Return to the units what was reserved and not spent. Call it once, when the question is over."""
        # The reverse order saves writes: a ledger writes less if no other part was settled in between.
        for part, reservation in reversed(self._parts.items()):
            reservation.settled = True
            self._ledger.settle(self._question, part, reservation.spent(), reservation.charges, reservation.payers)

    def receipt(self) -> Receipt:
        """Return what the question cost any one unit at most."""
        charges = tuple(charge for reservation in self._parts.values() for charge in reservation.charges)
        return Receipt(
            epsilon=self._ceiling.spent(self.spent()) if charges else 0.0,
            delta=self._ceiling.delta if charges else 0.0,
            relation="add-remove",
            unit=self._unit,
            charges=charges,
            accountant=f"{self.budget.accountant} filter for each unit",
            noise=type(self.noise).__name__,
            payment="every unit" if self._every_unit else "each unit that took part",
            each=self._most_charges(),
            spending=self._of_one_unit(ReservationLedger.kept),
        )

    def spent(self) -> Spending:
        """Return the most that any one unit has paid so far."""
        return self._of_one_unit(ReservationLedger.spent)

    def reserved(self) -> Spending:
        """Return the most that was reserved of any one unit. It stays paid if the question is not settled."""
        return self._of_one_unit(lambda reservation: reservation.most)

    def _of_one_unit(self, paid: Callable[[ReservationLedger], Spending]) -> Spending:
        together, disjoint = Spending.nothing(), Spending.nothing()
        for part, reservation in self._parts.items():
            if part >= APART:
                disjoint = disjoint.or_more(paid(reservation))
            else:
                together = together + paid(reservation)
        return together + disjoint

    def _most_charges(self) -> int:
        counts = [(part >= APART, len(reservation.charges)) for part, reservation in self._parts.items()]
        together = sum(count for disjoint, count in counts if not disjoint)
        return together + max((count for disjoint, count in counts if disjoint), default=0)

    def _number(self, disjoint: bool) -> int:
        return len(self._parts) + (APART if disjoint else 0)

    def _part(self, part: int, most: Spending) -> PrivacyFilter:
        self._parts[part] = reservation = ReservationLedger(most, self.budget, simulation=self._ledger.simulation)
        return PrivacyFilter(reservation, self.budget, self._question, unit=self._unit, noise=self.noise)

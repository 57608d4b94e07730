"""Per-unit payment: a unit pays only for the questions that could have used its documents.

Feldman and Zrnic, "Individual Privacy Accounting via a Renyi Filter" (2021), Corollary 3.3. It is sound because:

- Admission is decided for each unit on its own, from public values and the unit's earlier payments. It never depends on
  rank or on the presence of other units. Without one unit, the payments, balances and admissions of all others are the
  same.
- **Every admitted unit pays, used or not.** It pays the question's ceiling, durably, before any noise is drawn. The
  unspent part is returned afterwards; released values alone determine it.
- A unit that cannot pay is not admitted. This stops, fails or shows nothing.

`UnitAccount` belongs to one question, as `account.CorpusAccount` does where every unit pays.
"""

from collections.abc import Callable, Sequence
from typing import TypeVar

from discreet.errors import DiscreetError
from discreet.privacy.account import PayingUnits, must_pay
from discreet.privacy.accounting import Budget, Spending
from discreet.privacy.filter import APART, PrivacyFilter, Receipt, ReservationLedger, UnitLedger
from discreet.privacy.noise import Noise, SystemNoise
from discreet.privacy.partition import ADD_REMOVE_ONE, Member
from discreet.privacy.private import Private, unseal

S = TypeVar("S")


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
            once = {member.key: member for member in reversed(found)}
            before = self._ledger.payers(self._question, part) if again else None
            admitted = before if before is not None else self._ledger.reserve(self._question, part, most, list(once))
            return [member for member in found if member.key in admitted and once[member.key] is member]

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

"""The only access to a private value: a durable payment first, and the draw afterwards.

`PrivacyFilter` belongs to one question. It has a budget of its own (the question's ceiling), and charges a ledger with
the vault's budget. Both must admit a charge. A charge is durable before noise is drawn: a crash may lose an answer, but
never an entry. With payment by units, the durable step is `UnitAccount.admit` (or `charge_every_unit`), and the filter
spends that reservation in memory.
"""

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Generic, Literal, Protocol, TypeVar

from discreet.errors import BudgetExhausted, DiscreetError, LedgerError, PrivateValueError
from discreet.privacy.accounting import Budget, FilterState, Spending
from discreet.privacy.costs import Claimed, Cost
from discreet.privacy.noise import Noise, SystemNoise
from discreet.privacy.private import Change, Private, unseal
from discreet.privacy.transcript import APART as APART
from discreet.privacy.transcript import Transcript
from discreet.system.markup import fill
from discreet.system.plain import Sparse, Unbounded, show_as, to_plain

_FINISHED = "The corpus of this run was written. To make another one, remove VAULT/synthesis/run.jsonl, an older copy."


@dataclass(frozen=True)
class Charge:
    """One payment.

    Attributes:
        question: the id of the question that pays.
        number: the rank among the question's charges, from 0. (question, number) is charged once, regardless of the
            number of requests.
        mechanism: the mechanism that ran, with its public parameters.
        change: the change that a neighbouring vault could make to its input.
        cost: the cost of the draw.
    """

    question: str
    number: int
    mechanism: str
    change: Change
    cost: Cost

    def describe(self) -> dict[str, object]:
        """Return the charge as plain data, for a receipt."""
        return {"mechanism": self.mechanism, "change": str(self.change), "cost": self.cost.describe()}


class Ledger(Protocol):
    """A record of charges against one budget that all units share (corpus-wide payment)."""

    @property
    def budget(self) -> Budget:
        """The grant; it never changes."""

    @property
    def simulation(self) -> bool:
        """Whether this is a copy for experiments, in which insecure noise is allowed."""

    def spent(self) -> Spending:
        """Return the sum of all charges so far."""

    def affords(self, extra: Spending) -> bool:
        """Return whether `extra` could be charged now."""

    def charge(self, charge: Charge) -> bool:
        """Record a charge durably, or refuse it, atomically. The call is idempotent under (question, number).

        Return whether the charge is new. False means that it was paid, and perhaps drawn, before.

        Raises:
            BudgetExhausted: if the sum would exceed the budget. Nothing was recorded.
            LedgerError: if units pay individually in this vault, or the ledger cannot be written. Nothing was recorded.
        """


class UnitLedger(Ledger, Protocol):
    """A ledger that also records the payments of single units (per-unit payment; Feldman and Zrnic 2021).

    A unit is named by a keyed hash, which reveals nothing about the unit. Its spending is the common spending of all
    units (`spent`) plus its own payments. Each unit's ability to pay is decided by its own balance alone. No operation
    may make it depend on another unit. The payments of one unit, and the set of admitted units, are private.

    A question pays in parts. Each part is reserved at its ceiling before noise is drawn, and settled when the question
    is over.
    """

    def reserve(self, question: str, part: int, most: Spending, units: Sequence[bytes]) -> frozenset[bytes]:
        """Charge `most` durably to those of `units` that can pay it. Return them; the others pay nothing.

        Raises:
            LedgerError: if this part of the question was reserved before, or the ledger cannot be written.
        """

    def unable(self, question: str, part: int) -> int | None:
        """Return how many units at most could not pay when this process reserved a part: public (`Transcript`).

        None: it may be any number, or is not known any more.
        """

    def payers(self, question: str, part: int) -> frozenset[bytes] | None:
        """Return the units that pay for a part that was reserved before; None if it was not, or every unit pays."""

    def reserve_all(self, question: str, part: int, most: Spending) -> frozenset[bytes]:
        """Charge `most` durably to all units, also to those added later. Return the units that cannot pay.

        Raises:
            BudgetExhausted: if even a unit without payments of its own could not pay (public). Nothing was recorded.
            LedgerError: if this part of the question was reserved before, or the ledger cannot be written.
        """

    def settle(
        self, question: str, part: int, spent: Spending, charges: Sequence[Charge] = (), payers: int | None = None
    ) -> None:
        """Return to all payers of a part the reserved amount beyond `spent`, and record the charges.

        `spent` and `payers`, the most units that paid, must follow from released values alone. A second call with the
        same `spent` changes nothing. The call need not be durable: if it is lost, the ledger counts too much as spent,
        never too little.

        Raises:
            LedgerError: if the part was never reserved, was settled with another sum, or spent more than reserved.
        """

    def finish_run(self, question: str) -> None:
        """Record durably that a synthetic corpus was written. Its payments stand for no draw any more.

        Raises:
            LedgerError: if the ledger cannot be written.
        """

    def merge(self, pairs: Sequence[tuple[bytes, bytes]]) -> int:
        """Move the payments of the first of each pair of units to the second, durably and atomically.

        The first is a name that no unit has any more. Its parts can still be settled. A second call with the same pairs
        changes nothing. Return the number of moved balances.
        """

    def unit_balances(self) -> Sequence[tuple[FilterState, int]]:
        """Return the filter states of units with payments of their own: (state, number of units with it).

        The result is for the custodian alone.
        """


class MemoryLedger:
    """A ledger in memory, for tests and simulations. It supports per-unit payment, too."""

    def __init__(self, budget: Budget, *, simulation: bool = True) -> None:
        self.budget = budget
        self.simulation = simulation
        self.charges: dict[tuple[str, int], Charge] = {}
        self._spent = Spending.nothing()
        self._units: dict[bytes, FilterState] = {}
        self._parts: dict[tuple[str, int], _Part] = {}
        self._merged, self._finished = dict[bytes, bytes](), set[str]()
        self._transcript, self._unable = Transcript(), dict[tuple[str, int], int | None]()

    def spent(self) -> Spending:
        """Return the sum of all charges so far."""
        return self._spent

    def affords(self, extra: Spending) -> bool:
        """Return whether `extra` could be charged now."""
        return self.budget.admits(self._spent + extra)

    def charge(self, charge: Charge) -> bool:
        """Record a charge, or refuse it."""
        key = (charge.question, charge.number)
        if key in self.charges:
            if Spending.of(self.charges[key].cost) != Spending.of(charge.cost):
                raise LedgerError("This charge was recorded before with another cost. Nothing was released.")
            check_not_finished(charge.question in self._finished)
            return False
        if any(part.paying is not None for part in self._parts.values()):
            raise units_pay()
        total = self._spent + Spending.of(charge.cost)
        if not self.budget.admits(total):
            raise exhausted(self.budget, self._spent, total)
        self.charges[key], self._spent = charge, total
        return True

    def reserve(self, question: str, part: int, most: Spending, units: Sequence[bytes]) -> frozenset[bytes]:
        """Charge those of `units` that can pay; return them."""
        self._new(question, part)
        cost = self.budget.filter_state(most)
        common = self.budget.filter_state(self._spent) + cost
        able = (u for u in units if self.budget.admits_state(common + self._units.get(u, FilterState())))
        paying = frozenset(unit for unit in able if unit not in self._merged)
        for unit in paying:
            self._units[unit] = self._units.get(unit, FilterState()) + cost
        self._parts[question, part] = _Part(most, paying)
        self._unable[question, part] = self._transcript.unable(self.budget.limit, common)
        self._transcript.reserve(cost, question, part)
        return paying

    def unable(self, question: str, part: int) -> int | None:
        """Return how many units at most could not pay when a part was reserved."""
        return self._unable.pop((question, part), None)

    def payers(self, question: str, part: int) -> frozenset[bytes] | None:
        """Return the units that pay for a part that was reserved."""
        held = self._parts.get((question, part))
        check_not_finished(question in self._finished)
        return frozenset(map(self._current, held.paying)) if held and held.paying is not None else None

    def reserve_all(self, question: str, part: int, most: Spending) -> frozenset[bytes]:
        """Charge all units; return those that cannot pay."""
        self._new(question, part)
        total = self._spent + most
        if not self.budget.admits(total):
            raise exhausted(self.budget, self._spent, total)
        self._spent = total
        self._parts[question, part] = _Part(most, None)
        common = self.budget.filter_state(total)
        return frozenset(u for u, own in self._units.items() if not self.budget.admits_state(common + own))

    def settle(
        self, question: str, part: int, spent: Spending, charges: Sequence[Charge] = (), payers: int | None = None
    ) -> None:
        """Return the reserved amount that was not spent."""
        held = self._parts.get((question, part))
        if held is None:
            raise never_reserved(question, part)
        check_settlement(held.most, held.spent, spent)
        if held.spent is not None:
            return
        held.spent = spent
        if held.paying is None:
            self._spent = self._spent - held.most + spent
        else:
            most, kept = self.budget.filter_state(held.most), self.budget.filter_state(spent)
            self._transcript.settle(most, kept, payers, question, part)
            back = self.budget.filter_state(held.most) - self.budget.filter_state(spent)
            for unit in map(self._current, held.paying):
                self._units[unit] = self._units[unit] - back

    def finish_run(self, question: str) -> None:
        """Record that a synthetic corpus was written."""
        self._finished.add(question)

    def merge(self, pairs: Sequence[tuple[bytes, bytes]]) -> int:
        """Move the payments of the first of each pair to the second; return the number of moved balances."""
        moved = 0
        for old, new in pairs:
            if old != new and old in self._units:
                self._units[new] = self._units.get(new, FilterState()) + self._units.pop(old)
                self._merged = {one: new if now == old else now for one, now in self._merged.items()} | {old: new}
                moved += 1
        return moved

    def _current(self, unit: bytes) -> bytes:
        return self._merged.get(unit, unit)

    def unit_balances(self) -> list[tuple[FilterState, int]]:
        """Return the filter states of units, with the number of units in each state."""
        return list(Counter(self._units.values()).items())

    def _new(self, question: str, part: int) -> None:
        if (question, part) in self._parts:
            raise reserved_before(question, part)


@dataclass
class _Part:
    most: Spending
    paying: frozenset[bytes] | None  # None: every unit pays
    spent: Spending | None = None


def check_settlement(most: Spending, settled: Spending | None, spent: Spending) -> None:
    """Refuse to settle a part with more than was reserved, or with another sum than before.

    Raises:
        LedgerError: if the settlement is refused.
    """
    if not spent.within(most):
        raise LedgerError("More was spent than reserved. Nothing was returned.")
    if settled is not None and settled != spent:
        raise LedgerError("This part was settled before with another sum. Nothing was changed.")


def units_pay() -> LedgerError:
    """Return the error for a charge to all units after single units were charged. The reason is public."""
    return LedgerError(
        "Units pay individually in this vault, so one charge cannot cover them all. Nothing was charged or released."
    )


def reserved_before(question: str, part: int) -> LedgerError:
    """Return the error for a second reservation of a part. A second draw for it would average the noise away."""
    return LedgerError(f"Part {part} of the question {question} was reserved before. Ask a new question.")


def check_not_finished(finished: bool) -> None:
    """Refuse to draw again for a synthetic corpus that was written.

    Raises:
        LedgerError: if `finished`.
    """
    if finished:
        raise LedgerError(_FINISHED)


def never_reserved(question: str, part: int) -> LedgerError:
    """Return the error for settling a part that was not reserved."""
    return LedgerError(f"Part {part} of the question {question} was never reserved, so it cannot be settled.")


class CeilingReached(BudgetExhausted):
    """A release beyond what its question declared. It is a fault of the algorithm: the vault's budget may be ample.

    Attributes:
        drawn: the cost of the question's draws, with the refused one.
        declared: what the question reserved for them; None if its ceiling refused.
    """

    def __init__(self, budget: Budget, spent: Spending, drawn: Spending, declared: Spending | None = None) -> None:
        most = budget.epsilon if declared is None else budget.spent(declared)
        super().__init__(
            f"The question's own budget cannot pay: its draws cost epsilon {budget.spent(drawn):.4g}, and epsilon "
            f"{most:.4g} is declared for them. Declare in the plan what is drawn.",
            asked=budget.spent(drawn) - budget.spent(spent),
            left=max(0.0, most - budget.spent(spent)),
        )
        self.drawn, self.declared = drawn, declared


def exhausted(budget: Budget, spent: Spending, total: Spending) -> BudgetExhausted:
    """Return the error for a charge that would raise `spent` to `total`."""
    left, price = budget.left(spent), budget.spent(total) - budget.spent(spent)
    return BudgetExhausted(
        f"The budget cannot pay: epsilon {price:.4g} was asked, {left:.4g} of {budget.epsilon:.4g} is left.",
        asked=price,
        left=left,
    )


class ReservationLedger:
    """The amount reserved for a part of a question, as the ledger of the filter that spends it.

    Attributes:
        payers: the most units that paid it, if a release tells.
        settled: whether the question is over, so that nothing is spent any more.
    """

    def __init__(self, most: Spending, budget: Budget, *, simulation: bool) -> None:
        self.most, self.budget, self.simulation = most, budget, simulation
        self.charges: list[Charge] = []
        self.payers: int | None = None
        self.settled = False
        self._spent = Spending.nothing()

    def spent(self) -> Spending:
        """Return the sum of all charges so far."""
        return self._spent

    def kept(self) -> Spending:
        """Return the amount that counts as spent after settlement.

        It is more than was charged if the reservation was capped.
        """
        return self.most - (self.most - self._spent)

    def affords(self, extra: Spending) -> bool:
        """Return whether `extra` is left of the reserved amount."""
        return (self._spent + extra).within(self.most)

    def charge(self, charge: Charge) -> bool:
        """Take a charge out of the reservation, which is durable already.

        Raises:
            LedgerError: if the charge is out of order, or if the reservation was settled.
            CeilingReached: if the reserved amount is too small.
        """
        if self.settled:
            raise LedgerError("This question was settled, and draws nothing any more. Ask a new question.")
        if charge.number != len(self.charges):
            raise LedgerError(
                f"Charge {charge.number} is out of order; {len(self.charges)} was expected. Nothing was released."
            )
        total = self._spent + Spending.of(charge.cost)
        if not total.within(self.most):
            raise CeilingReached(self.budget, self._spent, total, self.most)
        self.charges.append(charge)
        self._spent = total
        return True


S = TypeVar("S")
S_in = TypeVar("S_in", contravariant=True)
R = TypeVar("R")
R_out = TypeVar("R_out", covariant=True)


class Mechanism(Protocol[S_in, R_out]):
    """A random function of shares, whose cost follows from the change of the shares. Its `str()` is public."""

    def cost(self, change: Change) -> Cost:
        """Return the cost of one draw, if neighbouring shares differ by `change`."""

    def draw(self, shares: Sequence[S_in], noise: Noise) -> R_out:
        """Make one draw, and return it."""


class Interactive(Protocol[S_in, R_out]):
    """A mechanism that is paid once, and queried until it stops."""

    def cost(self, change: Change) -> Cost:
        """Return the cost of one whole run."""

    def start(self, noise: Noise) -> Callable[[Sequence[S_in]], tuple[R_out, bool]]:
        """Begin a run; return a function from shares to (answer, whether the run is over)."""


class Priced(Protocol):
    """An object with a cost."""

    def cost(self, change: Change) -> Cost:
        """Return the cost under `change`."""


class Run(Generic[S, R]):
    """A paid run of an interactive mechanism. After its end it refuses queries."""

    def __init__(self, ask: Callable[[Sequence[S]], tuple[R, bool]], change: Change) -> None:
        self._ask, self._change, self._over = ask, change, False

    def ask(self, private: Private[S]) -> R:
        """Query the run with shares that change no more than the shares it was paid for.

        Raises:
            PrivateValueError: if the run is over, or the shares may change in another way.
        """
        if self._over:
            raise PrivateValueError("This run is over; start and pay for a new one.")
        if private.change != self._change:
            raise PrivateValueError(f"This run was paid for {self._change}, not for {private.change}.")
        answer, self._over = unseal(private, self._ask)
        return answer


@dataclass(frozen=True)
class Receipt:
    """The cost of an answer, and its meaning.

    Attributes:
        epsilon, delta: the loss that corresponds to the charges; (0, 0) if nothing was charged.
        relation: the relation of neighbouring vaults; always the presence of one unit.
        unit: the word for a privacy unit.
        charges: all payments, in order.
        each: the largest number of charges that any one unit paid. Of charges on disjoint units, a unit paid one.
        accountant: the rule that added up the charges.
        noise: the source of the noise.
        private: false if the answer has no guarantee.
        payment: who paid: every unit of the vault, or each unit that took part.
        reused: the number of earlier answers that the answer depends on. If no unit paid, the answer is one of them.
        public_corpus: the SHA-256 of the public corpus with a text in the public prompt; empty if no text was used.
        caveat: why a published bound behind the answer is no guarantee; empty if no such bound was used.
        assumed: the unchecked assumptions of the guarantee, such as a property of a language model.
        spending: the most that any one unit paid, in the ledger's integers, for sums with other receipts.
    """

    epsilon: float
    delta: float
    relation: str
    unit: str
    charges: tuple[Charge, ...]
    accountant: str
    noise: str
    private: bool = True
    payment: str = "every unit"
    reused: int = 0
    each: int = 0
    public_corpus: str = ""
    caveat: str = ""
    assumed: tuple[str, ...] = ()
    spending: Spending | None = field(default=None, repr=False, compare=False)

    def shown(self) -> "ReceiptShown":
        """Return the receipt as it leaves. Equal charges are one entry, with their number."""
        loss = {} if self.private else {"epsilon": None, "delta": None}
        return show_as(ReceiptShown, self, charges=grouped(self.charges), **loss)

    def describe(self) -> dict[str, Any]:
        """Return the receipt as plain data: `shown`."""
        return to_plain(self.shown())

    def _repr_html_(self) -> str:
        return fill("receipt.html", receipt=self.describe())


@dataclass(frozen=True)
class ChargeShown:
    """A kind of charge on a receipt.

    Attributes:
        mechanism: the mechanism, with its parameters.
        change: what one unit can change in the mechanism's input.
        cost: the privacy cost of one such charge: its kind, with its numbers.
        times: how often it was charged.
    """

    mechanism: str
    change: str
    cost: dict[str, Unbounded | int | str]
    times: int


@dataclass(frozen=True, kw_only=True)
class ReceiptShown(Sparse):
    """What was paid, and what it means.

    Attributes:
        epsilon: the epsilon that all charges of the answer come to; None without a guarantee.
        delta: the delta that all charges of the answer come to; None without a guarantee.
        relation: what neighbouring vaults differ in: the presence of one unit.
        unit: the word for what is protected, such as the name of a field.
        charges: the charges, each kind once, in order of its first.
        accountant: the rule that added the charges up.
        noise: the source of the noise.
        private: whether the answer has a guarantee.
        payment: who paid.
        reused: on how many earlier answers this one depends; if no unit paid, it is one of them.
        each: the most charges that any one unit paid.
        public_corpus: the SHA-256 of the public corpus whose texts the prompt had; empty if it had none.
        caveat: why a published bound behind the answer is no guarantee; empty if there is none.
        assumed: what the guarantee takes for granted without a check; absent if nothing.
    """

    epsilon: float | None
    delta: float | None
    relation: str
    unit: str
    charges: list[ChargeShown]
    accountant: str
    noise: str
    private: bool
    payment: Literal["every unit", "each unit that took part", "nobody"]
    reused: int
    each: int
    public_corpus: str
    caveat: str
    assumed: tuple[str, ...] = ()


def grouped(charges: Sequence[Charge]) -> list[ChargeShown]:
    """Return charges as they leave, each kind once, in order of first occurrence, with its number (`times`)."""
    kinds = [(one.mechanism, str(one.change), one.cost.describe()) for one in charges]
    times = Counter(map(repr, kinds))
    return [ChargeShown(*kind, times[repr(kind)]) for kind in {repr(kind): kind for kind in kinds}.values()]


def released_before(unit: str) -> Receipt:
    """Return the receipt of an answer that was released before. It has no new cost."""
    return Receipt(0.0, 0.0, "add-remove", unit, (), "none", "none", payment="nobody", reused=1)


def public_texts(unit: str) -> Receipt:
    """Return the receipt of an answer from texts that were released before. It has no new cost."""
    return Receipt(0.0, 0.0, "add-remove", unit, (), "none", "none", payment="nobody")


class PrivacyFilter:
    """The filter of one question: it lets mechanisms open private values after payment.

    Its ceiling and the ledger's budget must both admit a payment.

    Attributes:
        unable: how many units at most could not pay what this filter spends; None if it may be any number: public.
    """

    unable: int | None = 0

    def __init__(
        self,
        ledger: Ledger,
        ceiling: Budget,
        question: str,
        *,
        unit: str = "document",
        noise: Noise | None = None,
        again: bool = False,
    ) -> None:
        """Create the filter of one question.

        Args:
            ledger: the record of all charges.
            ceiling: the question's own budget.
            question: the question's id.
            unit: the word for a privacy unit.
            noise: the operating system's if None; seeded noise needs a ledger of a simulation.
            again: whether earlier charges of this question in the ledger may stand for the same charges now. This is
                for interrupted work that stores every draw before its use. A draw that was not stored never left the
                process, and a stored draw is not drawn again, if the store is never put back from a copy.
        """
        self._again = again
        self._noise = noise or SystemNoise()
        if not (self._noise.secure or ledger.simulation):
            raise DiscreetError("Insecure noise is for simulations; a real vault needs `SystemNoise`.")
        self._ledger, self.ceiling, self._question, self._unit = ledger, ceiling, question, unit
        self._charges: list[Charge] = []
        self._spent = Spending.nothing()

    @property
    def noise(self) -> Noise:
        """The source of randomness, for public choices (a partition)."""
        return self._noise

    def release(self, mechanism: Mechanism[S, R], private: Private[S]) -> R:
        """Pay for one draw of `mechanism`, then make it, and return it.

        Raises:
            BudgetExhausted: if the ceiling or the ledger refuses. Nothing was charged or drawn.
        """
        self._pay(mechanism, private.change)
        return unseal(private, lambda shares: mechanism.draw(shares, self._noise))

    def start(self, mechanism: Interactive[S, R], over: Private[Any]) -> Run[S, R]:
        """Pay for one run of `mechanism` on values made from `over`, then begin it.

        Raises:
            BudgetExhausted: if the ceiling or the ledger refuses. Nothing was charged or drawn.
        """
        self._pay(mechanism, over.change)
        return Run(mechanism.start(self._noise), over.change)

    def pay(self, priced: Priced, change: Change) -> Spending:
        """Pay for draws that are made later through filters of their own (`within`). Return the payment.

        Raises:
            BudgetExhausted: if the ceiling or the ledger refuses. Nothing was charged.
        """
        self._pay(priced, change)
        return Spending.of(priced.cost(change))

    def within(self, most: Spending, noise: Noise | None = None) -> "PrivacyFilter":
        """Return a filter that spends at most `most`, which was paid before.

        It draws from `noise`, or from this filter's noise if None. It writes to no ledger. So it may be used in another
        thread, if no other thread draws from its noise.
        """
        paid = ReservationLedger(most, self._ledger.budget, simulation=self._ledger.simulation)
        return PrivacyFilter(paid, self._ledger.budget, self._question, unit=self._unit, noise=noise or self._noise)

    def note_payers(self, most: int) -> None:
        """Note the most units that paid what this filter spends. It must follow from released values alone."""
        if isinstance(self._ledger, ReservationLedger):
            self._ledger.payers = most

    def fits(self, mechanisms: Sequence[Priced], change: Change) -> bool:
        """Return whether all of `mechanisms` can be paid for now. A round is begun only if it can be completed."""
        costs = [Spending.of(mechanism.cost(change)) for mechanism in mechanisms]
        extra = sum(costs, Spending.nothing())
        return self.ceiling.admits(self._spent + extra) and self._ledger.affords(extra)

    def receipt(self) -> Receipt:
        """Return the receipt of all payments so far."""
        paid = bool(self._charges)
        return Receipt(
            epsilon=self.ceiling.spent(self._spent) if paid else 0.0,
            delta=self.ceiling.delta if paid else 0.0,
            relation="add-remove",
            unit=self._unit,
            charges=tuple(self._charges),
            accountant=f"Renyi filter at orders {self.ceiling.order:g} and infinity",
            noise=type(self._noise).__name__,
            each=len(self._charges),
            spending=self._spent,
        )

    def _pay(self, mechanism: Priced, change: Change) -> None:
        charge = Charge(self._question, len(self._charges), str(mechanism), change, mechanism.cost(change))
        total = self._spent + Spending.of(charge.cost)
        if not self.ceiling.admits(total):
            reserved = self._ledger.most if isinstance(self._ledger, ReservationLedger) else None
            raise CeilingReached(self.ceiling, self._spent, total, reserved)
        if not self._ledger.charge(charge) and not self._again:
            # A second draw for one payment would average the noise away.
            raise LedgerError("This question was paid before, and its noise is not drawn again. Ask a new question.")
        self._charges.append(charge)
        self._spent = total


class NotPrivateFilter(PrivacyFilter):
    """A filter that opens private values without payment: for baselines, which have no guarantee."""

    def receipt(self) -> Receipt:
        """Return a receipt without a guarantee."""
        caveats = dict.fromkeys(charge.cost.caveat for charge in self._charges if isinstance(charge.cost, Claimed))
        return replace(
            super().receipt(),
            epsilon=math.inf,
            delta=1.0,
            accountant="none",
            private=False,
            caveat=" ".join(caveats),
            spending=None,
        )

    def _pay(self, mechanism: Priced, change: Change) -> None:
        self._charges.append(Charge(self._question, len(self._charges), str(mechanism), change, mechanism.cost(change)))

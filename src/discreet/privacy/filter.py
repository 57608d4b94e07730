"""The only access to a private value: a durable payment first, and the draw afterwards.

`PrivacyFilter` belongs to one question. It has a budget of its own (the question's ceiling), and charges a ledger with
the vault's budget. Both must admit a charge.
"""

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Generic, Literal, Protocol, TypeVar

from discreet.errors import DiscreetError, LedgerError, PrivateValueError
from discreet.privacy.accounting import Budget, Spending
from discreet.privacy.costs import Claimed, Cost
from discreet.privacy.ledger import CeilingReached, Charge, Ledger, Reservation
from discreet.privacy.noise import Noise, SystemNoise
from discreet.privacy.private import Change, Private, unseal
from discreet.system.notebook_html import receipt_html
from discreet.system.plain import Sparse, Unbounded, show_as, to_plain

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
        return receipt_html(self.describe())


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
                process, and a stored draw is not drawn again.
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
        paid = Reservation(most, self._ledger.budget, simulation=self._ledger.simulation)
        return PrivacyFilter(paid, self._ledger.budget, self._question, unit=self._unit, noise=noise or self._noise)

    def note_payers(self, most: int) -> None:
        """Note the most units that paid what this filter spends. It must follow from released values alone."""
        if isinstance(self._ledger, Reservation):
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
            reserved = self._ledger.most if isinstance(self._ledger, Reservation) else None
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

"""The only door to a private value: pay, durably, and only then draw.

`PrivacyFilter` belongs to one question. It has a budget of its own (the question's ceiling) and pays into a
ledger, which has the vault's. Both must admit a charge.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Generic, Protocol, TypeVar

from discreet.errors import DiscreetError, LedgerError, PrivateValueError
from discreet.privacy.accounting import Budget, Spending
from discreet.privacy.change import Change
from discreet.privacy.costs import Claimed, Cost
from discreet.privacy.ledger import Charge, Ledger, exhausted
from discreet.privacy.noise import Noise, SystemNoise
from discreet.privacy.private import Private, unseal
from discreet.privacy.reservation import Reservation

S = TypeVar("S")
S_in = TypeVar("S_in", contravariant=True)
R = TypeVar("R")
R_out = TypeVar("R_out", covariant=True)


class Mechanism(Protocol[S_in, R_out]):
    """A random function of shares, whose cost follows from what may change in them. `str()` of it is public."""

    def cost(self, change: Change) -> Cost:
        """The cost of one draw, when neighbouring shares differ by `change`."""

    def draw(self, shares: Sequence[S_in], noise: Noise) -> R_out:
        """One draw."""


class Interactive(Protocol[S_in, R_out]):
    """A mechanism that is paid once and asked until it stops."""

    def cost(self, change: Change) -> Cost:
        """The cost of one whole run."""

    def start(self, noise: Noise) -> Callable[[Sequence[S_in]], tuple[R_out, bool]]:
        """Begin a run: a function from shares to (answer, whether the run is over)."""


class Priced(Protocol):
    """Anything with a cost."""

    def cost(self, change: Change) -> Cost:
        """The cost under `change`."""


class Run(Generic[S, R]):
    """A paid run of an interactive mechanism. Once over, it refuses."""

    def __init__(self, ask: Callable[[Sequence[S]], tuple[R, bool]], change: Change) -> None:
        self._ask, self._change, self._over = ask, change, False

    def ask(self, private: Private[S]) -> R:
        """Ask about shares that change no more than those the run was paid for.

        Raises:
            PrivateValueError: the run is over, or the shares may change in another way.
        """
        if self._over:
            raise PrivateValueError("This run is over; start and pay for a new one.")
        if private.change != self._change:
            raise PrivateValueError(f"This run was paid for {self._change}, not for {private.change}.")
        answer, self._over = unseal(private, self._ask)
        return answer


@dataclass(frozen=True)
class Receipt:
    """What an answer cost, and what that means.

    Attributes:
        epsilon, delta: the loss that the charges amount to. (0, 0) if nothing was charged.
        relation: how neighbouring vaults differ; always the presence of one unit.
        unit: what a unit is.
        charges: every payment, in order.
        each: how many of them any one unit made at most; of payments by units without one in common, a unit made one.
        accountant: how the charges were added up.
        noise: where the noise came from.
        private: False if the answer has no guarantee at all.
        payment: who paid: every unit of the vault, or each unit that took part.
        reused: on how many answers it rests that were released before; if `payment` is "nobody", it is one of them.
        public_corpus: the SHA-256 of the public corpus of which a text stood in the public prompt; empty if none did.
        caveat: why a published bound that was relied on is no guarantee; empty if none was.
        assumed: what the guarantee takes for granted without a check, such as a property of a language model.
        spending: what any one unit paid at most, as the ledger counts it, to be added to that of other receipts.
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

    def describe(self) -> dict[str, Any]:
        """Return the receipt as plain data; equal charges are one entry, which says how many times it was made."""
        return {
            "epsilon": self.epsilon if self.private else None,
            "delta": self.delta if self.private else None,
            "relation": self.relation,
            "unit": self.unit,
            "charges": grouped(self.charges),
            "accountant": self.accountant,
            "noise": self.noise,
            "private": self.private,
            "payment": self.payment,
            "reused": self.reused,
            "each": self.each,
            "public_corpus": self.public_corpus,
            "caveat": self.caveat,
            **({"assumed": list(self.assumed)} if self.assumed else {}),
        }


def grouped(charges: Sequence[Charge]) -> list[dict[str, Any]]:
    """Return charges as plain data, each kind once, in order of its first one, with `times`, the number of its kind."""
    groups: dict[str, dict[str, Any]] = {}
    for charge in charges:
        described = charge.describe()
        groups.setdefault(repr(described), described | {"times": 0})["times"] += 1
    return list(groups.values())


def released_before(unit: str) -> Receipt:
    """The receipt of an answer that was released before: it costs nothing anew."""
    return Receipt(0.0, 0.0, "add-remove", unit, (), "none", "none", payment="nobody", reused=1)


def public_texts(unit: str) -> Receipt:
    """The receipt of an answer from texts that were released before: it costs nothing anew."""
    return Receipt(0.0, 0.0, "add-remove", unit, (), "none", "none", payment="nobody")


class PrivacyFilter:
    """Lets mechanisms open private values, after payment, within a question's ceiling and a ledger's budget."""

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
        """For one question.

        Args:
            ledger: who has paid what.
            ceiling: the question's own budget.
            question: its id.
            unit: what a unit is called.
            noise: the operating system's, unless this is a simulation.
            again: whether charges of this question that are in the ledger already may be these. For work that was
                interrupted, of which every draw is kept before anything is made of it: what was drawn and not kept
                never left the process, and what was kept is not drawn again.
        """
        self._again = again
        self._noise = noise or SystemNoise()
        if not (self._noise.secure or ledger.simulation):
            raise DiscreetError("Insecure noise is for simulations; a real vault draws from the operating system.")
        self._ledger, self.ceiling, self._question, self._unit = ledger, ceiling, question, unit
        self._charges: list[Charge] = []
        self._spent = Spending.nothing()

    @property
    def noise(self) -> Noise:
        """The source of randomness, for public choices (a partition)."""
        return self._noise

    def release(self, mechanism: Mechanism[S, R], private: Private[S]) -> R:
        """Pay for one draw of `mechanism`, then make it.

        Raises:
            BudgetExhausted: the ceiling or the ledger refuses. Nothing was charged or drawn.
        """
        self._pay(mechanism, private.change)
        return unseal(private, lambda shares: mechanism.draw(shares, self._noise))

    def start(self, mechanism: Interactive[S, R], over: Private[Any]) -> Run[S, R]:
        """Pay for one run of `mechanism` on values made from `over`, then begin it.

        Raises:
            BudgetExhausted: the ceiling or the ledger refuses. Nothing was charged or drawn.
        """
        self._pay(mechanism, over.change)
        return Run(mechanism.start(self._noise), over.change)

    def pay(self, priced: Priced, change: Change) -> Spending:
        """Pay for what will be drawn through filters of its own (`within`). Returns what was paid.

        Raises:
            BudgetExhausted: the ceiling or the ledger refuses. Nothing was charged.
        """
        self._pay(priced, change)
        return Spending.of(priced.cost(change))

    def within(self, most: Spending, noise: Noise | None = None) -> "PrivacyFilter":
        """A filter that spends no more than `most`, which was paid before; it draws from `noise`, or as this one does.

        It writes to no ledger, and so may be spent in a thread of its own, if nobody else draws from its noise.
        """
        paid = Reservation(most, self._ledger.budget, simulation=self._ledger.simulation)
        return PrivacyFilter(paid, self._ledger.budget, self._question, unit=self._unit, noise=noise or self._noise)

    def fits(self, mechanisms: Sequence[Priced], change: Change) -> bool:
        """Whether all of `mechanisms` can be paid for now, so that a round is not begun in vain."""
        costs = [Spending.of(mechanism.cost(change)) for mechanism in mechanisms]
        extra = sum(costs, Spending.nothing())
        return self.ceiling.admits(self._spent + extra) and self._ledger.affords(extra)

    def receipt(self) -> Receipt:
        """What was paid so far."""
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
            raise exhausted(self.ceiling, self._spent, total)
        if not self._ledger.charge(charge) and not self._again:
            # Drawing again for one payment would average the noise away.
            raise LedgerError("This question was paid and drawn for before; it is not drawn again. Ask a new one.")
        self._charges.append(charge)
        self._spent = total


class NotPrivateFilter(PrivacyFilter):
    """Opens private values without paying: for baselines that have no guarantee, and say so on their receipt."""

    def receipt(self) -> Receipt:
        """A receipt that promises nothing."""
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

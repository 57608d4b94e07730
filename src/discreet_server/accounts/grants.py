"""The grants of the vaults, the shares of them that are reserved, and meters: whether one more question fits.

A meter counts what receipts say, which is public: what the questions of a key can have cost any one unit. It never
reads what units have left. So no refusal follows a private value.

**What a reserved share is.** Each vault has a grant: the budget of every single unit. The ledger admits a unit to a
question if the unit's readings stay within `grant.limit`: its failures, and its divergence at one of two orders. A
reserved share takes a part of one of these two limits (the *reading* of the vault, the same for all shares), and a part
of the failures. The shares of all reserved keys, the share kept for the custodian, and the pool (what all shared keys
have spent together) never exceed the limits. This file checks that whenever a share is made or enlarged, and whenever
a shared key pays.

**Why no unit is missing from key i's answers because of key j.** Let r(q) be the reading of the charge of question q:
of its ceiling while it is in flight, of what it spent afterwards. For the accountants "renyi" and "pure", r is linear,
so readings of a sum are sums of readings, exactly, in whole numbers. For "zcdp" it is not, and nothing is reserved.

1. A unit pays r(q) or nothing for q (`ledger.reserve` and `ledger.settle`, by the same integers). The key's meter is
   charged before the ledger, and settled after it. So at any moment, a unit has paid key k at most the reading M_k of
   the key's meter.
2. For a reserved key, M_k is at most its share L_k: the transaction that charges it checks that. For all shared keys
   together, the sum of M_k is at most the pool P.
3. Key i asks q, and its meter admits it: M_i with r(q) is at most L_i. Then for any unit, what it has paid and r(q) are
   at most L_i + (sum of the other L_j) + P + kept, which is at most the limit of the grant. So the ledger admits the
   unit, regardless of what the other keys have asked, one by one or together.

It holds for the vault's reading, and one is enough: `Budget.admits_state` wants failures within their limit, and one
of the two divergences. Two keys with different readings would not add up: so a vault has one.

**What it takes for granted.** All payments in the vault are those of keys, or fit into the share that is kept. That
includes the custodian's own questions, `synthesize`, `tune` and `export-vectors`, and all that was paid before the
first share. And no two names of a unit are merged afterwards. If one of these fails, answers may lack units. The
guarantee of the unit never depends on it: the ledger's filter alone decides who pays.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from discreet.errors import BudgetExhausted, UsageError
from discreet.privacy.accounting import NANO, Budget, FilterState, Spending, Sums, how_many
from discreet.system.plain import show_as
from discreet_server.wire import UnitCharge

KEPT = "kept"
"""The holder of the share that is kept for the custodian's own work."""
CURVE, PURE = "curve", "pure"
_MOST_TIMES = 10_000


@dataclass(frozen=True)
class GrantShare:
    """A part of a grant, in the whole numbers of the vault's reading.

    Attributes:
        loss: of the divergence, in billionths of a nat.
        failures: of the failure probabilities, in 1e-18.
    """

    loss: int = 0
    failures: int = 0

    def __add__(self, other: "GrantShare") -> "GrantShare":
        return GrantShare(self.loss + other.loss, self.failures + other.failures)

    def __sub__(self, other: "GrantShare") -> "GrantShare":
        return GrantShare(self.loss - other.loss, self.failures - other.failures)

    def or_more(self, other: "GrantShare") -> "GrantShare":
        """Return the larger of two shares, in each number."""
        return GrantShare(max(self.loss, other.loss), max(self.failures, other.failures))

    def within(self, other: "GrantShare") -> bool:
        """Return whether this is no more than another share."""
        return self.loss <= other.loss and self.failures <= other.failures


@dataclass(frozen=True)
class VaultGrant:
    """The grant of a vault, and how its shares are counted.

    Attributes:
        vault: the name under which it is served.
        budget: what each unit was granted.
        reading: "curve" for the divergence at the grant's finite order, "pure" for the one at order infinity; "" until
            the first share is made.
        pool: what all shared keys have spent together.
        shares: what is reserved, by holder: the id of a key, or `KEPT`.
    """

    vault: str
    budget: Budget
    reading: str = ""
    pool: Spending = field(default_factory=Spending.nothing)
    shares: Mapping[str, GrantShare] = field(default_factory=dict)

    @property
    def limit(self) -> GrantShare:
        """The limits of the grant in its reading."""
        return self.share_of(self.budget.limit)

    def share_of(self, state: FilterState) -> GrantShare:
        """Return the numbers of a filter state that count here."""
        return GrantShare(state.pure if self.reading == PURE else state.curve, state.failures)

    def read(self, spending: Spending) -> GrantShare:
        """Return what a sum of charges takes of the grant."""
        return self.share_of(self.budget.filter_state(spending))

    def held(self, *, but: str = "") -> GrantShare:
        """Return the sum of the shares, without the one of `but`."""
        return sum((share for holder, share in self.shares.items() if holder != but), GrantShare())

    def part(self, epsilon: float) -> GrantShare:
        """Return the share of `epsilon` of the grant's: the same part of each limit, rounded down."""
        # In whole numbers: a part rounded up by a float could make the shares exceed the limit.
        parts, whole = int(epsilon * NANO), int(self.budget.epsilon * NANO)
        return GrantShare(self.limit.loss * parts // whole, self.limit.failures * parts // whole)

    def with_reading(self, typical: Spending | None) -> "VaultGrant":
        """Return the grant with a reading. The first share settles it: the one that pays for more usual questions.

        Args:
            typical: the charge of a usual question; None if the grant is too small for one.

        Raises:
            UsageError: if the vault's accountant is "zcdp".
        """
        if self.budget.accountant == "zcdp":
            raise UsageError(
                f"The vault '{self.vault}' counts by zCDP, for which no share can be reserved. Issue the key without "
                "--reserved."
            )
        return self if self.reading else replace(self, reading=_best_reading(self.budget, typical))

    def fit_share(self, holder: str, epsilon: float, spent: Spending) -> GrantShare:
        """Return the share of `epsilon`, if it fits beside all others and the pool.

        Args:
            holder: for whom it is reserved.
            epsilon: the part of the grant's epsilon.
            spent: what the holder's questions have cost so far. A share is never below it: units may have paid it.

        Raises:
            BudgetExhausted: if the shares would exceed the grant together.
        """
        share, taken = self.part(epsilon).or_more(self.read(spent)), self.held(but=holder) + self.read(self.pool)
        if not (taken + share).within(self.limit):
            raise _does_not_fit(self, taken, epsilon)
        return share


def _best_reading(budget: Budget, typical: Spending | None) -> str:
    """Return the reading in which the grant pays for more usual questions."""
    limit = budget.limit
    if limit.curve <= 0:
        return PURE
    if typical is None:
        return CURVE
    cost = budget.filter_state(typical)
    return PURE if limit.pure // max(1, cost.pure) > limit.curve // max(1, cost.curve) else CURVE


def _does_not_fit(grant: VaultGrant, taken: GrantShare, epsilon: float) -> BudgetExhausted:
    whole, most = grant.budget.epsilon, grant.limit
    parts = [1 - taken.loss / max(1, most.loss)]
    if most.failures:
        parts.append(1 - taken.failures / most.failures)
    free = max(0.0, int(min(parts) * whole * 1000) / 1000)
    return BudgetExhausted(
        f"A share of {epsilon:g} does not fit: of the grant {whole:g} of '{grant.vault}', {free:g} is neither reserved "
        f"nor spent by shared keys. Reserve at most that, or free a share: discreet key revoke VAULT KEY",
        asked=epsilon,
        left=free,
        would_fit=free,
    )


# --- meters --------------------------------------------------------------------------------------------------------


class Sum(Sums):
    """A sum of charges, and how many of them are not zero (`count`).

    A charge that is cut at an order (a Gaussian one at infinity) can be taken back there; from a `Spending`, it could
    not. While any such charge is in the sum, the sum reads as cut.
    """

    count = 0

    def move(self, back: Spending, extra: Spending) -> None:
        """Take the charge `back` from the sum, and add `extra`."""
        self.add(back, -1)
        self.add(extra)
        self.count += (not is_nothing(extra)) - (not is_nothing(back))


def is_nothing(spending: Spending) -> bool:
    """Return whether a sum is zero: the question is free."""
    return spending.failure_atto == 0 and not spending.loss_nano.any()


@dataclass(frozen=True)
class Room:
    """What a question must fit into, beside the key's cap: a share of a grant, or what is left for shared keys.

    Attributes:
        grant: whose reading counts.
        spent: what was spent of it.
        most: the most that may be spent; None if nothing limits it.
    """

    grant: VaultGrant
    spent: Spending
    most: GrantShare | None

    def admits(self, extra: Spending) -> bool:
        """Return whether `extra` fits."""
        return self.most is None or self.grant.read(self.spent + extra).within(self.most)


@dataclass(frozen=True)
class MeterShown:
    """What the questions of a key can have cost any one unit.

    Attributes:
        granted: the epsilon of its cap.
        delta: the delta of its cap.
        spent: the epsilon that its questions amount to; those in flight count at their ceiling.
        left: the epsilon that is left of the cap.
        part: the part of the cap that is used up.
        questions: how many of its questions paid, or are in flight.
        questions_left: how many more its cap in questions allows; None for no limit.
        note: what a cap is, and is not.
    """

    granted: float
    delta: float
    spent: float
    left: float
    part: float
    questions: int
    questions_left: int | None
    note: str


@dataclass(frozen=True)
class Meter(MeterShown):
    """An odometer of a key: of its own receipts, never of a vault's balance.

    Attributes:
        spending: what was spent, as a sum of charges.
        budget: the cap as a budget.
        rooms: by vault, what a question must fit into beside the cap.
    """

    spending: Spending
    budget: Budget
    rooms: tuple[Room, ...]

    def fits(self, extra: Spending, vault: str = "") -> bool:
        """Return whether `extra` fits the cap and, of a vault, what the key may spend there; of all vaults if ""."""
        rooms = (room for room in self.rooms if not vault or room.grant.vault == vault)
        return self.budget.admits(self.spending + extra) and all(room.admits(extra) for room in rooms)

    def more(self, most: UnitCharge, vault: str = "") -> int | None:
        """Return how many more questions fit that cost at most `most` each; None if they are free."""
        if is_nothing(most.spending):
            return None
        count = how_many(lambda times: self.fits(most.spending.times(times), vault), _MOST_TIMES)
        return count if self.questions_left is None else min(count, self.questions_left)

    def shown(self) -> "MeterShown":
        """Return the odometer as it leaves."""
        return show_as(MeterShown, self)

"""The grants of the vaults, and the shares of them that are reserved.

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

from dataclasses import dataclass, replace
from functools import lru_cache

from discreet.errors import BudgetExhausted, UsageError
from discreet.privacy.accounting import NANO, Accountant, Budget, FilterState, Spending

KEPT = "kept"
"""The holder of the share that is kept for the custodian's own work."""
CURVE, PURE = "curve", "pure"


@lru_cache(1024)  # the limits of a budget take longer to compute than a row to read
def budget_of(
    epsilon: float, delta: float, failures: float, order: float = 0.0, accountant: Accountant = "renyi"
) -> Budget:
    """Return the budget with these values."""
    return Budget(epsilon, delta, failures, order, accountant)


@dataclass(frozen=True)
class Share:
    """A part of a grant, in the whole numbers of the vault's reading.

    Attributes:
        loss: of the divergence, in billionths of a nat.
        failures: of the failure probabilities, in 1e-18.
    """

    loss: int = 0
    failures: int = 0

    def __add__(self, other: "Share") -> "Share":
        return Share(self.loss + other.loss, self.failures + other.failures)

    def __sub__(self, other: "Share") -> "Share":
        return Share(self.loss - other.loss, self.failures - other.failures)

    def or_more(self, other: "Share") -> "Share":
        """Return the larger of two shares, in each number."""
        return Share(max(self.loss, other.loss), max(self.failures, other.failures))

    def within(self, other: "Share") -> bool:
        """Return whether this is no more than another share."""
        return self.loss <= other.loss and self.failures <= other.failures


@dataclass(frozen=True)
class Grant:
    """The grant of a vault, and how its shares are counted.

    Attributes:
        vault: the name under which it is served.
        budget: what each unit was granted.
        reading: "curve" for the divergence at the grant's finite order, "pure" for the one at order infinity; "" until
            the first share is made.
        pool: what all shared keys have spent together.
    """

    vault: str
    budget: Budget
    reading: str
    pool: Spending

    @property
    def limit(self) -> Share:
        """The limits of the grant in its reading."""
        return self.share_of(self.budget.limit)

    def share_of(self, state: FilterState) -> Share:
        """Return the numbers of a filter state that count here."""
        return Share(state.pure if self.reading == PURE else state.curve, state.failures)

    def read(self, spending: Spending) -> Share:
        """Return what a sum of charges takes of the grant."""
        return self.share_of(self.budget.filter_state(spending))

    def part(self, epsilon: float) -> Share:
        """Return the share of `epsilon` of the grant's: the same part of each limit, rounded down."""
        # In whole numbers: a part rounded up by a float could make the shares exceed the limit.
        parts, whole = int(epsilon * NANO), int(self.budget.epsilon * NANO)
        return Share(self.limit.loss * parts // whole, self.limit.failures * parts // whole)

    def with_reading(self, typical: Spending | None) -> "Grant":
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

    def fit_share(self, epsilon: float, others: Share, spent: Spending | None = None) -> Share:
        """Return the share of `epsilon`, if it fits beside all others and the pool.

        Args:
            epsilon: the part of the grant's epsilon.
            others: the sum of the shares of all other holders.
            spent: what the holder's questions have cost so far. A share is never below it: units may have paid it.

        Raises:
            BudgetExhausted: if the shares would exceed the grant together.
        """
        share, taken = self.part(epsilon), others + self.read(self.pool)
        if spent is not None:
            share = share.or_more(self.read(spent))
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


def _does_not_fit(grant: Grant, taken: Share, epsilon: float) -> BudgetExhausted:
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

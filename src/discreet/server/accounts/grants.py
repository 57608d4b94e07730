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

from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Row, bindparam, delete, func, insert, select, update

from discreet.errors import BudgetExhausted, UnknownName, UsageError
from discreet.privacy.accounting import NANO, Budget, FilterState, Spending
from discreet.server.accounts.budgets import budget_of
from discreet.server.accounts.sums import from_bytes, moved, to_bytes
from discreet.server.accounts.tables import SHARES, VAULTS

KEPT = "kept"
CURVE, PURE = "curve", "pure"
_OF_VAULT = select(VAULTS).where(VAULTS.c.name == bindparam("of_vault"))
_CHANGE = update(VAULTS).where(VAULTS.c.name == bindparam("of_vault"))
_HOLDERS = (SHARES.c.vault == bindparam("of_vault")) & (SHARES.c.holder == bindparam("of_holder"))
_SHARE = select(SHARES.c.loss, SHARES.c.failures).where(_HOLDERS)
_HELD = select(func.sum(SHARES.c.loss), func.sum(SHARES.c.failures)).where(
    (SHARES.c.vault == bindparam("of_vault")) & (SHARES.c.holder != bindparam("but"))
)


@dataclass(frozen=True)
class Share:
    """A part of a grant, in the whole numbers of the vault's reading.

    Attributes:
        loss: of the divergence, in billionths of a nat.
        failures: of the failure probabilities, in 1e-18.
    """

    loss: int
    failures: int

    def __add__(self, other: "Share") -> "Share":
        return Share(self.loss + other.loss, self.failures + other.failures)

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


def declare(connection: Connection, vault: str, budget: Budget) -> None:
    """Record the grant of a vault.

    Raises:
        UsageError: if the vault has another grant here: another vault had the name.
    """
    row = connection.execute(_OF_VAULT, {"of_vault": vault}).one_or_none()
    if row is None:
        connection.execute(insert(VAULTS).values(name=vault, **_columns(budget), reading="", **_pool()))
    elif grant_of(row).budget != budget:
        raise UsageError(
            f"The accounts know a vault called '{vault}' with another grant: epsilon {row.epsilon:g} at delta "
            f"{row.delta:g}. Use another state folder: --state DIR"
        )


def read_grant(connection: Connection, vault: str) -> Grant:
    """Return the grant of a vault.

    Raises:
        UnknownName: if the accounts do not know the vault.
    """
    row = connection.execute(_OF_VAULT, {"of_vault": vault}).one_or_none()
    if row is None:
        raise UnknownName("vault", vault, connection.execute(select(VAULTS.c.name)).scalars())
    return grant_of(row)


def grant_of(row: Row[Any]) -> Grant:
    """Return the grant in a row."""
    budget = budget_of(row.epsilon, row.delta, row.failures, row.grant_order, row.accountant)
    return Grant(row.name, budget, row.reading, from_bytes(row.pool_loss, row.pool_failures))


def reserve_share(
    connection: Connection,
    vault: str,
    holder: str,
    epsilon: float,
    *,
    typical: Spending | None = None,
    spent: Spending | None = None,
) -> None:
    """Reserve `epsilon` of a vault's grant for a key or for the custodian, in place of the share that it had.

    Args:
        connection: a writing transaction.
        vault: the vault.
        holder: the key's id, or `KEPT`.
        epsilon: the part of the grant's epsilon.
        typical: the charge of a usual question. The first share of a vault settles its reading: the one that pays for
            more of them.
        spent: what the holder's questions have cost so far. A share is never below it: units may have paid it.

    Raises:
        BudgetExhausted: if the shares would no longer fit the grant together.
        UsageError: if the vault's accountant is "zcdp".
    """
    grant = _with_reading(connection, read_grant(connection, vault), typical)
    share, others = grant.part(epsilon), held(connection, vault, but=holder)
    if spent is not None:
        share = share.or_more(grant.read(spent))
    taken = others + grant.read(grant.pool)
    if not (taken + share).within(grant.limit):
        raise _does_not_fit(grant, taken, epsilon)
    put_share(connection, vault, holder, share)


def put_share(connection: Connection, vault: str, holder: str, share: Share) -> None:
    """Write a share in place of the one that the holder had."""
    mine = (SHARES.c.vault == vault) & (SHARES.c.holder == holder)
    connection.execute(delete(SHARES).where(mine))
    connection.execute(insert(SHARES).values(vault=vault, holder=holder, loss=share.loss, failures=share.failures))


def read_share(connection: Connection, vault: str, holder: str) -> Share | None:
    """Return the share of a holder; None if it has none."""
    row = connection.execute(_SHARE, {"of_vault": vault, "of_holder": holder}).one_or_none()
    return None if row is None else Share(int(row.loss), int(row.failures))


def held(connection: Connection, vault: str, *, but: str = "") -> Share:
    """Return the sum of the shares of a vault, without the one of `but`."""
    loss, failures = connection.execute(_HELD, {"of_vault": vault, "but": but}).one()
    return Share(int(loss or 0), int(failures or 0))


def room_of_pool(connection: Connection, grant: Grant) -> Share | None:
    """Return the most that the pool of shared keys may reach; None if nothing is reserved, and the ledger decides."""
    if not grant.reading:
        return None
    taken = held(connection, grant.vault)
    return Share(grant.limit.loss - taken.loss, grant.limit.failures - taken.failures)


def change_pool(connection: Connection, vault: str, back: Spending, extra: Spending) -> None:
    """Take `back` from what the shared keys of a vault have spent together, and add `extra`."""
    row = connection.execute(_OF_VAULT, {"of_vault": vault}).one()
    loss, failures = moved(row.pool_loss, row.pool_failures, back, extra)
    connection.execute(_CHANGE, {"of_vault": vault, "pool_loss": loss, "pool_failures": failures})


def _with_reading(connection: Connection, grant: Grant, typical: Spending | None) -> Grant:
    if grant.budget.accountant == "zcdp":
        raise UsageError(
            f"The vault '{grant.vault}' counts by zCDP, for which no share can be reserved. Issue the key without "
            "--reserved."
        )
    if grant.reading:
        return grant
    reading = _best_reading(grant.budget, typical)
    connection.execute(update(VAULTS).where(VAULTS.c.name == grant.vault).values(reading=reading))
    return Grant(grant.vault, grant.budget, reading, grant.pool)


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


def _columns(budget: Budget) -> dict[str, Any]:
    return {
        "epsilon": budget.epsilon,
        "delta": budget.delta,
        "failures": budget.failures,
        "grant_order": budget.order,
        "accountant": budget.accountant,
    }


def _pool() -> dict[str, Any]:
    nothing = Spending.nothing()
    return {"pool_loss": to_bytes(nothing), "pool_failures": nothing.failure_atto}

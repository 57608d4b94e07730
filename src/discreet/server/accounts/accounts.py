"""`Accounts`: keys, meters, questions and requests of a server, each operation one transaction."""

import json
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, select, update

from discreet.errors import UsageError
from discreet.privacy.accounting import Budget, Spending
from discreet.server.accounts import flights, grants, keys, meters, names, questions, requests
from discreet.server.accounts.database import Database
from discreet.server.accounts.keys import Key, Limits
from discreet.server.accounts.meters import Meter
from discreet.server.accounts.outcomes import Outcome, Recalled, Settled
from discreet.server.accounts.questions import Admitted, Asking
from discreet.server.accounts.requests import APPROVED, DENIED, BudgetRequest
from discreet.server.accounts.sums import Charged
from discreet.server.accounts.tables import KEYS, VAULTS

_MOST_RECEIPTS = 1000


class Accounts:
    """The accounts of a server. Threads share one object; several processes may share the file."""

    def __init__(
        self,
        address: Path | str,
        *,
        clock: Callable[[], float] = time.time,
        check_copy: bool = True,
        server: str = "",
    ) -> None:
        """Open the accounts; make them if there are none.

        Args:
            address: STATE/accounts.sqlite, or a URL that begins with `postgresql`.
            clock: the time, in seconds.
            check_copy: whether to refuse an older copy of the database.
            server: the id of the server that asks, where several servers share a database.

        Raises:
            AccountsError: if the database cannot be used.
            OlderCopy: if it is an older copy than the newest one.
        """
        self.database, self._clock = Database(address), clock
        self._server = server if self.database.shared else ""
        if check_copy:
            self.database.check_copy()

    # What the custodian does

    def grant(self, vault: str, budget: Budget, *, kept: float | None = None, typical: Spending | None = None) -> None:
        """Record the grant of a vault, and what of its epsilon is kept for the custodian's own work.

        Raises:
            UsageError: if the accounts know another grant of the vault, or `kept` is out of range.
            BudgetExhausted: if what is kept does not fit beside the reserved shares.
        """
        if kept is not None and not 0 <= kept <= budget.epsilon:
            raise UsageError(f"--keep is {kept:g}. Give a number from 0 to the grant's epsilon, {budget.epsilon:g}.")
        with self.database.writing() as connection:
            grants.declare(connection, vault, budget)
            if kept is not None:
                grants.reserve_share(connection, vault, grants.KEPT, kept, typical=typical)

    def vaults(self) -> list[grants.Grant]:
        """Return the grants of all vaults that the accounts know."""
        with self.database.reading() as connection:
            return [grants.grant_of(row) for row in connection.execute(select(VAULTS).order_by(VAULTS.c.name))]

    def issue(
        self,
        name: str,
        vaults: Sequence[str],
        limits: Limits,
        *,
        delta: float | None = None,
        reserved: bool = False,
        footer: bool = False,
        typical: Spending | None = None,
    ) -> tuple[Key, str]:
        """Issue a key. Returns it, and its secret, which is stored nowhere.

        Args:
            name: what the custodian calls it.
            vaults: the vaults that it may see, whose grants are recorded.
            limits: its caps; `epsilon` must be given. By default it may ask every model of its vaults.
            delta: of its cap; the smallest of the vaults' grants if None.
            reserved: whether its cap is kept free of other keys' questions (`grants`).
            footer: whether each answer ends with a line about its price.
            typical: the charge of a usual question, for the first reserved share of a vault.

        Raises:
            UsageError: if a value is out of range, or the name is in use.
            BudgetExhausted: if a reserved cap does not fit the grant beside the other ones.
        """
        limits.check()
        if limits.epsilon is None:
            raise UsageError("A key needs a cap. Give one: --epsilon 10")
        if not vaults:
            raise UsageError("A key needs a vault. Name one: discreet key issue VAULT NAME --epsilon 10")
        with self.database.writing() as connection:
            keys.check_name(connection, name)
            known = [grants.read_grant(connection, vault).budget for vault in vaults]
            chosen = min(one.delta for one in known) if delta is None else delta
            if not 0 < chosen < 1:
                raise UsageError(f"--delta is {chosen:g}. Give a number between 0 and 1, such as 1e-6.")
            models = limits.models if limits.models is not None else [m for v in vaults for m in (v, f"{v}:*")]
            values = dict.fromkeys(("questions", "per_question", "rate_count", "rate_seconds", "expires"))
            values |= limits.columns() | {
                "name": name,
                "vaults": json.dumps(list(dict.fromkeys(vaults))),
                "models": json.dumps(list(models)),
                "delta": chosen,
                "failures": chosen * min(one.failures / one.delta for one in known),
                "reserved": reserved,
                "footer": footer,
            }
            public, secret = keys.add_key(connection, values, self._now(connection))
            key = keys.named_key(connection, public)
            if reserved:
                self._reserve(connection, key, typical)
            return key, secret

    def list_keys(self) -> list[Key]:
        """Return all keys, the oldest first."""
        with self.database.reading() as connection:
            return keys.all_keys(connection)

    def get(self, name: str) -> Key:
        """Return the key with this id or this name.

        Raises:
            UnknownName: if there is none.
        """
        with self.database.reading() as connection:
            return keys.named_key(connection, name)

    def extend(self, name: str, limits: Limits) -> Key:
        """Change the caps of a key that are given. Returns it.

        Raises:
            UnknownName: if there is no such key.
            UsageError: if the key was revoked, or a value is out of range.
            BudgetExhausted: if a reserved cap does not fit the grant beside the other ones.
        """
        limits.check()
        with self.database.writing() as connection:
            return self._extend(connection, self._live(connection, name), limits)

    def rotate(self, name: str) -> tuple[Key, str]:
        """Give a key another secret. The old one is not valid any more; meter, caps and id stay. Returns both.

        Raises:
            UnknownName: if there is no such key.
            UsageError: if the key was revoked.
        """
        with self.database.writing() as connection:
            key = self._live(connection, name)
            return key, keys.renew_secret(connection, key.id)

    def revoke(self, name: str) -> Key:
        """Revoke a key, for good. What it has spent stays spent; what was reserved beyond is free again. Returns it.

        Raises:
            UnknownName: if there is no such key.
        """
        with self.database.writing() as connection:
            key = keys.named_key(connection, name)
            connection.execute(update(KEYS).where(KEYS.c.id == key.id).values(revoked=True))
            for vault in key.vaults if key.reserved else ():
                spent = meters.read_spent(connection, key.id, vault)
                share = grants.read_grant(connection, vault).read(spent)
                grants.put_share(connection, vault, key.id, share)
            return keys.named_key(connection, key.id)

    # Requests for more budget

    def request(self, key: str, epsilon: float, reason: str) -> BudgetRequest:
        """Record a request of an analyst for more budget.

        Raises:
            UsageError: if a value is out of range, or too many requests of the key are pending.
        """
        with self.database.writing() as connection:
            return requests.add_request(connection, key, epsilon, reason, self._now(connection))

    def requests(self, *, pending: bool = True) -> list[BudgetRequest]:
        """Return the requests, the oldest first; those that are pending alone, or all."""
        with self.database.reading() as connection:
            return requests.list_requests(connection, pending=pending)

    def requests_of(self, key: str) -> list[BudgetRequest]:
        """Return all requests of a key, the oldest first."""
        return [one for one in self.requests(pending=False) if one.key == key]

    def approve(self, number: int) -> tuple[BudgetRequest, Key]:
        """Approve a request: the cap of its key grows by what was asked for. Returns the request and the key.

        Raises:
            UnknownName: if there is no such request.
            UsageError: if it was decided before, or the key was revoked.
            BudgetExhausted: if a reserved cap does not fit the grant beside the other ones.
        """
        with self.database.writing() as connection:
            found = requests.decide(connection, number, APPROVED, self._now(connection))
            key = self._live(connection, found.key)
            return found, self._extend(connection, key, Limits(epsilon=key.epsilon + found.epsilon))

    def deny(self, number: int) -> BudgetRequest:
        """Deny a request. Returns it.

        Raises:
            UnknownName: if there is no such request.
            UsageError: if it was decided before.
        """
        with self.database.writing() as connection:
            return requests.decide(connection, number, DENIED, self._now(connection))

    def asked(self, *, days: float | None = None, skip: int = 0, limit: int | None = None) -> list[dict[str, Any]]:
        """Return the receipts of all keys, each with its `key`, the newest first; those of the last days alone."""
        with self.database.reading() as connection:
            since = 0.0 if days is None else self._now(connection) - days * 86_400
            return questions.asked(connection, since=since, skip=skip, limit=limit)

    # What the front does

    def find(self, secret: str) -> Key | None:
        """Return the key with this secret; None for an unknown, an expired and a revoked one alike."""
        with self.database.reading() as connection:
            return keys.find_secret(connection, secret, self._now(connection))

    def find_named(self, name: str) -> Key | None:
        """Return the key with this id or this name; None for an expired and a revoked one.

        Raises:
            UnknownName: if there is none.
        """
        with self.database.reading() as connection:
            found = keys.named_key(connection, name)
            return found if found.is_valid(self._now(connection)) else None

    def reserve(
        self,
        key: str,
        question: str,
        most: Charged,
        *,
        vault: str,
        model: str,
        fingerprint: str,
        idempotency: str | None = None,
        anew: bool = False,
    ) -> Outcome:
        """Charge a key for a question at its ceiling, before it is asked; or return why it is not to be asked.

        Args:
            key: the key's id.
            question: the question's id, the same as in the vault's ledger.
            most: the most that it may cost any one unit: `Estimated.most`.
            vault: the vault.
            model: the model, as the analyst named it.
            fingerprint: a hash of the fields that make it the same request.
            idempotency: the client's Idempotency-Key; None if it sent none.
            anew: whether it is asked again although it was answered.

        Returns:
            A `Reservation`; or a refusal; or what the same request found: `Mismatch`, `InFlight`, `Replay`.
        """
        return self._ask(Asking(key, question, vault, model, most, fingerprint, idempotency, anew))

    def settle(
        self, question: str, spent: Charged, reply: dict[str, Any] | None = None, *, stopped: str = ""
    ) -> Settled:
        """Charge a key what its question has spent, in place of the ceiling. A charge never grows.

        Args:
            question: the question's id.
            spent: what it has cost any one unit: `Answered.spent` or `Refused.paid`.
            reply: what the same request is to get for a while: an answer as released, or an error. None if nothing is.
            stopped: why the answer ended, as on its receipt.

        Raises:
            UsageError: if the question was never reserved.
        """
        with self.database.writing() as connection:
            now = self._now(connection)
            settled = questions.settle(connection, question, spent, reply, stopped, now)
            if self.database.shared:
                flights.land(connection, question)
        if settled is None:
            raise UsageError("The question was never reserved, so it cannot be settled. Reserve it first.")
        return settled

    def forget_replies(self) -> None:
        """Delete the replies that no request can find any more. The front calls it every hour."""
        with self.database.writing() as connection:
            now = self._now(connection)
            questions.forget_replies(connection, now)
            names.forget(connection, now - questions.BY_NAME)

    def recall(
        self, key: str, fingerprint: str, idempotency: str | None = None, *, anew: bool = False
    ) -> Recalled | None:
        """Return what the same request of a key found before; None if it is to be asked."""
        with self.database.reading() as connection:
            return questions.find(connection, key, fingerprint, idempotency, self._now(connection), anew=anew)

    def join(self, key: str, question: str, fingerprint: str, idempotency: str) -> Recalled | None:
        """Have an Idempotency-Key find a question that another request asks; or return what it found before."""
        with self.database.writing() as connection:
            now = self._now(connection)
            found = questions.find_named(connection, key, fingerprint, idempotency, now)
            if found is None:
                names.record(connection, key, idempotency, question, now)
            return found

    def odometer(self, key: str) -> Meter:
        """Return the odometer of a key.

        Raises:
            UnknownName: if there is no such key.
        """
        with self.database.reading() as connection:
            # A key is found by its id: so no other key is read.
            return meters.read_meter(connection, keys.read_key(connection, key) or keys.named_key(connection, key))

    def receipts(self, key: str, *, before: str | None = None, limit: int = 100) -> list[dict[str, Any]]:
        """Return receipts of a key, the newest first; those older than the question `before` if it is given."""
        with self.database.reading() as connection:
            return questions.receipts(connection, key, before=before, limit=min(max(1, limit), _MOST_RECEIPTS))

    def receipt(self, key: str, question: str) -> dict[str, Any] | None:
        """Return the receipt of a question; None if the key has not asked it."""
        with self.database.reading() as connection:
            return questions.receipt(connection, key, question)

    def settle_lost(self, spent: Charged, reply: dict[str, Any]) -> list[str]:
        """Settle the questions that a crash of this server left in flight. Returns their ids.

        In one transaction: between two, the same request could find no reply yet, and would be paid twice.
        """
        with self.database.writing() as connection:
            now = self._now(connection)
            questions.mark_lost(connection, self._server)
            lost = questions.list_lost(connection, self._server)
            for question in lost:
                questions.settle(connection, question, spent, reply, "interrupted", now)
                if self.database.shared:
                    flights.land(connection, question)
            return lost

    def unsettled(self) -> dict[str, Spending]:
        """Return the questions that are not settled, with what their keys are charged for them."""
        with self.database.reading() as connection:
            return questions.unsettled(connection)

    def close(self) -> None:
        """Close the connections of this process."""
        self.database.close()

    def _ask(self, asking: Asking) -> Outcome:
        with self.database.writing() as connection:
            now = self._now(connection)
            found = questions.check(connection, asking, now)
            if not isinstance(found, Admitted):
                return found
            if self._server:
                flights.begin(connection, asking.question, self._server)
            return questions.write(connection, asking, found, now)

    def _now(self, connection: Connection) -> float:
        return questions.now_of(connection, self._clock)

    def _live(self, connection: Connection, name: str) -> Key:
        key = keys.named_key(connection, name)
        if key.revoked:
            raise UsageError(
                f"The key {key.id} was revoked, for good. Issue another one: discreet key issue VAULT NAME"
            )
        return key

    def _extend(self, connection: Connection, key: Key, limits: Limits) -> Key:
        if values := limits.columns():
            connection.execute(update(KEYS).where(KEYS.c.id == key.id).values(values))
        changed = keys.named_key(connection, key.id)
        if key.reserved and limits.epsilon is not None:
            self._reserve(connection, changed, None)
        return changed

    def _reserve(self, connection: Connection, key: Key, typical: Spending | None) -> None:
        for vault in key.vaults:
            spent = meters.read_spent(connection, key.id, vault)
            grants.reserve_share(connection, vault, key.id, key.epsilon, typical=typical, spent=spent)

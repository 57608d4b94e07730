"""`Accounts`: keys, meters, questions and requests of a server, each operation one transaction of a log.

    STATE/front/accounts.sqlite    the log (books.py) and the table of replies; servers may share a PostgreSQL schema
    STATE/front/accounts.counter   number and hash of its last row, by which an older copy is noticed
    STATE/front/accounts.key       the key of the marks of questions and names; it is not in the database

What an operation reads and decides comes from the books (books.py). What it changes, it appends to the log as rows.

A transaction that writes holds the lock of the database from its first statement on, so that what it reads cannot
change before it writes. Its commit is on disk when it returns. One that reads waits for no writer.

A process also knows the newest row that it wrote, and refuses a database that lacks it. Accounts in PostgreSQL, which
have no counter beside them, have that alone. That the whole folder was put back while no server ran is not noticed: a
head of the audit log that was filed elsewhere shows it (audit_log.py).

No error holds a secret, a question or an answer.
"""

import os
import secrets
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from hashlib import blake2b
from itertools import islice, takewhile
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, inspect, text

from discreet.config import check_format
from discreet.errors import DiscreetError, LedgerError, UnknownName, UsageError, VaultVersionError
from discreet.log import chain
from discreet.log.chain import CORRUPT, Head
from discreet.log.postgres import PostgresSchema
from discreet.log.replay import Counter, Log, Place, Reached
from discreet.log.sqlite import RIGHTS, SqliteFile, make_log, making
from discreet.privacy.accounting import Budget, Spending
from discreet.system.databases import TurnLock
from discreet_server.accounts import questions
from discreet_server.accounts.books import OPENING, Books, Found, KeyQuestion, QuestionReceipt, append
from discreet_server.accounts.grants import KEPT, GrantShare, Meter, VaultGrant
from discreet_server.accounts.keys import (
    APPROVED,
    DENIED,
    PENDING,
    BudgetRequest,
    Columns,
    Key,
    Limits,
    check_name,
    check_request,
    digest_of,
    fields_of,
    make_public,
    make_secret,
    matches,
    public_of,
    stamp,
)
from discreet_server.accounts.questions import Outcome, RateLimited, Recalled, Reservation, Settled
from discreet_server.wire import UnitCharge

SCHEMA = "accounts"
"""The schema of shared accounts."""
_MOST_RECEIPTS = 1000
_LONGEST_SECRET = 256
_BEFORE_9 = text("select 1 from pg_tables where tablename = 'accounts_state'")
_GOES_ON = "Put the newest copy back. To go on with this one: discreet key accept-copy VAULT"


class AccountsError(DiscreetError):
    """A database of accounts that cannot be used. Without it no question is asked."""


class OlderCopy(AccountsError):  # noqa: N818 - reads better without the suffix
    """A database of accounts that lacks changes which were made before: an older copy was put back."""


class _Counter(Counter):
    def older(self, now: Reached, known: Reached) -> OlderCopy:
        return OlderCopy(
            f"The accounts were put back from an older copy: they have {now.row} changes of {known.row}. Keys forget "
            f"what they spent since; the grant of each individual still holds. {_GOES_ON}"
        )

    def forked(self, row: int) -> OlderCopy:
        return OlderCopy(
            f"The accounts are another copy than the newest one: their change {row} is a different one. Keys forget "
            f"what they spent in the other copy; the grant of each individual still holds. {_GOES_ON}"
        )


class Accounts(Log[Books]):
    """The accounts of a server. Threads share one object; several processes and servers may share the log.

    Attributes:
        shared: whether several servers may share the database.
    """

    counter: Counter

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
            address: STATE/front/accounts.sqlite, or a URL that begins with `postgresql`.
            clock: the time, in seconds.
            check_copy: whether to refuse an older copy of the database.
            server: the id of the server that asks, where several servers share a database.

        Raises:
            AccountsError: if the database cannot be used.
            OlderCopy: if it is an older copy than the newest one, or is missing and was there before.
        """
        self.shared, self._secret, self._clock = str(address).startswith("postgresql"), b"", clock
        self._server = server if self.shared else ""
        self._one_writes = TurnLock()  # many threads ask; SQLite would have each try again and again
        place: Place
        with _explained():
            if self.shared:
                place, counter = _open_schema(str(address)), _Counter(None)
            else:
                path = Path(address).absolute()
                place, counter = SqliteFile(path), _Counter(path.with_suffix(".counter"))
                self._secret = _make_files(path, counter)
            super().__init__(place, Books)
            _add_counts(place)
        self.counter = counter
        if check_copy:
            self.check_counter(counter)

    @contextmanager
    def reading(self, *, checked: bool = True) -> Iterator[Found]:
        """Hold a transaction that reads one state of the database, after its check: no unchecked row admits a key."""
        with _explained(), super().reading(checked=checked) as view:
            yield view

    @contextmanager
    def writing(self, *, durable: bool = True) -> Iterator[Found]:
        """Hold a transaction that no other one writes beside; it is on disk afterwards, or nothing of it is.

        Raises:
            OlderCopy: if the database lacks a row that was there before.
        """
        with self._one_writes, _explained(), super().writing(durable=durable) as transaction:
            yield transaction

    def accept_copy(self) -> None:
        """Have the counter forget what this copy of the database lacks."""
        self.counter.forget()
        self.note()

    def _note(self, head: Head) -> None:
        # Nothing is read back, which could fail: who gets an error here finds that nothing was changed.
        self.counter.note(Reached(0, 0, head.id, head.hash.hex()))

    def mark(self, what: str, value: str) -> str:
        """Return a hash of a question or a name, with the key of the accounts.

        Without the key, no reader of the database can try which question has it. Shared accounts have no key: their
        servers would need the same one.
        """
        key, person = self._secret, what.encode()
        return blake2b(value.encode("utf-8", "surrogatepass"), digest_size=16, key=key, person=person).hexdigest()

    # What the custodian does

    def grant(self, vault: str, budget: Budget, *, kept: float | None = None, typical: Spending | None = None) -> None:
        """Record the grant of a vault, and what of its epsilon is kept for the custodian's own work.

        Raises:
            UsageError: if the accounts know another grant of the vault, or `kept` is out of range.
            BudgetExhausted: if what is kept does not fit beside the reserved shares.
        """
        if kept is not None and not 0 <= kept <= budget.epsilon:
            raise UsageError(f"--keep is {kept:g}. Give a number from 0 to the grant's epsilon, {budget.epsilon:g}.")
        with self.writing() as transaction:
            is_known = transaction.state.knows(vault)
            grant = transaction.state.grant(vault) if is_known else VaultGrant(vault, budget)
            if grant.budget != budget:
                raise UsageError(
                    f"The accounts know a vault called '{vault}' with another grant: epsilon {grant.budget.epsilon:g} "
                    f"at delta {grant.budget.delta:g}. Use another state folder: --state DIR"
                )
            if not is_known:
                values = [budget.epsilon, budget.delta, budget.failures, budget.order, budget.accountant]
                append(transaction, "grant", vault, {"budget": values})
            if kept is not None:
                _reserve_share(transaction, grant, KEPT, kept, typical)

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
        where: Sequence[str] = (),
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
            where: tests of declared fields that bind it to a population, for good.

        Raises:
            UsageError: if a value is out of range, or the name is in use.
            BudgetExhausted: if a reserved cap does not fit the grant beside the other ones.
        """
        limits.check()
        if limits.epsilon is None:
            raise UsageError("A key needs a cap. Give one: --epsilon 10")
        if not vaults:
            raise UsageError("A key needs a vault. Name one: discreet key issue VAULT NAME --epsilon 10")
        with self.writing() as transaction:
            books, public = transaction.state, make_public()
            check_name(name, books.keys.values())
            budgets = [books.grant(vault).budget for vault in vaults]
            chosen = min(one.delta for one in budgets) if delta is None else delta
            if not 0 < chosen < 1:
                raise UsageError(f"--delta is {chosen:g}. Give a number between 0 and 1, such as 1e-6.")
            while public in books.keys:
                public = make_public()
            secret = make_secret(public)
            columns: Columns = {"models": [model for vault in vaults for model in (vault, f"{vault}:*")]}
            columns |= limits.columns() | {
                "id": public,
                "name": name,
                "vaults": list(dict.fromkeys(vaults)),
                "delta": chosen,
                "failures": chosen * min(one.failures / one.delta for one in budgets),
                "reserved": reserved,
                "footer": footer,
                "where": list(where),
                "revoked": False,
                "created": self._now(books),
            }
            append(transaction, "issue", public, columns | {"digest": digest_of(secret)})
            key = Key(**fields_of(columns))
            if reserved:
                _reserve(transaction, key, typical)
            return key, secret

    def list_keys(self) -> list[Key]:
        """Return all keys, the oldest first."""
        with self.reading() as view:
            return list(view.state.keys.values())

    def get(self, name: str) -> Key:
        """Return the key with this id or this name.

        Raises:
            UnknownName: if there is none.
        """
        with self.reading() as view:
            return view.state.named_key(name)

    def extend(self, name: str, limits: Limits) -> Key:
        """Change the caps of a key that are given. Returns it.

        Raises:
            UnknownName: if there is no such key.
            UsageError: if the key was revoked, or a value is out of range.
            BudgetExhausted: if a reserved cap does not fit the grant beside the other ones.
        """
        limits.check()
        with self.writing() as transaction:
            return _extend(transaction, _live(transaction.state, name), limits)

    def rotate(self, name: str) -> tuple[Key, str]:
        """Give a key another secret. The old one is not valid any more; meter, caps and id stay. Returns both.

        Raises:
            UnknownName: if there is no such key.
            UsageError: if the key was revoked.
        """
        with self.writing() as transaction:
            key = _live(transaction.state, name)
            secret = make_secret(key.id)
            append(transaction, "change", key.id, {"digest": digest_of(secret)})
            return key, secret

    def revoke(self, name: str) -> Key:
        """Revoke a key, for good. What it has spent stays spent; what was reserved beyond is free again. Returns it.

        Raises:
            UnknownName: if there is no such key.
        """
        with self.writing() as transaction:
            key = transaction.state.named_key(name)
            for vault in key.vaults if key.reserved else ():
                grant = transaction.state.grant(vault)
                _put_share(transaction, grant, key.id, grant.read(transaction.state.spent(key.id, vault)))
            return _change(transaction, key, {"revoked": True})

    # Requests for more budget

    def request(self, key: str, epsilon: float, reason: str) -> BudgetRequest:
        """Record a request of an analyst for more budget.

        Raises:
            UsageError: if a value is out of range, or too many requests of the key are pending.
        """
        with self.writing() as transaction:
            books = transaction.state
            mine = [one for one in books.requests.values() if one.key == key and one.state == PENDING]
            text, number = check_request(epsilon, reason, len(mine)), len(books.requests) + 1
            moment = self._now(books)
            content = {
                "key": key,
                "epsilon": epsilon,
                "reason": text,
                "made": moment,
                "state": PENDING,
                "decided": None,
            }
            append(transaction, "request", str(number), content)
            return BudgetRequest(number, key, epsilon, text, PENDING, stamp(moment), None)

    def requests(self, *, pending: bool = True) -> list[BudgetRequest]:
        """Return the requests, the oldest first; those that are pending alone, or all."""
        with self.reading() as view:
            return [one for one in view.state.requests.values() if not pending or one.state == PENDING]

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
        with self.writing() as transaction:
            request = self._decide(transaction, number, APPROVED)
            key = _live(transaction.state, request.key)
            return request, _extend(transaction, key, Limits(epsilon=key.epsilon + request.epsilon))

    def deny(self, number: int) -> BudgetRequest:
        """Deny a request. Returns it.

        Raises:
            UnknownName: if there is no such request.
            UsageError: if it was decided before.
        """
        with self.writing() as transaction:
            return self._decide(transaction, number, DENIED)

    def asked(self, *, days: float | None = None, skip: int = 0, limit: int | None = None) -> list[dict[str, Any]]:
        """Return the receipts of all keys, each with its `key`, the newest first; those of the last days alone."""
        with self.reading() as view:
            since = 0.0 if days is None else self._now(view.state) - days * 86_400
            recent = takewhile(lambda one: one.asked >= since, view.state.newest_first())
            last = None if limit is None else skip + limit
            return [{**one.receipt(), "key": one.key} for one in islice(recent, skip, last)]

    # What the front does

    def find(self, secret: str) -> Key | None:
        """Return the key with this secret; None for an unknown, an expired and a revoked one alike."""
        with self.reading() as view:
            public = public_of(secret)
            # A secret of any length takes the same time, whether it is known or not.
            if not matches(secret[:_LONGEST_SECRET], view.state.digests.get(public)):
                return None
            key = view.state.keys[public]
            return key if key.is_valid(self._now(view.state)) else None

    def find_named(self, name: str, digest: str = "") -> Key | None:
        """Return the key with this id or this name; None for an expired and a revoked one.

        Args:
            name: its id or its name.
            digest: of the secret that it must still have; "" for any.

        Raises:
            UnknownName: if there is none.
        """
        with self.reading() as view:
            key = view.state.named_key(name)
            same = not digest or view.state.digests[key.id] == digest
            return key if same and key.is_valid(self._now(view.state)) else None

    def reserve(
        self,
        key: str,
        question: str,
        most: UnitCharge,
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
        request, name = self._marks(fingerprint, idempotency)
        charged = most.epsilon, most.delta, most.spending
        one = KeyQuestion(question, key, vault, model, 0.0, request, name, self._server, *charged)
        return self._ask(one, anew=anew)

    def settle(
        self, question: str, spent: UnitCharge, reply: dict[str, Any] | None = None, *, stopped: str = ""
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
        with self.writing() as transaction:
            one = transaction.state.questions.get(question)
            if one is None:
                raise UsageError("The question was never reserved, so it cannot be settled. Reserve it first.")
            return questions.settle(transaction, one, spent, reply, stopped, self._now(transaction.state))

    def forget(self) -> None:
        """Delete replies and counts that nothing can find any more. The front calls it every hour."""
        with self.writing() as transaction:
            questions.forget(transaction, self._now(transaction.state))

    def recall(
        self, key: str, fingerprint: str, idempotency: str | None = None, *, anew: bool = False
    ) -> Recalled | RateLimited | None:
        """Return what the same request of a key found before; None if it is to be asked.

        If it found nothing, and the key had too many estimates and refusals, it is refused.
        """
        request, name = self._marks(fingerprint, idempotency)
        with self.reading() as view:
            now = self._now(view.state)
            recalled = questions.find(view, key, request, name, now, anew=anew)
            return recalled or questions.check_count(view, self.mark("count", key), questions.UNPAID, now)

    def count_unpaid(self, key: str) -> RateLimited | None:
        """Count an estimate or a refusal of a key. Return the refusal if there were too many within the last minute."""
        return self._count(key, questions.UNPAID)

    def count_sign_in(self, key: str, person: str = "") -> RateLimited | None:
        """Count a sign-in by a key, or of a person; as `count_unpaid`."""
        return self._count(f"sign-in {key} {person}", questions.SIGN_INS)

    def is_first(self, key: str, code: str) -> bool:
        """Return whether a key had no refusal with this code within the last minute, and count it."""
        return self._count(f"refusal {key} {code}", 1) is None

    def _count(self, what: str, most: int) -> RateLimited | None:
        # A power cut may forget a minute of it, so it needs not be on the disk.
        with self.writing(durable=False) as transaction:
            return questions.count(transaction, self.mark("count", what), most, self._now(transaction.state))

    def join(self, key: str, question: str, fingerprint: str, idempotency: str) -> Recalled | None:
        """Have an Idempotency-Key find a question that another request asks; or return what it found before.

        A question that is not reserved has nothing to find: then nothing is recorded.
        """
        request, name = self._marks(fingerprint, idempotency)
        assert name is not None
        with self.writing() as transaction:
            now = self._now(transaction.state)
            recalled = questions.find_named(transaction, key, request, name, now)
            if recalled is None and question in transaction.state.questions:
                append(transaction, "join", question, {"name": name, "asked": now})
            return recalled

    def odometer(self, key: str) -> Meter:
        """Return the odometer of a key.

        Raises:
            UnknownName: if there is no such key.
        """
        with self.reading() as view:
            return view.state.meter(view.state.named_key(key))

    def receipts(self, key: str, *, before: str | None = None, limit: int = 100) -> list[QuestionReceipt]:
        """Return receipts of a key, the newest first; those older than the question `before` if it is given."""
        with self.reading() as view:
            newest = view.state.newest_first(key)
            if before is not None and all(one.id != before for one in newest):  # takes all up to `before`
                return []
            return [one.receipt() for one in islice(newest, min(max(1, limit), _MOST_RECEIPTS))]

    def receipt(self, key: str, question: str) -> QuestionReceipt | None:
        """Return the receipt of a question; None if the key has not asked it."""
        with self.reading() as view:
            one = view.state.questions.get(question)
            return one.receipt() if one is not None and one.key == key else None

    def settle_lost(self, spent: UnitCharge, reply: dict[str, Any]) -> list[str]:
        """Settle the questions that a crash of this server left in flight. Returns their ids.

        In one transaction: between two, the same request could find no reply yet, and would be paid twice.
        """
        with self.writing() as transaction:
            now, left = self._now(transaction.state), self._left_behind(transaction.state)
            for one in left:
                questions.settle(transaction, one, spent, reply, "interrupted", now)
            return [one.id for one in left]

    def questions(self) -> list[KeyQuestion]:
        """Return all questions, the oldest first, as the accounts have them."""
        with self.reading() as view:
            return [replace(one) for one in view.state.questions.values()]

    def close(self) -> None:
        """Close the connections of this process."""
        self.place.engine.dispose()

    def _ask(self, one: KeyQuestion, *, anew: bool) -> Outcome:
        # A refusal, or what was found, needs no lock: it neither waits for a payment nor holds one up.
        with self.reading() as transaction:
            one.asked = self._now(transaction.state)
            outcome = questions.check(transaction, one, anew=anew)
        if not isinstance(outcome, Reservation):
            return outcome
        with self.writing() as transaction:
            one.asked = self._now(transaction.state)
            outcome = questions.check(transaction, one, anew=anew)
            if isinstance(outcome, Reservation):
                questions.write(transaction, one)
            return outcome

    def _now(self, books: Books) -> float:
        """Return the time: the clock's, or that of the newest question if the clock was set back."""
        return max(self._clock(), books.newest)

    def _marks(self, fingerprint: str, idempotency: str | None) -> tuple[str, str | None]:
        return self.mark("question", fingerprint), None if idempotency is None else self.mark("name", idempotency)

    def _left_behind(self, books: Books) -> list[KeyQuestion]:
        """Return what is not settled: of this server, or all if no other one uses the accounts."""
        left = (one for one in books.questions.values() if one.settled is None)
        return [one for one in left if not self._server or one.server == self._server]

    def _decide(self, found: Found, number: int, state: str) -> BudgetRequest:
        request, now = found.state.requests.get(number), self._now(found.state)
        if request is None:
            pending = [str(one.id) for one in found.state.requests.values() if one.state == PENDING]
            raise UnknownName("pending request", str(number), pending or ["(none)"])
        if request.state != PENDING:
            raise UsageError(
                f"Request {number} was {request.state} before. List what is pending: discreet key requests VAULT"
            )
        append(found, "decide", str(number), {"state": state, "decided": now})
        return replace(request, state=state, decided=stamp(now))


def _live(books: Books, name: str) -> Key:
    key = books.named_key(name)
    if key.revoked:
        raise UsageError(f"The key {key.id} was revoked, for good. Issue another one: discreet key issue VAULT NAME")
    return key


def _change(found: Found, key: Key, values: Columns) -> Key:
    """Change values of a key. Return the key with them."""
    append(found, "change", key.id, values)
    return replace(key, **fields_of(values))


def _extend(found: Found, key: Key, limits: Limits) -> Key:
    changed = _change(found, key, values) if (values := limits.columns()) else key
    if key.reserved and limits.epsilon is not None:
        _reserve(found, changed, None)
    return changed


def _reserve(found: Found, key: Key, typical: Spending | None) -> None:
    """Reserve the cap of a key in each of its vaults."""
    for vault in key.vaults:
        _reserve_share(found, found.state.grant(vault), key.id, key.epsilon, typical)


def _reserve_share(found: Found, grant: VaultGrant, holder: str, epsilon: float, typical: Spending | None) -> None:
    grant = grant.with_reading(typical)
    _put_share(found, grant, holder, grant.fit_share(holder, epsilon, found.state.spent(holder, grant.vault)))


def _put_share(found: Found, grant: VaultGrant, holder: str, share: GrantShare) -> None:
    content = {"holder": holder, "loss": share.loss, "failures": share.failures, "reading": grant.reading}
    append(found, "share", grant.vault, content)


@contextmanager
def _explained() -> Iterator[None]:
    """Turn an error of the log into an `AccountsError` that names what to do."""
    try:
        yield
    except VaultVersionError as error:
        message = str(error).partition(" Or make ")[0].replace("The ledger has", "The accounts have")
        raise AccountsError(
            f"{message} Or move them away, and issue new keys: discreet key issue. Keys forget what they spent; the "
            "grant of each individual still holds."
        ) from None
    except LedgerError as error:
        said = str(error)
        if said == CORRUPT:
            said = "The database of accounts is damaged. No question is asked. Restore it from a copy, and run: "
            said += "discreet key accept-copy VAULT"
        raise AccountsError(said.replace("ledger", "accounts' log")) from None


def _fill(connection: Connection) -> None:
    chain.make(connection, OPENING)
    questions.TABLES.create_all(connection, checkfirst=False)


def _add_counts(place: Place) -> None:
    """Make the table of what is counted in accounts of a version that had none."""
    with place.reading() as connection:
        missing = not inspect(connection).has_table(questions.COUNTS.name)
    if missing:
        with place.writing() as connection:
            questions.COUNTS.create(connection, checkfirst=True)


def _open_schema(url: str) -> PostgresSchema:
    """Return the schema of shared accounts, which is made if there is none."""
    schema = PostgresSchema(url, SCHEMA)
    if not schema.is_made():
        with schema.reading() as connection:
            if connection.execute(_BEFORE_9).first():
                check_format("The ledger", "before 9, in the table accounts_state of its database")
        try:
            schema.make(_fill)
        except LedgerError:
            if not schema.is_made():  # another server made it meanwhile
                raise
    return schema


def _make_files(path: Path, counter: Counter) -> bytes:
    """Make the file of the accounts and their key, if there are none. Return the key."""
    try:
        with making(path.parent):
            if not path.exists():
                if (before := counter.read()) is not None:
                    raise OlderCopy(
                        f"The database {path} is missing, and had {before.row} changes. Restore it from a copy, and "
                        "run: discreet key accept-copy VAULT"
                    )
                make_log(path, _fill)
            return _read_secret(path.with_suffix(".key"))
    except OSError as error:
        raise AccountsError(
            f"No accounts can be made in {path.parent}: {error.strerror}. Choose another folder with --state."
        ) from None


def _read_secret(path: Path) -> bytes:
    """Return the key of the marks. A new one finds no question that was asked before: those are paid again."""
    with suppress(FileNotFoundError):
        if len(secret := path.read_bytes()) == 32:
            return secret
        path.unlink()
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, RIGHTS)
    with os.fdopen(file, "wb") as new_file:
        new_file.write(secrets.token_bytes(32))
    return path.read_bytes()

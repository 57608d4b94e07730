"""`Accounts`: keys, meters, questions and requests of a server, each operation one transaction.

What an operation reads and decides comes from the books (books.py). What it changes, it appends to the log as rows.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import islice, takewhile
from pathlib import Path
from typing import Any

from discreet.errors import UsageError
from discreet.privacy.accounting import Budget, Spending
from discreet.server.accounts import questions
from discreet.server.accounts.books import Asked, Books, QuestionReceipt
from discreet.server.accounts.database import Database, Writing
from discreet.server.accounts.grants import KEPT, Grant, Share
from discreet.server.accounts.key_format import digest_of, make_public, make_secret, matches, public_of
from discreet.server.accounts.keys import Columns, Key, Limits, check_name, key_of, stamp
from discreet.server.accounts.meters import Charged, Meter
from discreet.server.accounts.outcomes import Outcome, Recalled, Settled
from discreet.server.accounts.questions import Admitted, Asking
from discreet.server.accounts.requests import APPROVED, DENIED, PENDING, BudgetRequest, check_pending, check_request

_MOST_RECEIPTS = 1000
_LONGEST_SECRET = 256


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
        with self.database.writing() as found:
            known = {grant.vault: grant for grant in found.books.vaults}
            grant = known.get(vault) or Grant(vault, budget, "", Spending.nothing())
            if grant.budget != budget:
                raise UsageError(
                    f"The accounts know a vault called '{vault}' with another grant: epsilon {grant.budget.epsilon:g} "
                    f"at delta {grant.budget.delta:g}. Use another state folder: --state DIR"
                )
            if vault not in known:
                values = [budget.epsilon, budget.delta, budget.failures, budget.order, budget.accountant]
                found.append("grant", vault, {"budget": values})
            if kept is not None:
                _reserve_share(found, grant, KEPT, kept, typical)

    def vaults(self) -> list[Grant]:
        """Return the grants of all vaults that the accounts know."""
        with self.database.reading() as found:
            return found.books.vaults

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
        with self.database.writing() as found:
            books, public = found.books, make_public()
            check_name(name, books.keys)
            known = [books.grant(vault).budget for vault in vaults]
            chosen = min(one.delta for one in known) if delta is None else delta
            if not 0 < chosen < 1:
                raise UsageError(f"--delta is {chosen:g}. Give a number between 0 and 1, such as 1e-6.")
            while books.key(public) is not None:
                public = make_public()
            secret = make_secret(public)
            columns: Columns = dict.fromkeys(("questions", "per_question", "rate", "expires"))
            columns["models"] = [model for vault in vaults for model in (vault, f"{vault}:*")]
            columns |= limits.columns() | {
                "id": public,
                "digest": digest_of(secret),
                "name": name,
                "vaults": list(dict.fromkeys(vaults)),
                "delta": chosen,
                "failures": chosen * min(one.failures / one.delta for one in known),
                "reserved": reserved,
                "footer": footer,
                "revoked": False,
                "created": self._now(books),
            }
            found.append("issue", public, columns)
            key = key_of(columns)
            if reserved:
                _reserve(found, key, typical)
            return key, secret

    def list_keys(self) -> list[Key]:
        """Return all keys, the oldest first."""
        with self.database.reading() as found:
            return found.books.keys

    def get(self, name: str) -> Key:
        """Return the key with this id or this name.

        Raises:
            UnknownName: if there is none.
        """
        with self.database.reading() as found:
            return found.books.named_key(name)

    def extend(self, name: str, limits: Limits) -> Key:
        """Change the caps of a key that are given. Returns it.

        Raises:
            UnknownName: if there is no such key.
            UsageError: if the key was revoked, or a value is out of range.
            BudgetExhausted: if a reserved cap does not fit the grant beside the other ones.
        """
        limits.check()
        with self.database.writing() as found:
            return _extend(found, _live(found.books, name), limits)

    def rotate(self, name: str) -> tuple[Key, str]:
        """Give a key another secret. The old one is not valid any more; meter, caps and id stay. Returns both.

        Raises:
            UnknownName: if there is no such key.
            UsageError: if the key was revoked.
        """
        with self.database.writing() as found:
            key = _live(found.books, name)
            secret = make_secret(key.id)
            found.append("change", key.id, {"digest": digest_of(secret)}, again=True)
            return key, secret

    def revoke(self, name: str) -> Key:
        """Revoke a key, for good. What it has spent stays spent; what was reserved beyond is free again. Returns it.

        Raises:
            UnknownName: if there is no such key.
        """
        with self.database.writing() as found:
            key = found.books.named_key(name)
            for vault in key.vaults if key.reserved else ():
                grant = found.books.grant(vault)
                _put_share(found, grant, key.id, grant.read(found.books.spent(key.id, vault)))
            return _change(found, key, {"revoked": True})

    # Requests for more budget

    def request(self, key: str, epsilon: float, reason: str) -> BudgetRequest:
        """Record a request of an analyst for more budget.

        Raises:
            UsageError: if a value is out of range, or too many requests of the key are pending.
        """
        with self.database.writing() as found:
            books = found.books
            mine = [one for one in books.requests(pending=True) if one.key == key]
            text, number = check_request(epsilon, reason, len(mine)), len(books.requests(pending=False)) + 1
            made = self._now(books)
            content = {"key": key, "epsilon": epsilon, "reason": text, "made": made, "state": PENDING, "decided": None}
            found.append("request", str(number), content)
            return BudgetRequest(number, key, epsilon, text, PENDING, stamp(made), None)

    def requests(self, *, pending: bool = True) -> list[BudgetRequest]:
        """Return the requests, the oldest first; those that are pending alone, or all."""
        with self.database.reading() as found:
            return found.books.requests(pending=pending)

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
        with self.database.writing() as found:
            request = self._decide(found, number, APPROVED)
            key = _live(found.books, request.key)
            return request, _extend(found, key, Limits(epsilon=key.epsilon + request.epsilon))

    def deny(self, number: int) -> BudgetRequest:
        """Deny a request. Returns it.

        Raises:
            UnknownName: if there is no such request.
            UsageError: if it was decided before.
        """
        with self.database.writing() as found:
            return self._decide(found, number, DENIED)

    def asked(self, *, days: float | None = None, skip: int = 0, limit: int | None = None) -> list[dict[str, Any]]:
        """Return the receipts of all keys, each with its `key`, the newest first; those of the last days alone."""
        with self.database.reading() as found:
            since = 0.0 if days is None else self._now(found.books) - days * 86_400
            recent = takewhile(lambda one: one.asked >= since, found.books.newest_first())
            last = None if limit is None else skip + limit
            return [{**one.receipt(), "key": one.key} for one in islice(recent, skip, last)]

    # What the front does

    def find(self, secret: str) -> Key | None:
        """Return the key with this secret; None for an unknown, an expired and a revoked one alike."""
        with self.database.reading() as found:
            columns = found.books.columns(public_of(secret))
            # A secret of any length takes the same time, whether it is known or not.
            if not matches(secret[:_LONGEST_SECRET], None if columns is None else columns["digest"]):
                return None
            assert columns is not None  # it has the digest
            key = key_of(columns)
            return key if key.is_valid(self._now(found.books)) else None

    def find_named(self, name: str) -> Key | None:
        """Return the key with this id or this name; None for an expired and a revoked one.

        Raises:
            UnknownName: if there is none.
        """
        with self.database.reading() as found:
            key = found.books.named_key(name)
            return key if key.is_valid(self._now(found.books)) else None

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
        request, name = self._marks(fingerprint, idempotency)
        return self._ask(Asking(key, question, vault, model, most, request, name, anew, self._server))

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
        with self.database.writing() as found:
            one = found.books.questions.get(question)
            if one is None:
                raise UsageError("The question was never reserved, so it cannot be settled. Reserve it first.")
            return questions.settle(found, one, spent, reply, stopped, self._now(found.books))

    def forget_replies(self) -> None:
        """Delete the replies that no request can find any more. The front calls it every hour."""
        with self.database.writing() as found:
            found.forget_replies(self._now(found.books))

    def recall(
        self, key: str, fingerprint: str, idempotency: str | None = None, *, anew: bool = False
    ) -> Recalled | None:
        """Return what the same request of a key found before; None if it is to be asked."""
        request, name = self._marks(fingerprint, idempotency)
        with self.database.reading() as found:
            return questions.find(found, key, request, name, self._now(found.books), anew=anew)

    def join(self, key: str, question: str, fingerprint: str, idempotency: str) -> Recalled | None:
        """Have an Idempotency-Key find a question that another request asks; or return what it found before.

        A question that is not reserved has nothing to find: then nothing is recorded.
        """
        request, name = self._marks(fingerprint, idempotency)
        assert name is not None
        with self.database.writing() as found:
            now = self._now(found.books)
            recalled = questions.find_named(found, key, request, name, now)
            if recalled is None and question in found.books.questions:
                found.append("join", question, {"name": name, "asked": now}, again=True)
            return recalled

    def odometer(self, key: str) -> Meter:
        """Return the odometer of a key.

        Raises:
            UnknownName: if there is no such key.
        """
        with self.database.reading() as found:
            return found.books.meter(found.books.named_key(key))

    def receipts(self, key: str, *, before: str | None = None, limit: int = 100) -> list[QuestionReceipt]:
        """Return receipts of a key, the newest first; those older than the question `before` if it is given."""
        with self.database.reading() as found:
            newest = found.books.newest_first(key)
            if before is not None and all(one.id != before for one in newest):  # takes all up to `before`
                return []
            return [one.receipt() for one in islice(newest, min(max(1, limit), _MOST_RECEIPTS))]

    def receipt(self, key: str, question: str) -> QuestionReceipt | None:
        """Return the receipt of a question; None if the key has not asked it."""
        with self.database.reading() as found:
            one = found.books.questions.get(question)
            return one.receipt() if one is not None and one.key == key else None

    def settle_lost(self, spent: Charged, reply: dict[str, Any]) -> list[str]:
        """Settle the questions that a crash of this server left in flight. Returns their ids.

        In one transaction: between two, the same request could find no reply yet, and would be paid twice.
        """
        with self.database.writing() as found:
            now, left = self._now(found.books), self._left_behind(found.books)
            for one in left:
                questions.settle(found, one, spent, reply, "interrupted", now)
            return [one.id for one in left]

    def unsettled(self) -> dict[str, Spending]:
        """Return the questions that are not settled, with what their keys are charged for them."""
        with self.database.reading() as found:
            open_ones = (found.books.questions[one] for one in found.books.unsettled)
            return {one.id: one.most for one in open_ones if one.most is not None}

    def questions(self) -> list[Asked]:
        """Return all questions, the oldest first, as the accounts have them."""
        with self.database.reading() as found:
            return [replace(one) for one in found.books.questions.values()]

    def close(self) -> None:
        """Close the connections of this process."""
        self.database.close()

    def _ask(self, asking: Asking) -> Outcome:
        # A refusal, or what was found, needs no lock: it neither waits for a payment nor holds one up.
        with self.database.reading() as found:
            outcome = questions.check(found, asking, self._now(found.books))
        if not isinstance(outcome, Admitted):
            return outcome
        with self.database.writing() as writing:
            now = self._now(writing.books)
            outcome = questions.check(writing, asking, now)
            return questions.write(writing, asking, outcome, now) if isinstance(outcome, Admitted) else outcome

    def _now(self, books: Books) -> float:
        """Return the time: the clock's, or that of the newest question if the clock was set back."""
        return max(self._clock(), books.newest)

    def _marks(self, fingerprint: str, idempotency: str | None) -> tuple[str, str | None]:
        mark = self.database.mark
        return mark("question", fingerprint), None if idempotency is None else mark("name", idempotency)

    def _left_behind(self, books: Books) -> list[Asked]:
        """Return what is not settled: of this server, or all if no other one uses the accounts."""
        found = (books.questions[one] for one in books.unsettled)
        return [one for one in found if not self._server or one.server == self._server]

    def _decide(self, found: Writing, number: int, state: str) -> BudgetRequest:
        request, now = found.books.request(number), self._now(found.books)
        check_pending(request)
        found.append("decide", str(number), {"state": state, "decided": now})
        return replace(request, state=state, decided=stamp(now))


def _live(books: Books, name: str) -> Key:
    key = books.named_key(name)
    if key.revoked:
        raise UsageError(f"The key {key.id} was revoked, for good. Issue another one: discreet key issue VAULT NAME")
    return key


def _change(found: Writing, key: Key, values: Columns) -> Key:
    """Change values of a key. Return the key with them."""
    found.append("change", key.id, values, again=True)
    return key_of((found.books.columns(key.id) or {}) | values)


def _extend(found: Writing, key: Key, limits: Limits) -> Key:
    changed = _change(found, key, values) if (values := limits.columns()) else key
    if key.reserved and limits.epsilon is not None:
        _reserve(found, changed, None)
    return changed


def _reserve(found: Writing, key: Key, typical: Spending | None) -> None:
    """Reserve the cap of a key in each of its vaults."""
    for vault in key.vaults:
        _reserve_share(found, found.books.grant(vault), key.id, key.epsilon, typical)


def _reserve_share(found: Writing, grant: Grant, holder: str, epsilon: float, typical: Spending | None) -> None:
    grant, others = grant.with_reading(typical), found.books.held(grant.vault, but=holder)
    spent = None if holder == KEPT else found.books.spent(holder, grant.vault)
    _put_share(found, grant, holder, grant.fit_share(epsilon, others, spent))


def _put_share(found: Writing, grant: Grant, holder: str, share: Share) -> None:
    content = {"holder": holder, "loss": share.loss, "failures": share.failures, "reading": grant.reading}
    found.append("share", grant.vault, content, again=True)

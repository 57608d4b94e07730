"""The state of the accounts in memory: what the rows of their log give, in their order.

A row has a kind, what it is about (`question` in the log), and its content as JSON:

    grant    a vault      what each of its units was granted
    share    a vault      a share of the grant that is reserved for a holder, in place of the one before
    issue    a key        its caps, and the digest of its secret
    change   a key        caps, a new digest, or that it was revoked
    request  a number     an analyst's request for more budget
    decide   a number     what the custodian decided
    reserve  a question   its ceiling (`loss`, `failure`), which its key is charged from now on
    settle   a question   what its key stays charged in place of the ceiling
    join     a question   an Idempotency-Key that finds it from now on

Questions are hashed with a key that is not in the log (`Database.mark`), and so are the Idempotency-Keys. Neither the
secret of a key, nor the text of a question or an answer, nor a private value is in any row.
"""

import json
from collections.abc import Iterator
from dataclasses import astuple, dataclass, replace
from typing import Any, Literal, Self

from typing_extensions import TypedDict  # the one of `typing` lacks what pydantic needs before Python 3.12

from discreet.errors import LedgerError, UnknownName
from discreet.log import CORRUPT
from discreet.log.arrays import Arrays
from discreet.log.chain import GENESIS, Head, Row
from discreet.log.replay import Reached
from discreet.privacy.accounting import Spending
from discreet.privacy.costs import ORDERS
from discreet.server.accounts.grants import Grant, Share, budget_of
from discreet.server.accounts.keys import CAP_IS_POLICY, PENDING, BudgetRequest, Columns, Key, key_of, stamp
from discreet.server.accounts.meters import Meter, Room, Sum

Kind = Literal["grant", "share", "issue", "change", "request", "decide", "reserve", "settle", "join"]
AGAIN: frozenset[Kind] = frozenset(("share", "change", "join"))
"""The kinds of which there may be several rows about the same."""
BY_NAME = 86_400.0
"""Seconds for which an Idempotency-Key finds its question."""
OPENING = json.dumps({"orders": len(ORDERS)}).encode()
"""What the first row of a log of accounts holds."""


class QuestionReceipt(TypedDict):
    """The receipt of a question, which has none of its words.

    `epsilon` and `delta` are what it costs any one unit at most; until it is settled, its ceiling. `stopped`: why its
    answer ended.
    """

    question_id: str
    time: str
    vault: str
    model: str
    epsilon: float
    delta: float
    settled: bool
    free: bool
    stopped: str


@dataclass(slots=True)
class Asked:
    """A question of a key.

    Attributes:
        id: its id, the same as in the vault's ledger.
        key: the key's id.
        vault: the vault.
        model: the model, as the analyst named it.
        asked: when it was reserved.
        request, name: the marks of what makes it the same request, and of its Idempotency-Key; no name is None.
        server: the server that asks it, where several share the accounts.
        epsilon, delta: of its ceiling; once settled, of what it stays charged.
        most: the ceiling at which it is charged: the most that it may cost any one unit. None once it is settled.
        settled: when it was settled; None while it is not.
        stopped: why its answer ended.
    """

    id: str
    key: str
    vault: str
    model: str
    asked: float
    request: str
    name: str | None
    server: str
    epsilon: float
    delta: float
    most: Spending | None
    settled: float | None = None
    stopped: str = ""

    def receipt(self) -> QuestionReceipt:
        """Return the receipt as plain data."""
        return {
            "question_id": self.id,
            "time": stamp(self.asked),
            "vault": self.vault,
            "model": self.model,
            "epsilon": self.epsilon,
            "delta": self.delta,
            "settled": self.settled is not None,
            "free": self.settled is not None and self.epsilon == 0,
            "stopped": self.stopped,
        }


class Books:
    """The accounts as all committed rows give them. Only `apply` and `unpack` change them.

    Attributes:
        head: the last row.
        questions: all questions by id, the oldest first. Their times never go back.
    """

    head: Head

    def __init__(self) -> None:
        self._vaults: dict[str, dict[str, Any]] = {}
        self._pools: dict[str, Sum] = {}
        self._shares: dict[str, dict[str, list[int]]] = {}
        self._keys: dict[str, Columns] = {}
        self._meters: dict[str, dict[str, Sum]] = {}
        self._requests: dict[str, BudgetRequest] = {}
        self.questions: dict[str, Asked] = {}
        self._of_key: dict[str, list[str]] = {}
        self._alike: dict[tuple[str, str], str] = {}
        self._names: dict[str, tuple[str, float]] = {}

    # The state of a log

    @property
    def reached(self) -> Reached:
        """The last row."""
        return Reached(0, 0, self.head.id, self.head.hash.hex())

    @classmethod
    def begin(cls, row: Row) -> Self:
        """Return the state after the first row."""
        if row.content[len(GENESIS) :] != OPENING:
            raise LedgerError(CORRUPT)
        return cls()

    def apply(self, row: Row) -> None:
        """Add the next row."""
        about, content = row.question, json.loads(row.content)
        match row.kind:
            case "grant":
                self._vaults[about], self._pools[about] = content, Sum()
            case "share":
                self._vaults[about]["reading"] = content["reading"]
                self._shares.setdefault(about, {})[content["holder"]] = [content["loss"], content["failures"]]
            case "issue":
                self._keys[about] = content
            case "change":
                self._keys[about] |= content
            case "request":
                self._requests[about] = BudgetRequest(int(about), **content | {"made": stamp(content["made"])})
            case "decide":
                decided = {"state": content["state"], "decided": stamp(content["decided"])}
                self._requests[about] = replace(self._requests[about], **decided)
            case "reserve":
                most = Spending.unpack(row.loss, row.failure)
                self._charge(content["key"], content["vault"], Spending.nothing(), most)
                self._add(Asked(about, **content, most=most))
                if content["name"] is not None:
                    self._name(content["key"], content["name"], about, content["asked"])
            case "settle":
                self._settle(self.questions[about], Spending.unpack(row.loss, row.failure), content)
            case "join" if about not in self.questions:
                pass  # versions before recorded names of questions that were refused later: they find nothing
            case "join":
                self._name(self.questions[about].key, content["name"], about, content["asked"])
            case _:
                raise ValueError(row.kind)

    def pack(self) -> tuple[dict[str, Any], Arrays]:
        """Return the state as plain data."""
        header = {
            "plain": [self._vaults, self._shares, self._keys],
            "requests": [list(astuple(one)) for one in self._requests.values()],
            "pools": {vault: pool.plain() for vault, pool in self._pools.items()},
            "meters": {key: {vault: one.plain() for vault, one in of.items()} for key, of in self._meters.items()},
            "questions": [_plain(one) for one in self.questions.values()],
            "names": [[name, *found] for name, found in self._names.items()],
        }
        return header, []

    def unpack(self, header: dict[str, Any], content: Arrays) -> None:
        """Take over a state that `pack` returned."""
        self._vaults, self._shares, self._keys = header["plain"]
        self._requests = {str(one[0]): BudgetRequest(*one) for one in header["requests"]}
        self._pools = {vault: Sum.of(pool) for vault, pool in header["pools"].items()}
        self._meters = {key: {vault: Sum.of(one) for vault, one in of.items()} for key, of in header["meters"].items()}
        for one in header["questions"]:
            self._add(_asked(one))
        self._names = {name: (question, asked) for name, question, asked in header["names"]}

    def _add(self, one: Asked) -> None:
        if one.id in self.questions:
            raise ValueError(one.id)
        self.questions[one.id] = one
        self._of_key.setdefault(one.key, []).append(one.id)
        self._alike[one.key, one.request] = one.id

    def _settle(self, one: Asked, paid: Spending, content: dict[str, Any]) -> None:
        if one.most is None or not paid.within(one.most):
            raise ValueError(one.id)  # a question is settled once, and a charge never grows
        self._charge(one.key, one.vault, one.most, paid)
        one.most, one.settled, one.stopped = None, content["settled"], content["stopped"]
        one.epsilon, one.delta = content["epsilon"], content["delta"]

    def _charge(self, key: str, vault: str, back: Spending, extra: Spending) -> None:
        """Take `back` from the meter of a key, and add `extra`; the pool follows if the key is a shared one."""
        self._meters.setdefault(key, {}).setdefault(vault, Sum()).move(back, extra)
        if not self._keys[key]["reserved"]:
            self._pools[vault].move(back, extra)

    def _name(self, key: str, name: str, question: str, asked: float) -> None:
        """Have a name find a question from now on, in place of the one before. Names that find nothing any more go."""
        self._names.pop(f"{key} {name}", None)
        self._names[f"{key} {name}"] = (question, asked)
        while self._names[first := next(iter(self._names))][1] <= asked - BY_NAME:
            del self._names[first]

    # Grants and shares

    def knows(self, vault: str) -> bool:
        """Return whether the grant of a vault is known."""
        return vault in self._vaults

    def grant(self, vault: str) -> Grant:
        """Return the grant of a vault.

        Raises:
            UnknownName: if the accounts do not know the vault.
        """
        if vault not in self._vaults:
            raise UnknownName("vault", vault, self._vaults)
        found = self._vaults[vault]
        return Grant(vault, budget_of(*found["budget"]), found.get("reading", ""), self._pools[vault].total())

    def held(self, vault: str, *, but: str = "") -> Share:
        """Return the sum of the shares of a vault, without the one of `but`."""
        return sum((self._share(vault, holder) for holder in self._shares.get(vault, ()) if holder != but), Share())

    def _share(self, vault: str, holder: str) -> Share:
        return Share(*self._shares.get(vault, {}).get(holder, ()))

    # Keys and their meters

    @property
    def keys(self) -> list[Key]:
        """All keys, the oldest first."""
        return sorted(map(key_of, self._keys.values()), key=lambda key: (key.created, key.id))

    def key(self, key: str) -> Key | None:
        """Return the key with this id; None if there is none."""
        return key_of(self._keys[key]) if key in self._keys else None

    def columns(self, key: str) -> Columns | None:
        """Return a key as plain data, with the digest of its secret; None if there is none."""
        return self._keys.get(key)

    def named_key(self, name: str) -> Key:
        """Return the key with this id or this name; of several with the name, the one that is not revoked.

        Raises:
            UnknownName: if there is none.
        """
        found = [key_of(self._keys[name])] if name in self._keys else [key for key in self.keys if key.name == name]
        if not found:
            known = {one for key in self.keys for one in (key.id, key.name)}
            raise UnknownName("key", name, known or {"(no key was issued)"})
        return min(found, key=lambda key: (key.revoked, -key.created.timestamp()))

    def spent(self, key: str, vault: str) -> Spending:
        """Return what the questions of a key have spent in a vault; those in flight count at their ceiling."""
        return self._meters.get(key, {}).get(vault, Sum()).total()

    def meter(self, key: Key) -> Meter:
        """Return the odometer of a key."""
        sums = self._meters.get(key.id, {}).values()
        total, count = sum((one.total() for one in sums), Spending.nothing()), sum(one.count for one in sums)
        return Meter(
            granted=key.epsilon,
            delta=key.delta,
            spent=key.budget.spent(total),
            left=key.budget.left(total),
            part=min(1.0, key.budget.part(total)),
            questions=count,
            questions_left=None if key.questions is None else max(0, key.questions - count),
            note=CAP_IS_POLICY,
            spending=total,
            budget=key.budget,
            rooms=tuple(self._room(key, vault) for vault in key.vaults),
        )

    def _room(self, key: Key, vault: str) -> Room:
        grant = self.grant(vault)
        if key.reserved:
            return Room(grant, self.spent(key.id, vault), self._share(vault, key.id))
        # The most that the pool may reach. If nothing is reserved, the ledger decides.
        return Room(grant, grant.pool, grant.limit - self.held(vault) if grant.reading else None)

    # Requests for more budget

    def requests(self, *, pending: bool) -> list[BudgetRequest]:
        """Return the requests, the oldest first; those that are pending alone, or all."""
        return [one for one in self._requests.values() if not pending or one.state == PENDING]

    def request(self, number: int) -> BudgetRequest:
        """Return a request.

        Raises:
            UnknownName: if there is none of that number.
        """
        if str(number) not in self._requests:
            known = [str(one.id) for one in self.requests(pending=True)]
            raise UnknownName("pending request", str(number), known or ["(none)"])
        return self._requests[str(number)]

    # Questions

    @property
    def newest(self) -> float:
        """The time of the newest question; 0 if there is none."""
        return next(reversed(self.questions.values())).asked if self.questions else 0.0

    def newest_first(self, key: str | None = None) -> Iterator[Asked]:
        """Return the questions of a key, or of all keys, the newest first."""
        if key is None:
            return iter(reversed(self.questions.values()))
        return (self.questions[one] for one in reversed(self._of_key.get(key, [])))

    def alike(self, key: str, request: str) -> Asked | None:
        """Return the newest question of a key with this content."""
        found = self._alike.get((key, request))
        return None if found is None else self.questions[found]

    def named(self, key: str, name: str, since: float) -> Asked | None:
        """Return the question that a name of a key finds, if it was given the name after `since`."""
        found = self._names.get(f"{key} {name}")
        return None if found is None or found[1] <= since else self.questions[found[0]]


_MOST = Asked.__slots__.index("most")


def _plain(one: Asked) -> list[Any]:
    plain = [getattr(one, name) for name in Asked.__slots__]
    if one.most is not None:
        loss, failure = one.most.pack()
        plain[_MOST] = [loss.hex(), failure]
    return plain


def _asked(plain: list[Any]) -> Asked:
    found = Asked(*plain)
    if (most := plain[_MOST]) is not None:
        found.most = Spending.unpack(bytes.fromhex(most[0]), most[1])
    return found

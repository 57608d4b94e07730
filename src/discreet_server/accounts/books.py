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

Questions are hashed with a key that is not in the log (`Accounts.mark`), and so are the Idempotency-Keys. Neither the
secret of a key, nor the text of a question or an answer, nor a private value is in any row.
"""

import json
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal, Self

from typing_extensions import TypedDict  # the one of `typing` lacks what pydantic needs before Python 3.12

from discreet.errors import LedgerError, UnknownName
from discreet.log.chain import CORRUPT, GENESIS, Entry, LogRow
from discreet.log.replay import State, Transaction
from discreet.privacy.accounting import Budget, Spending
from discreet.privacy.costs import ORDERS
from discreet_server.accounts.grants import GrantShare, Meter, Room, Sum, VaultGrant
from discreet_server.accounts.keys import CAP_IS_POLICY, METER_READS, BudgetRequest, Key, fields_of, stamp

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
class KeyQuestion:
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


class Books(State):
    """The accounts as all committed rows give them. Only `apply` changes them.

    Attributes:
        keys: all keys by id, the oldest first.
        digests: the digests of their secrets.
        requests: the requests of analysts for more budget, the oldest first.
        questions: all questions by id, the oldest first. Their times never go back.
    """

    def __init__(self) -> None:
        self._grants: dict[str, VaultGrant] = {}
        self._pools: dict[str, Sum] = {}
        self._meters = defaultdict[tuple[str, str], Sum](Sum)
        self.keys: dict[str, Key] = {}
        self.digests: dict[str, str] = {}
        self.requests: dict[int, BudgetRequest] = {}
        self.questions: dict[str, KeyQuestion] = {}
        self._of_key = defaultdict[str, list[KeyQuestion]](list)
        self._alike: dict[tuple[str, str], KeyQuestion] = {}
        self._names: dict[tuple[str, str], tuple[KeyQuestion, float]] = {}

    # What rows do

    @classmethod
    def begin(cls, row: LogRow) -> Self:
        """Return the state after the first row."""
        if row.content[len(GENESIS) :] != OPENING:
            raise LedgerError(CORRUPT)
        return cls()

    def apply(self, row: LogRow) -> None:
        """Add the next row."""
        about, content = row.question, json.loads(row.content)
        match row.kind:
            case "grant":
                self._grants[about], self._pools[about] = VaultGrant(about, Budget(*content["budget"])), Sum()
            case "share":
                grant, share = self._grants[about], GrantShare(content["loss"], content["failures"])
                shares = {**grant.shares, content["holder"]: share}
                self._grants[about] = replace(grant, reading=content["reading"], shares=shares)
            case "issue" | "change":
                if (digest := content.pop("digest", None)) is not None:
                    self.digests[about] = digest
                fields = fields_of(content)
                self.keys[about] = replace(self.keys[about], **fields) if row.kind == "change" else Key(**fields)
            case "request":
                self.requests[int(about)] = BudgetRequest(int(about), **content | {"made": stamp(content["made"])})
            case "decide":
                decided = content | {"decided": stamp(content["decided"])}
                self.requests[int(about)] = replace(self.requests[int(about)], **decided)
            case "reserve":
                self._reserve(KeyQuestion(about, **content, most=Spending.unpack(row.loss, row.failure)))
            case "settle":
                self._settle(self.questions[about], Spending.unpack(row.loss, row.failure), content)
            case "join" if about not in self.questions:
                pass  # versions before recorded names of questions that were refused later: they find nothing
            case "join":
                self._name(self.questions[about], content["name"], content["asked"])
            case _:
                raise ValueError(row.kind)

    def _reserve(self, one: KeyQuestion) -> None:
        if one.id in self.questions:
            raise ValueError(one.id)
        assert one.most is not None
        self._charge(one, Spending.nothing(), one.most)
        self.questions[one.id] = self._alike[one.key, one.request] = one
        self._of_key[one.key].append(one)
        if one.name is not None:
            self._name(one, one.name, one.asked)

    def _settle(self, one: KeyQuestion, paid: Spending, content: dict[str, Any]) -> None:
        if one.most is None or not paid.within(one.most):
            raise ValueError(one.id)  # a question is settled once, and a charge never grows
        self._charge(one, one.most, paid)
        one.most, one.settled, one.stopped = None, content["settled"], content["stopped"]
        one.epsilon, one.delta = content["epsilon"], content["delta"]

    def _charge(self, one: KeyQuestion, back: Spending, extra: Spending) -> None:
        """Take `back` from the meter of a key, and add `extra`; the pool follows if the key is a shared one."""
        self._meters[one.key, one.vault].move(back, extra)
        if not self.keys[one.key].reserved:
            self._pools[one.vault].move(back, extra)

    def _name(self, one: KeyQuestion, name: str, asked: float) -> None:
        """Have a name find a question from now on, in place of the one before. Names that find nothing any more go."""
        self._names.pop((one.key, name), None)
        self._names[one.key, name] = (one, asked)
        while self._names[first := next(iter(self._names))][1] <= asked - BY_NAME:
            del self._names[first]

    # What it knows

    def knows(self, vault: str) -> bool:
        """Return whether the grant of a vault is known."""
        return vault in self._grants

    def grant(self, vault: str) -> VaultGrant:
        """Return the grant of a vault.

        Raises:
            UnknownName: if the accounts do not know the vault.
        """
        if vault not in self._grants:
            raise UnknownName("vault", vault, self._grants)
        return replace(self._grants[vault], pool=self._pools[vault].total())

    def named_key(self, name: str) -> Key:
        """Return the key with this id or this name; of several with the name, the one that is not revoked.

        Raises:
            UnknownName: if there is none.
        """
        keys = self.keys.values()
        keys_named = [self.keys[name]] if name in self.keys else [key for key in keys if key.name == name]
        if not keys_named:
            known = {one for key in keys for one in (key.id, key.name)}
            raise UnknownName("key", name, known or {"(no key was issued)"})
        return max(keys_named, key=lambda key: (not key.revoked, key.created))

    def spent(self, key: str, vault: str) -> Spending:
        """Return what the questions of a key have spent in a vault; those in flight count at their ceiling."""
        return self._meters.get((key, vault), Sum()).total()

    def meter(self, key: Key) -> Meter:
        """Return the odometer of a key."""
        sums = [self._meters.get((key.id, vault), Sum()) for vault in key.vaults]
        total, count = sum((one.total() for one in sums), Spending.nothing()), sum(one.count for one in sums)
        return Meter(
            granted=key.epsilon,
            delta=key.delta,
            spent=key.budget.spent(total),
            left=key.budget.left(total),
            part=min(1.0, key.budget.part(total)),
            questions=count,
            questions_left=None if key.questions is None else max(0, key.questions - count),
            note=f"{METER_READS} {CAP_IS_POLICY}",
            spending=total,
            budget=key.budget,
            rooms=tuple(self._room(key, vault) for vault in key.vaults),
        )

    def _room(self, key: Key, vault: str) -> Room:
        grant = self.grant(vault)
        if key.reserved:
            return Room(grant, self.spent(key.id, vault), grant.shares.get(key.id, GrantShare()))
        # The most that the pool may reach. If nothing is reserved, the ledger decides.
        return Room(grant, grant.pool, grant.limit - grant.held() if grant.reading else None)

    @property
    def newest(self) -> float:
        """The time of the newest question; 0 if there is none."""
        return next(reversed(self.questions.values())).asked if self.questions else 0.0

    def newest_first(self, key: str | None = None) -> Iterator[KeyQuestion]:
        """Return the questions of a key, or of all keys, the newest first."""
        return reversed(self.questions.values()) if key is None else reversed(self._of_key.get(key, []))

    def alike(self, key: str, request: str) -> KeyQuestion | None:
        """Return the newest question of a key with this content."""
        return self._alike.get((key, request))

    def named(self, key: str, name: str, since: float) -> KeyQuestion | None:
        """Return the question that a name of a key finds, if it was given the name after `since`."""
        found = self._names.get((key, name))
        return None if found is None or found[1] <= since else found[0]


Found = Transaction[Books]
"""A transaction. Its state are the accounts as all rows that it sees give them, without what it appends."""


def append(found: Found, kind: Kind, about: str, content: dict[str, Any], charged: Spending | None = None) -> None:
    """Append a row.

    Args:
        found: a transaction that writes.
        kind: its kind.
        about: the vault, key, request or question that it is about.
        content: what else it says.
        charged: what a question is charged.
    """
    loss, failure = (b"", 0) if charged is None else charged.pack()
    part = found.head.id + 1 if kind in AGAIN else 0  # of another kind, there is one row about the same
    found.append(Entry(about, kind, part, loss, failure, json.dumps(content).encode()))

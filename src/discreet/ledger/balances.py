"""What the log of units gives: balances, the common sum, joined units, open reservations, and sums of questions.

`Units` is the replay of the rows in their order. It does what `MemoryLedger` does, for many units at once: whether a
unit can pay depends only on its own balance and on the common sum of all units.

    kind      question, part   loss, failure      content
    open      -                -                  the hash before, and the grant as JSON
    carry     -                -                  the state of the log that this one continues
    begin     its id           -                  algorithm, text, and whether it is private, as JSON
    charge    its id, number   what all units pay the record of the release, as JSON
    reserve   its id, part     what is reserved   the payers; empty if all units pay
    settle    its id, part     what was spent     the records of the releases, as JSON; {"payers", "charges"} if the
                                                  most units that paid are known
    finish    its id, number   -                  why it ended; with the number 0, that its synthetic corpus was written
    join      its number       -                  pairs of keys: the payments of the first count for the second

A settlement is written without waiting for the disk. It is never the last durable row: after a power cut, its whole
reservation may count.

A unit gets the next number when it pays for the first time. Its key is a keyed hash of 16 bytes. The secret that makes
it is a file of the vault (`units.key`), never in the database: so the log alone says how often a unit took part, and
not which.
"""

import base64
import hashlib
import json
import secrets
import struct
from collections.abc import Iterable, Sequence
from dataclasses import asdict, astuple, dataclass, field
from functools import lru_cache
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection

from discreet.errors import LedgerError, VaultVersionError
from discreet.log import chain
from discreet.log.arrays import Arrays, unpack
from discreet.log.chain import CORRUPT, GENESIS, Head, LogRow
from discreet.log.replay import Reached, State
from discreet.privacy.accounting import ATTO, CUT, Budget, FilterState, Spending, Sums
from discreet.privacy.costs import ORDERS
from discreet.privacy.filter import APART
from discreet.privacy.transcript import Transcript

KEY = 16
"""The length of a unit's key, in bytes."""
UNKNOWN = -1

_GROWTH = 4
_HEAD = struct.Struct(">QIB")

Numbers = NDArray[np.int64]
Keys = NDArray[np.bytes_]
Run = tuple[Keys, Numbers]
"""Sorted keys, and the number of each unit."""


class KeyTable:
    """The numbers of all known keys.

    The table is some runs, each sorted by key, with the numbers beside. A new run takes in the runs before it that are
    not four times as large. So new keys cost their number on average, and a search looks at few runs. A run of a
    snapshot is mapped from its file, and a search reads a few of its pages.
    """

    def __init__(self, runs: Sequence[Run] = ()) -> None:
        self._runs = list(runs)

    def find(self, keys: bytes) -> Numbers:
        """Return the number of each of concatenated keys; `UNKNOWN` for a key that never paid."""
        wanted_keys = as_array(keys)
        numbers = np.full(len(wanted_keys), UNKNOWN, dtype=np.int64)
        for held, of in self._runs:
            left = np.flatnonzero(numbers == UNKNOWN)
            places = np.minimum(np.searchsorted(held, wanted_keys[left]), len(held) - 1)
            same = held[places] == wanted_keys[left]
            numbers[left[same]] = of[places[same]]
        return numbers

    def add(self, keys: bytes, start: int) -> None:
        """Add concatenated sorted keys that are not in the table. Their numbers follow from `start`."""
        if not keys:
            return
        new = as_array(keys)
        run = new, np.arange(start, start + len(new), dtype=np.int64)
        while self._runs and len(self._runs[-1][0]) < _GROWTH * len(run[0]):
            run = _merged(self._runs.pop(), run)
        self._runs.append(run)

    def keys_of(self, chosen: NDArray[np.bool_]) -> list[bytes]:
        """Return the keys of the numbers whose place in `chosen` is true."""
        return [key for held, numbers in self._runs for key in split(held[chosen[numbers]].tobytes())]

    def as_one_run(self) -> Run:
        """Make all runs one. Return it."""
        while len(self._runs) > 1:
            self._runs.append(_merged(*(self._runs.pop() for _ in range(2))))
        return self._runs[0] if self._runs else (as_array(b""), np.empty(0, dtype=np.int64))


def as_array(keys: bytes) -> Keys:
    """Return concatenated keys as an array, whose order is that of their bytes."""
    return np.frombuffer(keys, dtype=f"S{KEY}")


def join_keys(units: Sequence[bytes]) -> bytes:
    """Return the concatenated keys of units in order, each once.

    Raises:
        LedgerError: if a key has a wrong type or length.
    """
    listed = list(units)
    if set(map(type, listed)) - {bytes} or set(map(len, listed)) - {KEY}:
        raise LedgerError(
            f"The key of a unit has a wrong type or length; {KEY} bytes are expected. Nothing was reserved. Use a "
            "keyed hash."
        )
    keys = np.sort(as_array(b"".join(listed)))
    new = np.ones(len(keys), dtype=bool)
    new[1:] = keys[1:] != keys[:-1]
    return keys[new].tobytes()


def split(keys: bytes) -> list[bytes]:
    """Return concatenated keys one by one."""
    return [keys[start : start + KEY] for start in range(0, len(keys), KEY)]


def choose(keys: bytes, places: NDArray[np.bool_]) -> bytes:
    """Return those of concatenated keys whose place is true."""
    return as_array(keys)[places].tobytes()


def pack_payers(start: int, new: bytes, known: Numbers) -> bytes:
    """Return the payers of a reservation as the content of its row.

    Args:
        start: the number of the first new unit.
        new: the concatenated sorted keys of the payers that have never paid.
        known: the numbers of the other payers, each once.
    """
    gaps = np.sort(known)
    gaps[1:] -= gaps[:-1].copy()
    width = np.min_scalar_type(int(gaps.max(initial=0))).itemsize
    return _HEAD.pack(start, len(new) // KEY, width) + new + gaps.astype(f"<u{width}").tobytes()


def unpack_payers(content: bytes) -> tuple[int, bytes, Numbers]:
    """Return the arguments of `pack_payers`.

    Raises:
        ValueError: if the content is damaged.
    """
    start, count, width = _HEAD.unpack_from(content)
    end = _HEAD.size + count * KEY
    gaps = np.frombuffer(content, dtype=f"<u{width}", offset=end) if end < len(content) else np.empty(0)
    return start, content[_HEAD.size : end], np.cumsum(gaps, dtype=np.int64)


def payers_of(content: bytes) -> Numbers:
    """Return the numbers of the payers of a reservation."""
    start, new, old = unpack_payers(content)
    return np.concatenate([old, np.arange(start, start + len(new) // KEY)])


def _merged(one: Run, other: Run) -> Run:
    keys, numbers = (np.concatenate(both) for both in zip(one, other, strict=True))
    order = np.argsort(keys, kind="stable")  # which merges two sorted halves in one pass
    return keys[order], numbers[order]


CARRY, BEGIN, CHARGE, RESERVE = "carry", "begin", "charge", "reserve"
SETTLE, FINISH, JOIN = "settle", "finish", "join"

Readings = NDArray[np.int64]
"""Balances, of shape (3, units): the curves, the pure losses and the failures of `FilterState`s."""

_ROOM = 1024
_ORDERS_DIGEST = hashlib.sha256(ORDERS.astype("<f8").tobytes()).hexdigest()[:16]


@dataclass(frozen=True)
class Grant:
    """What a ledger grants: the first row of its log, which never changes.

    Attributes:
        budget: the most that any unit may spend.
        log_questions: whether to keep the texts of questions.
        simulation: whether insecure noise is allowed, for experiments.
        ledger: a random name, so that no two ledgers have the same chain.
    """

    budget: Budget
    log_questions: bool
    simulation: bool
    ledger: str = field(default_factory=lambda: secrets.token_hex(16))

    def pack(self) -> bytes:
        """Return the grant as JSON, which gives back the exact numbers."""
        return json.dumps(asdict(self) | {"orders": _ORDERS_DIGEST}, sort_keys=True).encode()

    def make(self, connection: Connection) -> None:
        """Make a log with this grant."""
        chain.make(connection, self.pack())

    @classmethod
    def parse(cls, content: bytes) -> Self:
        """Return the grant from JSON.

        Raises:
            LedgerError: if it is damaged.
            VaultVersionError: if it was made for other Renyi orders.
        """
        try:
            fields = json.loads(content)
            orders, budget = fields.pop("orders"), Budget(**fields.pop("budget"))
            grant = cls(budget, **fields)
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
            raise LedgerError(CORRUPT) from None
        if orders != _ORDERS_DIGEST:
            raise VaultVersionError(
                f"The ledger has the Renyi orders {orders}; this version of discreet has {_ORDERS_DIGEST}. "
                "Open the vault with the version of discreet that made it."
            )
        return grant


@dataclass(frozen=True)
class ReservedPart:
    """A part that is reserved and not settled: the reserved sum, and the content of its row."""

    most: Spending
    content: bytes

    @property
    def payers(self) -> Numbers | None:
        """The numbers of the payers; None if all units pay."""
        return payers_of(self.content) if self.content else None


class Units(State):
    """The state of the log of units.

    Attributes:
        head: the last row that it has.
        durable: the last row that a power cut cannot undo.
        grant: the grant.
        total: the sum that all units have paid in common.
        questions, payments: the numbers that `Reached` shows.
        corpora: the number of synthetic corpora and exports of vectors in logs that were closed.
        earlier: the number of questions in logs that were closed, and of those that have an end.
        count: the number of units that have paid: the number of the next one.
        units_pay: whether single units were asked to pay.
        open: the reservations that are not settled, by question and part.
        transcript: what is public of the payments of single units.
    """

    def __init__(self, grant: Grant) -> None:
        self.grant, self.total = grant, Spending.nothing()
        self.durable = Head(0, GENESIS, b"")
        self.questions = self.payments = self.corpora = 0
        self.earlier = (0, 0)
        self.units_pay = False
        self.open: dict[tuple[str, int], ReservedPart] = {}
        self.transcript = Transcript()
        self._keys, self.count = KeyTable(), 0
        self._readings: Readings = np.zeros((3, _ROOM), dtype=np.int64)
        self._joined: dict[int, int] = {}  # a unit that was joined, and the unit that has its payments
        self._joins: dict[int, set[int]] = {}  # the same, the other way round
        self._gone = set[int]()  # units without a balance, since it was moved
        self._sums = Sums()
        self._apart: dict[str, dict[int, Spending]] = {}  # what counts of parts without a common unit
        self._past = KeyTable()  # hashes of the ids of all questions in logs that were closed

    # What rows do

    @classmethod
    def begin(cls, row: LogRow) -> Self:
        """Return the state of a log with its first row alone."""
        state = cls(Grant.parse(row.content[len(GENESIS) :]))
        state.durable = Head(row.id, row.hash, row.content[: len(GENESIS)])
        return state

    def apply(self, row: LogRow) -> None:
        """Add the next row."""
        key = row.question, row.part
        if row.kind == RESERVE:
            self._reserve(key, ReservedPart(spending(row), row.content))
        elif row.kind == SETTLE:
            self._settle(key, spending(row), settled(row)[1])
            return  # it is not durable
        elif row.kind == CHARGE:
            self.total += spending(row)
            self._sums.add(spending(row))
            self.payments += 1
        elif row.kind == JOIN:
            self._join(split(row.content))
        elif row.kind == BEGIN:
            self.questions += 1
        elif row.kind == FINISH:
            if row.question in self._apart and not any(question == row.question for question, _ in self.open):
                del self._apart[row.question]  # its sum is final
                self.transcript.apart.pop(row.question, None)
        elif row.kind == CARRY and self.count == self.payments == 0:
            self.unpack(*unpack(bytearray(row.content)))
        else:
            raise ValueError(row.kind)
        self.durable = Head(row.id, row.hash, self.head.hash)

    def _reserve(self, key: tuple[str, int], part: ReservedPart) -> None:
        if key in self.open:
            raise ValueError(key)
        self.payments += 1
        self.open[key] = part
        self._count_part(key, None, part.most)
        if not part.content:
            self.total += part.most
            return
        self.units_pay = True
        self.transcript.reserve(self._cost(part.most), *key)
        start, new, old = unpack_payers(part.content)
        self._add_units(start, new)
        numbers = np.concatenate([old, np.arange(start, self.count)])
        self._readings[:, numbers] = plus(self._readings[:, numbers], as_column(self._cost(part.most)))

    def _settle(self, key: tuple[str, int], spent: Spending, most_payers: int | None) -> None:
        part = self.open.pop(key)
        self._count_part(key, part.most, counted(part.most, spent))
        payers = part.payers
        if payers is None:
            self.total = self.total - part.most + spent
            return
        self.transcript.settle(self._cost(part.most), self._cost(spent), most_payers, *key)
        back = as_column(self._cost(part.most) - self._cost(spent))
        if self._joined:  # a unit that two payers became gets both parts back
            payers, times = np.unique(self.current(payers), return_counts=True)
            back = back * times
        before = self._readings[:, payers]
        after = before - back
        after[:2] = np.where(before[:2] < CUT, after[:2], CUT)  # a cut loss stays cut, as in `FilterState`
        self._readings[:, payers] = after

    def _join(self, keys: list[bytes]) -> None:
        for old, new in zip(keys[::2], keys[1::2], strict=True):
            start = int(self.find(old)[0])
            if start == UNKNOWN or start in self._gone:
                raise ValueError("no balance")
            into = int(self.find(new)[0])
            if into == UNKNOWN:
                into = self.count
                self._add_units(into, new)
            sums = self._readings[:, [into]] + self._readings[:, [start]]
            self._readings[:, [into]] = np.minimum(sums, [[CUT], [CUT], [ATTO]])
            self._readings[:, start] = 0
            self._gone = (self._gone | {start}) - {into}
            self._joins.get(self._joined.get(start, UNKNOWN), set[int]()).discard(start)
            moved = self._joins.pop(start, set()) | {start}
            self._joined |= dict.fromkeys(moved, into)
            self._joins.setdefault(into, set()).update(moved)
            self.payments += 1

    def _count_part(self, key: tuple[str, int], before: Spending | None, after: Spending) -> None:
        """Change what counts of a part in the sum of all questions: of parts without a common unit, the dearest."""
        question, part = key
        if part >= APART:
            parts = self._apart.setdefault(question, {})
            before = dearest(parts.values()) if parts else None
            parts[part] = after
            after = dearest(parts.values())
        if before is not None:
            self._sums.add(before, -1)
        self._sums.add(after)

    def _add_units(self, start: int, keys: bytes) -> None:
        if start != self.count:
            raise ValueError(start)
        self._keys.add(keys, start)
        self.count += len(keys) // KEY
        if self.count > self._readings.shape[1]:
            # Pages that are never written take no memory.
            larger = np.zeros((3, self.count + max(_ROOM, self.count // 2)), dtype=np.int64)
            larger[:, :start] = self._readings[:, :start]
            self._readings = larger

    # What it knows

    @property
    def reached(self) -> Reached:
        """The numbers of questions and payments, and the last durable row."""
        return Reached(self.questions, self.payments, self.durable.id, self.durable.hash.hex())

    def find(self, keys: bytes) -> Numbers:
        """Return the numbers of concatenated keys; `UNKNOWN` for a unit that never paid."""
        return self._keys.find(keys)

    def current(self, numbers: Numbers) -> Numbers:
        """Return the numbers of the units that have the payments of these. A unit may occur twice."""
        if not self._joined:
            return numbers
        moved = np.isin(numbers, np.fromiter(self._joined, dtype=np.int64))
        after = numbers.copy()
        after[moved] = [self._joined[number] for number in numbers[moved].tolist()]
        return after

    def can_pay(self, common: FilterState, numbers: Numbers) -> NDArray[np.bool_]:
        """Return which of the units can pay: their balance plus `common` stays within the budget.

        A unit that was joined to another one pays nothing any more.
        """
        readings = self._readings[:, np.maximum(numbers, 0)]
        readings[:, numbers == UNKNOWN] = 0
        able = within(self.grant.budget, common, readings)
        if self._joined:
            able &= ~np.isin(numbers, np.fromiter(self._joined, dtype=np.int64))
        return able

    def cannot_pay(self, common: FilterState) -> list[bytes]:
        """Return the keys of all units whose balance plus `common` exceeds the budget."""
        able = within(self.grant.budget, common, self._readings[:, : self.count])
        return self._keys.keys_of(~able & self._present())

    def balance(self, unit: bytes) -> FilterState:
        """Return what one unit paid alone."""
        number = int(self.find(unit)[0])
        return FilterState() if number == UNKNOWN else FilterState(*self._readings[:, number].tolist())

    def unit_balances(self) -> list[tuple[FilterState, int]]:
        """Return the distinct balances, each with its number of units."""
        readings = self._readings[:, : self.count][:, self._present()]
        if not readings.shape[1]:
            return []
        states, counts = np.unique(readings, axis=1, return_counts=True)
        return [(FilterState(*state), count) for state, count in zip(states.T.tolist(), counts.tolist(), strict=True)]

    def keys_of(self, numbers: Numbers) -> list[bytes]:
        """Return the keys of units."""
        chosen = np.zeros(self.count, dtype=bool)
        chosen[numbers] = True
        return self._keys.keys_of(chosen)

    def names_of(self, unit: bytes) -> Numbers:
        """Return the numbers that a unit has and had: its own, and those of the units that were joined to it."""
        number = int(self.find(unit)[0])
        return np.array([number, *self._joins.get(number, ())], dtype=np.int64)

    def movable(self, pairs: Iterable[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
        """Return those pairs whose first unit has a balance when it is their turn: it moves to the second."""
        is_movable, moved = dict[bytes, bool](), list[tuple[bytes, bytes]]()
        for old, new in pairs:
            if old not in is_movable:
                number = int(self.find(old)[0])
                is_movable[old] = number != UNKNOWN and number not in self._gone
            if old != new and is_movable[old]:
                is_movable[old], is_movable[new] = False, True
                moved.append((old, new))
        return moved

    def is_past(self, question: str) -> bool:
        """Return whether a question of this id is in a log that was closed."""
        return bool(self._past.find(_hashed(question))[0] != UNKNOWN)

    def spent_at_most(self) -> Spending:
        """Return the sum of what all questions cost a unit that took part in all of them."""
        return self._sums.total()

    def _present(self) -> NDArray[np.bool_]:
        present = np.ones(self.count, dtype=bool)
        present[list(self._gone)] = False
        return present

    def _cost(self, sum_: Spending) -> FilterState:
        return _filter_state(self.grant.budget, sum_.loss_nano.tobytes(), sum_.failure_atto)

    # Snapshots and closing

    def close(self, questions: Iterable[str], answered: int, corpora: int) -> tuple[dict[str, Any], Arrays]:
        """Return the state as the content of the row that carries it to a new log. This object is of no use any more.

        Args:
            questions: the ids in this log that began or paid.
            answered: the number of questions of this log that have an end.
            corpora: the number of synthetic corpora and exports of vectors of this log.
        """
        new = sorted(one for one in set(map(_hashed, questions)) if self._past.find(one)[0] == UNKNOWN)
        self._past.add(b"".join(new), 0)
        self.earlier, self.corpora = (self.questions, self.earlier[1] + answered), self.corpora + corpora
        return self.pack()

    def pack(self) -> tuple[dict[str, Any], Arrays]:
        """Return the state as plain data and arrays."""
        header = {
            "durable": [self.durable.id, self.durable.hash.hex(), self.durable.before.hex()],
            "counts": [self.questions, self.payments, self.units_pay, self.count],
            "corpora": self.corpora,
            "gone": sorted(self._gone),
            "joined": sorted(self._joined.items()),
            "failures": [self.total.failure_atto, self._sums.failures],
            "paid": [[payers, *astuple(state), times] for (payers, state), times in self.transcript.paid.items()],
            "payers": [
                [question, part, payers, *astuple(state)]
                for question, parts in sorted(self.transcript.apart.items())
                for part, (payers, state) in sorted(parts.items())
            ],
            "open": [[*key, *_plain(part.most), _text(part.content)] for key, part in sorted(self.open.items())],
            "apart": [
                [question, part, *_plain(paid)]
                for question, parts in sorted(self._apart.items())
                for part, paid in sorted(parts.items())
            ],
        }
        arrays = [*self._keys.as_one_run(), self._readings[:, : self.count], self.total.loss_nano, self._sums.content]
        past = self._past.as_one_run()
        if len(past[0]):
            header["earlier"] = self.earlier
            arrays += past
        return json.loads(json.dumps(header)), arrays

    def unpack(self, header: dict[str, Any], content: Arrays) -> None:
        """Take over a state that `pack` returned."""
        if content[0].dtype.kind == "u":  # a log that an earlier version closed
            content = [*_whole(content[:3]), *content[3:6], *_whole(content[6:])]
        keys, numbers, readings, loss, sums, *past = content
        self._readings = readings if readings.shape[1] else self._readings  # no unit has paid yet
        number, *hashes = header["durable"]
        self.durable = Head(number, *map(bytes.fromhex, hashes))
        self.questions, self.payments, self.units_pay, self.count = header["counts"]
        self.corpora, self.earlier = header["corpora"], tuple(header.get("earlier", (0, 0)))
        self._past = KeyTable([(past[0], past[1])] if past else [])
        self._keys = KeyTable([(keys, numbers)] if len(keys) else [])
        self._gone, self._joined = set(header["gone"]), dict(map(tuple, header["joined"]))
        for old, new in self._joined.items():
            self._joins.setdefault(new, set()).add(old)
        self.total, failures = Spending(loss, header["failures"][0]), header["failures"][1]
        self._sums = Sums(sums, failures)
        # Of a state of an earlier version, only the sum is known; the least price there is leaves its parts open.
        whole = [[None, *astuple(self._cost(self._sums.total())), 1], [None, 1, 1, 1, 1]]
        paid = header.get("paid", whole)
        self.transcript = Transcript(((payers, FilterState(*state)), times) for payers, *state, times in paid)
        for question, part, payers, *state in header.get("payers", ()):
            self.transcript.apart.setdefault(question, {})[part] = payers, FilterState(*state)
        self.open = {
            (question, part): ReservedPart(Spending.unpack(_bytes(most), failure), _bytes(payers))
            for question, part, most, failure, payers in header["open"]
        }
        for question, part, paid, failure in header["apart"]:
            self._apart.setdefault(question, {})[part] = Spending.unpack(_bytes(paid), failure)


def within(budget: Budget, common: FilterState, readings: Readings) -> NDArray[np.bool_]:
    """Return, for each balance, whether `budget` admits its sum with `common`, as `Budget.admits_state` does."""
    limit, (curve, pure, failures) = budget.limit, readings + as_column(common)
    return np.asarray((failures <= limit.failures) & ((curve <= limit.curve) | (pure <= limit.pure)))


def plus(readings: Readings, more: Readings) -> Readings:
    """Return sums of balances, cut as in `FilterState`."""
    return np.asarray(np.minimum(readings + more, np.array([[CUT], [CUT], [ATTO]])))


def as_column(state: FilterState) -> Readings:
    """Return a state as the balance of one unit."""
    return np.array([[state.curve], [state.pure], [state.failures]], dtype=np.int64)


def counted(most: Spending, spent: Spending) -> Spending:
    """Return what counts of a part that reserved `most`: what was cut stays cut."""
    return most - (most - spent)


def dearest(sums: Iterable[Spending]) -> Spending:
    """Return the largest of sums, at each order."""
    dearest_spending = Spending.nothing()
    for paid in sums:
        dearest_spending = dearest_spending.or_more(paid)
    return dearest_spending


def settled(row: LogRow) -> tuple[list[dict[str, Any]], int | None]:
    """Return the records of a settled part's releases, and the most units that paid for it; None if not known."""
    if not row.content.startswith(b"{"):
        return json.loads(row.content), None
    fields = json.loads(row.content)
    return fields["charges"], fields["payers"]


def spending(row: LogRow) -> Spending:
    """Return the sum of a row."""
    return Spending.unpack(row.loss, row.failure)


@lru_cache(1024)
def _filter_state(budget: Budget, loss: bytes, failure: int) -> FilterState:
    return budget.filter_state(Spending.unpack(loss, failure))


def _whole(halves: Arrays) -> Arrays:
    """Return a run of keys from one that has their halves as whole numbers."""
    return [as_array(np.stack(halves[:2], axis=1).astype(">u8").tobytes()), halves[2]] if len(halves) else []


def _hashed(question: str) -> bytes:
    return hashlib.blake2b(question.encode(), digest_size=KEY).digest()


def _plain(sum_: Spending) -> tuple[str, int]:
    loss, failure = sum_.pack()
    return _text(loss), failure


def _text(content: bytes) -> str:
    return base64.b64encode(content).decode()


def _bytes(content: str) -> bytes:
    return base64.b64decode(content)

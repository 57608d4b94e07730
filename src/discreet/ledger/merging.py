"""Merging of units: the payments under the old key count for the new key, exactly and permanently.

A balance is moved, never copied, so the sums of a ledger do not change. Parts keep the keys or the numbers of their
payers; `current` and `merged_among` map them to the current keys. After a merge, no unit has the old key.
"""

import secrets
from collections import Counter
from collections.abc import Sequence

import numpy as np
from sqlalchemy import Connection

from discreet.ledger import blocks
from discreet.ledger.encoding import split
from discreet.ledger.sql_statements import Statement
from discreet.ledger.units import NAMED, Numbers, chunks, last_number, pay
from discreet.ledger.units import get_back as get_back_once
from discreet.privacy.accounting import CUT, FilterState

_HAVE_PAID = Statement(f"{NAMED} select named.key, unit.number from named join unit on unit.key = named.key")

# Readings are cut as in `FilterState`. Failures are limited to 64 bits. Both limits exceed every budget.
_ADD = Statement("""
    insert into unit (key, curve, pure, failures, number)
    select :new, curve, pure, failures, :fresh from unit where key = :old
    on conflict (key) do update set
        curve = case when unit.curve + excluded.curve < :cut then unit.curve + excluded.curve else :cut end,
        pure = case when unit.pure + excluded.pure < :cut then unit.pure + excluded.pure else :cut end,
        failures = case when unit.failures + excluded.failures < :most then unit.failures + excluded.failures
            else :most end
""")
_MOST = 2**62
_DROP = Statement("delete from unit where key = :old")
_FOLLOW = Statement("update merged_unit set new = :new where new = :old")
_NOTE = Statement(
    "insert into merged_unit (old, new, time, number) values (:old, :new, :time, :number) "
    "on conflict (old) do update set new = excluded.new, number = excluded.number"
)
_MERGED = Statement("select number, new from merged_unit where number between :low and :high")
_MARK = Statement("update last_part set merged_at = :at")
_NEW_NAMES = Statement(
    f"{NAMED} select merged_unit.old, merged_unit.new from named join merged_unit on merged_unit.old = named.key"
)


def merge(connection: Connection, pairs: Sequence[tuple[bytes, bytes]], time: str) -> int:
    """Move the balance of the first unit of each pair to the second. Return the number of moved balances.

    No part may be open or wait: rows and blocks must include all payments. What a merged unit has in a block moves to
    its row first.
    """
    wanted = {old: new for old, new in pairs if old != new}
    moved = 0
    for keys in chunks(b"".join(wanted)):
        for found, number in _HAVE_PAID.run(connection, {"keys": keys}).fetchall():
            old = bytes(found)
            names = {"old": old, "new": wanted[old]}
            large = blocks.take(connection, number)
            pay(connection, large, large, old)
            _ADD.run(connection, names | {"cut": CUT, "most": _MOST, "fresh": last_number(connection) + 1})
            _DROP.run(connection, names)
            _FOLLOW.run(connection, names)
            _NOTE.run(connection, names | {"time": time, "number": number})
            moved += 1
    if moved:
        _MARK.run(connection, {"at": secrets.randbits(62)})
    return moved


def current(connection: Connection, payers: bytes) -> bytes:
    """Return the concatenated current keys of the payers. A unit that merges two of them occurs twice."""
    found: list[bytes] = []
    for keys in chunks(payers):
        names = {bytes(old): bytes(new) for old, new in _NEW_NAMES.run(connection, {"keys": keys}).fetchall()}
        found.append(b"".join(names.get(key, key) for key in split(keys)) if names else keys)
    return b"".join(found)


def get_back(connection: Connection, back: FilterState, payers: bytes) -> None:
    """Return `back` to each of `payers`; twice to a unit that merges two of them.

    Raises:
        LedgerError: if a payer never paid.
    """
    get_back_each(connection, back, split(current(connection, payers)))


def get_back_each(connection: Connection, back: FilterState, keys: Sequence[bytes]) -> None:
    """Return `back` to the row of each key; twice to a key that occurs twice.

    Raises:
        LedgerError: if a payer never paid.
    """
    left = list(keys)
    while left:
        once = Counter(left)
        get_back_once(connection, back, b"".join(once))
        left = list((once - Counter(set(once))).elements())


def merged_among(connection: Connection, numbers: Numbers) -> list[tuple[int, bytes]]:
    """Return those of ascending numbers whose units were merged, each with the current key."""
    span = {"low": int(numbers[0]), "high": int(numbers[-1])}
    found = {number: bytes(key) for number, key in _MERGED.run(connection, span).fetchall()}
    known = np.fromiter(found, dtype=np.int64, count=len(found))
    return [(number, found[number]) for number in known[np.isin(known, numbers)].tolist()]

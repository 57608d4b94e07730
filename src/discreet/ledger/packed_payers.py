"""The payers of a large part in a compressed form: their numbers in the table `unit`, as differences of 1 to 6 bytes.

A key has 16 bytes, and keys of a keyed hash do not compress. A unit's number is given once and never again, so 100,000
payers of ten million units take about 130 kB in place of 1.6 MB. The form has a checksum. It replaces the keys when a
part is settled, in the same transaction: until then, a part must be compared with its digest, and needs its keys.
"""

import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from sqlalchemy import Connection

from discreet.errors import LedgerError
from discreet.ledger.encoding import CORRUPT, KEY, stream
from discreet.ledger.sql_statements import Statement
from discreet.ledger.units import NAMED, Numbers, chunks, last_number

LEAST = 1000
"""The number of payers from which they are compressed. Fewer are smaller than a page of their row's neighbours."""
COUNT = 8
"""The number of bytes of a form that hold the number of payers."""
_SUM = 4
_BITS, _MOST = 7, 6

_NUMBERS = Statement(f"{NAMED} select unit.number from named join unit on unit.key = named.key")
_NUMBER_REST = Statement(
    "update unit set number = fresh.number from "
    "(select key, :last + row_number() over (order by key) as number from unit where number is null) as fresh "
    "where fresh.key = unit.key"
)
_STORE = Statement("update part set payers = :nothing, packed = :packed where question = :question and part = :part")
_KEYS = Statement(
    "select number, key from unit where number between :low and :high "
    "union all select number, new from merged_unit where number between :low and :high"
)


def pack(numbers: Numbers) -> bytes:
    """Return the compressed form of distinct ascending numbers from 1."""
    gaps = np.diff(numbers, prepend=0)
    lengths = np.ones(len(gaps), dtype=np.int64)
    for count in range(1, _MOST):
        lengths += gaps >= 1 << _BITS * count
    ends = np.cumsum(lengths)
    content = np.zeros(int(ends[-1]) if len(ends) else 0, dtype=np.uint8)
    for place in range(_MOST):
        chosen = np.flatnonzero(lengths > place)
        more = (lengths[chosen] > place + 1) * 128
        content[ends[chosen] - lengths[chosen] + place] = (gaps[chosen] >> _BITS * place & 127) | more
    body = len(numbers).to_bytes(COUNT, "little") + content.tobytes()
    return body + zlib.crc32(body).to_bytes(_SUM, "little")


def unpack(packed: object) -> Numbers:
    """Return the numbers of a compressed form.

    Raises:
        LedgerError: if it is damaged.
    """
    if not isinstance(packed, bytes) or len(packed) < COUNT + _SUM:
        raise LedgerError(CORRUPT)
    if zlib.crc32(packed[:-_SUM]) != int.from_bytes(packed[-_SUM:], "little"):
        raise LedgerError(CORRUPT)
    content = np.frombuffer(packed, dtype=np.uint8)[COUNT:-_SUM].astype(np.int64)
    last = np.flatnonzero(content < 128)
    if len(last) != size(packed[:COUNT]) or (len(content) and (not len(last) or last[-1] != len(content) - 1)):
        raise LedgerError(CORRUPT)
    if not len(last):
        return np.empty(0, dtype=np.int64)
    starts = np.append(0, last[:-1] + 1)
    places = np.arange(len(content)) - np.repeat(starts, last - starts + 1)
    return np.asarray(np.cumsum(np.add.reduceat((content & 127) << _BITS * places, starts)), dtype=np.int64)


def size(head: object) -> int:
    """Return the number of payers from the first `COUNT` bytes of a form.

    Raises:
        LedgerError: if the form is damaged.
    """
    if not isinstance(head, bytes) or len(head) != COUNT:
        raise LedgerError(CORRUPT)
    return int.from_bytes(head, "little")


def check_forms(connection: Connection) -> None:
    """Check the checksums of all compressed forms, which an opening of the ledger does not read.

    Raises:
        LedgerError: if a form is damaged.
    """
    for row in stream(connection, "select packed from part where packed is not null"):
        unpack(row.packed)


@dataclass(frozen=True)
class Known:
    """The numbers of the payers of one open part, which this process read when it reserved the part.

    While the part with this digest is open, no unit is merged and no number changes: both would close the part first.
    """

    digest: bytes
    numbers: Numbers

    def of(self, digest: object) -> Numbers | None:
        """Return the numbers if the open part has this digest."""
        return self.numbers if digest == self.digest else None


def many(payers: bytes) -> bool:
    """Return whether payers are compressed."""
    return len(payers) >= LEAST * KEY


def store(connection: Connection, key: Mapping[str, Any], payers: bytes, known: Numbers | None = None) -> bool:
    """Replace the keys of a settled part's payers by their compressed form, if they are many. Return whether it was.

    The keys stay if a payer has no number of its own: it was merged into another unit meanwhile.

    Args:
        connection: a transaction of the ledger.
        key: the question and the part.
        payers: the concatenated keys.
        known: the numbers of the payers, in any order; read here if they are None.

    Raises:
        LedgerError: if the form does not give the numbers back.
    """
    if not many(payers):
        return False
    found = _all_numbers(connection, payers) if known is None else known
    if len(found) * KEY != len(payers):
        return False
    numbers = np.sort(found)
    packed = pack(numbers)
    if (np.diff(numbers, prepend=0) <= 0).any() or not np.array_equal(unpack(packed), numbers):
        raise LedgerError(CORRUPT)
    _STORE.run(connection, {**key, "packed": packed, "nothing": b""})
    return True


def _all_numbers(connection: Connection, payers: bytes) -> Numbers:
    found = _numbers(connection, payers)
    if None in found:
        # A program of the format before paid them while this one numbered the units.
        _NUMBER_REST.run(connection, {"last": last_number(connection)})
        found = _numbers(connection, payers)
    return np.array(found, dtype=np.int64)


def _numbers(connection: Connection, payers: bytes) -> list[int | None]:
    return [number for keys in chunks(payers) for (number,) in _NUMBERS.run(connection, {"keys": keys}).fetchall()]


def current_keys(connection: Connection, packed: object) -> frozenset[bytes]:
    """Return the present keys of the payers in a compressed form.

    Raises:
        LedgerError: if the form is damaged, or if a payer is missing.
    """
    numbers = unpack(packed)
    if not len(numbers):
        return frozenset()
    rows = _KEYS.run(connection, {"low": int(numbers[0]), "high": int(numbers[-1])}).fetchall()
    known = np.array([number for number, _ in rows], dtype=np.int64)
    chosen = np.flatnonzero(np.isin(known, numbers))
    if len(chosen) != len(numbers):
        raise LedgerError(CORRUPT)
    return frozenset(bytes(rows[place][1]) for place in chosen.tolist())

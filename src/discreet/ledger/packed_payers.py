"""The payers of a large part in a compressed form: their numbers in the table `unit`, as differences of 1 to 6 bytes.

A key has 16 bytes, and keys of a keyed hash do not compress. A unit's number is given once and never again, so 100,000
payers of ten million units take about 130 kB in place of 1.6 MB. The form has a checksum. A part with many payers has
the form in place of their keys, from its reservation on (waiting.py).
"""

import zlib

import numpy as np
from sqlalchemy import Connection

from discreet.errors import LedgerError
from discreet.ledger.encoding import CORRUPT, KEY, stream
from discreet.ledger.sql_statements import Statement
from discreet.ledger.units import Numbers

LEAST = 1000
"""The number of payers from which they are compressed. Fewer are smaller than a page of their row's neighbours."""
COUNT = 8
"""The number of bytes of a form that hold the number of payers."""
_SUM = 4
_BITS, _MOST = 7, 6

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


def many(payers: bytes) -> bool:
    """Return whether payers are compressed."""
    return len(payers) >= LEAST * KEY


def pack_checked(numbers: Numbers) -> bytes:
    """Return the compressed form of distinct ascending numbers, after it was read back.

    Raises:
        LedgerError: if the form does not give the numbers back.
    """
    packed = pack(numbers)
    if (np.diff(numbers, prepend=0) <= 0).any() or not np.array_equal(unpack(packed), numbers):
        raise LedgerError(CORRUPT)
    return packed


def current_keys(connection: Connection, packed: object) -> list[bytes]:
    """Return the present keys of the payers in a compressed form. A unit that merges two of them occurs twice.

    Raises:
        LedgerError: if the form is damaged, or if a payer is missing.
    """
    numbers = unpack(packed)
    if not len(numbers):
        return []
    rows = _KEYS.run(connection, {"low": int(numbers[0]), "high": int(numbers[-1])}).fetchall()
    known = np.array([number for number, _ in rows], dtype=np.int64)
    chosen = np.flatnonzero(np.isin(known, numbers))
    if len(chosen) != len(numbers):
        raise LedgerError(CORRUPT)
    return [bytes(rows[place][1]) for place in chosen.tolist()]

"""Blocks of balances: what units paid for large parts, in rows of many units each, by the numbers of the units.

waiting.py writes many large parts into them together: a million units are 245 rows. The balance of a unit is the sum
of its own row, its place in a block, and the parts that wait.
"""

import itertools
import zlib
from collections.abc import Iterator

import numpy as np
from sqlalchemy import Connection

from discreet.errors import LedgerError
from discreet.ledger.encoding import CORRUPT
from discreet.ledger.sql_statements import Statement
from discreet.ledger.units import Numbers, Readings, last_number, minus, plus
from discreet.privacy.accounting import FilterState

UNITS = 4096
"""The number of units in a block."""
_KIND = np.dtype("<i8")
_SUM = 4

_READ = Statement("select content from balance_block where block = :block")
_NAMES = Statement("select block from balance_block order by block")
_WRITE = Statement(
    "insert into balance_block (block, content) values (:block, :content) "
    "on conflict (block) do update set content = excluded.content"
)


def read(connection: Connection, numbers: Numbers) -> Readings:
    """Return what the units with these numbers paid in blocks. Number 0 stands for a unit that has never paid."""
    found: Readings = np.zeros((3, len(numbers)), dtype=np.int64)
    order = np.argsort(numbers, kind="stable")
    for block, some in _by_block(numbers[order]):
        found[:, order[some]] = _load(connection, block)[:, numbers[order[some]] - block * UNITS]
    return found


def read_all(connection: Connection) -> Iterator[tuple[int, Readings]]:
    """Yield each block, with the number of its first unit.

    Raises:
        LedgerError: if a block is damaged, or if there can be no such block.
    """
    names = [block for (block,) in _NAMES.run(connection, {}).fetchall()]
    if names and not 0 <= names[0] <= names[-1] <= last_number(connection) // UNITS:
        raise LedgerError(CORRUPT)
    for block in names:
        yield block * UNITS, _load(connection, block)


def add(connection: Connection, sums: Readings) -> None:
    """Add a sum to each unit. Column `n` is the sum of the unit with number `n`."""
    for start in range(0, sums.shape[1], UNITS):
        some = sums[:, start : start + UNITS]
        if some.any():
            content = _load(connection, start // UNITS)
            content[:, : some.shape[1]] = plus(content[:, : some.shape[1]], some)
            _save(connection, start // UNITS, content)


def get_back(connection: Connection, numbers: Numbers, back: FilterState) -> None:
    """Return `back` to the units with these ascending numbers.

    Raises:
        LedgerError: if a unit paid less in its block.
    """
    if back == FilterState():
        return
    for block, some in _by_block(numbers):
        content, chosen = _load(connection, block), numbers[some] - block * UNITS
        content[:, chosen] = minus(content[:, chosen], back)
        if (content < 0).any():
            raise LedgerError(CORRUPT)
        _save(connection, block, content)


def take(connection: Connection, number: int) -> FilterState:
    """Return what a unit paid in blocks, and remove it there."""
    block, place = divmod(number, UNITS)
    content = _load(connection, block)
    found = FilterState(*content[:, place].tolist())
    if found != FilterState():
        content[:, place] = 0
        _save(connection, block, content)
    return found


def _load(connection: Connection, block: int) -> Readings:
    """Return the content of a block, of shape (3, UNITS); zeros if there is none.

    Raises:
        LedgerError: if the block is damaged.
    """
    row = _READ.found(connection, {"block": block})
    if row is None:
        return np.zeros((3, UNITS), dtype=np.int64)
    if not isinstance(row[0], bytes) or len(row[0]) > UNITS * 3 * _KIND.itemsize + _SUM:
        raise LedgerError(CORRUPT)
    trimmed, checksum = row[0][:-_SUM], row[0][-_SUM:]
    if checksum != _checksum(block, trimmed):
        raise LedgerError(CORRUPT)
    content = trimmed.ljust(UNITS * 3 * _KIND.itemsize, b"\0")
    return np.frombuffer(content, dtype=_KIND).astype(np.int64).reshape(3, UNITS)


def _save(connection: Connection, block: int, content: Readings) -> None:
    # Without the zeros at its end: failures are seldom.
    trimmed = content.astype(_KIND).tobytes().rstrip(b"\0")
    _WRITE.run(connection, {"block": block, "content": trimmed + _checksum(block, trimmed)})


def _checksum(block: int, trimmed: bytes) -> bytes:
    """Return the checksum of a block. Sums of balances alone would miss damage to balances that are cut."""
    return zlib.crc32(trimmed, zlib.crc32(str(block).encode())).to_bytes(_SUM, "little")


def _by_block(numbers: Numbers) -> Iterator[tuple[int, slice]]:
    """Yield each block of ascending numbers, with their places."""
    names = np.unique(numbers // UNITS)
    edges = [*np.searchsorted(numbers, names * UNITS).tolist(), len(numbers)]
    for block, (start, end) in zip(names.tolist(), itertools.pairwise(edges), strict=True):
        yield block, slice(start, end)

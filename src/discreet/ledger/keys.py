"""The keys of units, and their numbers. A unit gets the next number when it pays for the first time.

A key is a keyed hash of 16 bytes. The secret that makes it is a file of the vault (`units.key`), never in the database:
so the log alone says how often a unit took part, and not which.

The table is some runs, each sorted by key, with the numbers beside. A new run takes in the runs before it that are not
four times as large. So new keys cost their number on average, and a search looks at few runs. A run of a snapshot is
mapped from its file, and a search reads a few of its pages.
"""

import struct
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from discreet.errors import LedgerError

KEY = 16
"""The length of a unit's key, in bytes."""
UNKNOWN = -1

_GROWTH = 4
_AT_ONCE = 1000
_HEAD = struct.Struct(">QIB")

Numbers = NDArray[np.int64]
Halves = NDArray[np.uint64]
Run = tuple[Halves, Halves, Numbers]
"""Sorted keys as the whole numbers of their first and second halves, and the number of each unit."""


class KeyTable:
    """The numbers of all known keys."""

    def __init__(self, runs: Sequence[Run] = ()) -> None:
        self._runs = list(runs)

    def find(self, keys: bytes) -> Numbers:
        """Return the number of each of concatenated keys; `UNKNOWN` for a key that never paid."""
        first, second = _halves(keys)
        numbers = np.full(len(first), UNKNOWN, dtype=np.int64)
        left = np.arange(len(first))
        for run in self._runs:
            if len(left):
                numbers[left] = _search(run, first[left], second[left])
                left = left[numbers[left] == UNKNOWN]
        return numbers

    def add(self, keys: bytes, start: int) -> None:
        """Add concatenated sorted keys that are not in the table. Their numbers follow from `start`."""
        if not keys:
            return
        first, second = _halves(keys)
        run = first, second, np.arange(start, start + len(first), dtype=np.int64)
        while self._runs and len(self._runs[-1][0]) < _GROWTH * len(run[0]):
            run = _merged(self._runs.pop(), run)
        self._runs.append(run)

    def keys_of(self, chosen: NDArray[np.bool_]) -> list[bytes]:
        """Return the keys of the numbers whose place in `chosen` is true."""
        found = list[bytes]()
        for first, second, numbers in self._runs:
            places = np.flatnonzero(chosen[numbers])
            found += split(np.stack([first[places], second[places]], axis=1).astype(">u8").tobytes())
        return found

    def as_one_run(self) -> Run:
        """Make all runs one. Return it."""
        while len(self._runs) > 1:
            self._runs.append(_merged(*(self._runs.pop() for _ in range(2))))
        empty = np.empty(0, dtype=np.uint64)
        return self._runs[0] if self._runs else (empty, empty, np.empty(0, dtype=np.int64))


def join_keys(units: Sequence[bytes]) -> bytes:
    """Return the concatenated keys of units in order, each once.

    Raises:
        LedgerError: if a key has a wrong type or length.
    """
    listed = list(units)
    for start in range(0, len(listed), _AT_ONCE):  # few at once stay in the cache of the processor
        some = listed[start : start + _AT_ONCE]
        if set(map(type, some)) - {bytes} or set(map(len, some)) - {KEY}:
            raise LedgerError(
                f"The key of a unit has a wrong type or length; {KEY} bytes are expected. Nothing was reserved. Use a "
                "keyed hash."
            )
    together = b"".join(listed)
    first, second = _halves(together)
    order = np.argsort(first)
    if (first[order[1:]] == first[order[:-1]]).any():  # a unit that is named twice, or keys of tests
        return b"".join(sorted(set(listed)))
    return np.stack([first[order], second[order]], axis=1).astype(">u8").tobytes()


def split(keys: bytes) -> list[bytes]:
    """Return concatenated keys one by one."""
    return [keys[start : start + KEY] for start in range(0, len(keys), KEY)]


def choose(keys: bytes, places: NDArray[np.bool_]) -> bytes:
    """Return those of concatenated keys whose place is true."""
    return np.frombuffer(keys, dtype=np.uint8).reshape(-1, KEY)[places].tobytes()


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
    start, new, known = unpack_payers(content)
    return np.concatenate([known, np.arange(start, start + len(new) // KEY)])


def _halves(keys: bytes) -> tuple[Halves, Halves]:
    halves = np.frombuffer(keys, dtype=">u8").reshape(-1, 2).astype(np.uint64)
    return np.ascontiguousarray(halves[:, 0]), np.ascontiguousarray(halves[:, 1])


def _search(run: Run, first: Halves, second: Halves) -> Numbers:
    """Return the number of each key; `UNKNOWN` for a key that is not in the run."""
    places = np.searchsorted(run[0], first)
    numbers = np.full(len(first), UNKNOWN, dtype=np.int64)
    inside = np.flatnonzero(places < len(run[0]))
    same = inside[run[0][places[inside]] == first[inside]]
    found = run[1][places[same]] == second[same]
    numbers[same[found]] = run[2][places[same[found]]]
    left = same[~found]
    for value in np.unique(first[left]):  # several keys with one first half, which only tests have
        asked = left[first[left] == value]
        low, high = np.searchsorted(run[0], value), np.searchsorted(run[0], value, side="right")
        near = np.minimum(low + np.searchsorted(run[1][low:high], second[asked]), high - 1)
        exact = run[1][near] == second[asked]
        numbers[asked[exact]] = run[2][near[exact]]
    return numbers


def _merged(one: Run, other: Run) -> Run:
    first, second, numbers = (np.concatenate(both) for both in zip(one, other, strict=True))
    order = np.argsort(first, kind="stable")  # which merges two sorted halves in one pass
    if (np.diff(first[order]) == 0).any():
        order = np.lexsort((second, first))
    return first[order], second[order], numbers[order]

"""Intervals that cover the true number: from the noise, and from what phrases get wrong.

A count by rule of F units, of which B are wrong, and which misses C others, stands for F - B + C true ones. That is
at least F - B, and at most F + C. The noise leaves out F on one side with probability (1 - NOISE)/2, and a bound of B
or C fails with the rest: 0.01 on each side. So the interval covers with probability 0.95 (the union bound). A share is
Y of Y + N: it is least if Y has all wrong units that can be, and N all missed ones. These two bounds have half of the
0.01 each, and the four of a difference of shares a quarter. The value itself stays that of the noisy counts.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Self

import numpy as np

from discreet.algorithms.common.algorithm import Figure
from discreet.algorithms.statistics.counted import Counted, Reckon, ReckonedDifference, Weights, divide
from discreet.algorithms.statistics.labelled import RuleCheck, most_missed, most_wrong
from discreet.algorithms.statistics.noisy_cells import LEVEL, Cells

NOISE = 0.97
"""The coverage of the noise alone."""
TAIL = (NOISE - LEVEL) / 2
"""The probability on each side that a bound of the errors fails."""

Key = frozenset[tuple[int, int]]


def key_of(weights: Weights) -> Key:
    """Return a sum of cells in a form in which it can be looked up."""
    pairs = weights.items() if isinstance(weights, Mapping) else ((cell, 1) for cell in weights)
    return frozenset((cell, weight) for cell, weight in pairs if weight)


@dataclass(frozen=True)
class Widened(Counted):
    """Noisy counts, with what the rule did on a labelled sample.

    Attributes:
        checked: what it did for each sum of cells.
    """

    checked: Mapping[Key, RuleCheck] = field(default_factory=dict, hash=False)

    def figure(self, name: str, kind: str, of: Reckon, level: float = NOISE) -> Figure:
        """Return a number with the interval that covers the true one."""
        found = super().figure(name, kind, self._wide(of, TAIL), level)
        return Figure(name, kind, found.value, found.low, found.high)

    def _wide(self, of: Reckon, tail: float) -> Reckon:
        if isinstance(of, ReckonedDifference):
            return ReckonedDifference(*(self._wide(part, tail / 2) for part in of.parts))
        if of.whole:
            rest = minus(of.whole, of.cells)
            return _WideShare(of, rest, self.checked[key_of(of.cells)], self.checked[key_of(rest)], tail / 2)
        return _WideCount(of, self.checked[key_of(of.cells)], tail)


def minus(whole: Weights, part: Weights) -> dict[int, int]:
    """Return a sum of cells without another one."""
    found = dict(key_of(whole))
    for cell, weight in key_of(part):
        found[cell] = found.get(cell, 0) - weight
    return {cell: weight for cell, weight in found.items() if weight}


class _WideCount(Reckon):
    """A count, with the units of which the rule may be wrong, or which it may miss."""

    def __init__(self, of: Reckon, checked: RuleCheck, tail: float) -> None:
        super().__init__(of.cells)
        self._exact, self._checked, self._tail = of, checked, tail

    def uncut(self) -> Self:
        """Return the same count, below 0 where the noise puts it there."""
        found = super().uncut()
        found._exact = self._exact.uncut()
        return found

    def __call__(self, counts: Cells) -> Cells:
        """Return the noisy count."""
        return self._exact(counts)

    def least(self, counts: Cells, missing: float = 0.0) -> Cells:
        """Return the least true number."""
        found = self._exact.least(counts, missing)
        return _each(found, lambda one: one - most_wrong(one, self._checked, self._tail))

    def most(self, counts: Cells, missing: float = 0.0) -> Cells:
        """Return the largest true number."""
        found = self._exact.most(counts, missing)
        return _each(found, lambda one: one + most_missed(one, self._checked, self._tail))


class _WideShare(Reckon):
    """A share of two true numbers: of those of which a condition holds, and of the rest."""

    def __init__(self, of: Reckon, rest: Weights, held: RuleCheck, other: RuleCheck, tail: float) -> None:
        super().__init__(of.cells, of.whole)
        self._held = _WideCount(Reckon(of.cells), held, tail)
        self._rest = _WideCount(Reckon(rest), other, tail)

    def uncut(self) -> Self:
        """Return the same share, below 0 or above 1 where the noise puts it there."""
        found = super().uncut()
        found._held, found._rest = self._held.uncut(), self._rest.uncut()
        return found

    def least(self, counts: Cells, missing: float = 0.0) -> Cells:
        """Return the least true share."""
        return self._quotient(self._held.least(counts, missing), self._rest.most(counts, missing), 0.0)

    def most(self, counts: Cells, missing: float = 0.0) -> Cells:
        """Return the largest true share."""
        return self._quotient(self._held.most(counts, missing), self._rest.least(counts, missing), 1.0)

    def _quotient(self, held: Cells, rest: Cells, none: float) -> Cells:
        """Return the share of one number of itself and the rest."""
        found = divide(held, held + rest, none)
        return np.clip(found, 0.0, 1.0) if self._cut else found


def _each(counts: Cells, change: Callable[[int], int]) -> Cells:
    """Return the counts, each changed; those below 0, which no units are, keep what is below."""
    whole = np.rint(counts).astype(np.int64)
    different, places = np.unique(whole, return_inverse=True)
    changed = np.asarray([change(max(0, one)) + min(0, one) for one in different.tolist()], dtype=np.float64)
    return changed[places]

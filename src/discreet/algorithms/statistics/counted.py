"""Numbers that follow from the noisy counts of public cells, with their intervals and in words."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from discreet.algorithms.common.answer import Figure
from discreet.algorithms.statistics.noisy_cells import Cells, Histogram, interval
from discreet.privacy.mechanisms.gaussian_histogram import GaussianHistogram


@dataclass(frozen=True)
class Counted:
    """Noisy counts of public cells.

    Attributes:
        counts: the counts.
        deviations: the standard deviation of the noise of each.
        gaussian: whether the noise is Gaussian; else Laplace.
    """

    counts: tuple[int, ...]
    deviations: tuple[float, ...]
    gaussian: bool = True

    @staticmethod
    def by(histogram: Histogram, counts: tuple[int, ...]) -> "Counted":
        """Return the counts that a histogram released."""
        gaussian = isinstance(histogram, GaussianHistogram)
        return Counted(counts, (histogram.deviation,) * len(counts), gaussian)

    def figure(self, name: str, kind: str, of: "Reckon") -> Figure:
        """Return a number that follows from the counts, with its interval."""
        low, high = interval(self.counts, self.deviations, self.gaussian, of.__call__)
        value = float(of(np.asarray([self.counts], dtype=np.float64))[0])
        return Figure(name, kind, value, min(low, value), max(high, value))


class Reckon:
    """A function from counts, shape (points, cells), to a number, shape (points,): a quotient of two sums of cells."""

    def __init__(self, cells: Sequence[int], of: Sequence[int] = ()) -> None:
        self._cells, self._of = list(cells), list(of)

    def __call__(self, counts: Cells) -> Cells:
        """Return the sum of the cells, or its share of the sum of other cells."""
        total: Cells = counts[:, self._cells].sum(axis=1)
        if not self._of:
            return np.maximum(total, 0.0)
        whole = counts[:, self._of].sum(axis=1)
        share: Cells = np.clip(np.divide(total, whole, out=np.zeros_like(total), where=whole > 0), 0.0, 1.0)
        return share


def whole(figure: Figure) -> str:
    """Return a count in words: "about 41 (38 to 44)"."""
    return f"about {figure.value:,.0f} ({figure.low:,.0f} to {figure.high:,.0f})"


def percent(figure: Figure) -> str:
    """Return a share in words: "about 41 % (38 % to 44 %)"."""
    return f"about {figure.value:.0%} ({figure.low:.0%} to {figure.high:.0%})".replace("%", " %")

"""The interval of a difference of two shares: it covers at the ends, too, where a share is near 0 or 1."""

import numpy as np
import pytest

from discreet.statistics.cells import Counted, Reckon, ReckonedDifference

ENDS = [
    ((40, 0, 0, 200), 14.0, False),
    ((40, 0, 0, 200), 4.7, True),
    ((20, 0, 0, 20), 4.7, True),
    ((10, 0, 100, 300), 4.7, True),
    ((50, 50, 20, 80), 4.7, True),
]
OF = ReckonedDifference(Reckon([0], [0, 1]), Reckon([2], [2, 3]))


@pytest.mark.parametrize(("true", "deviation", "gaussian"), ENDS)
def test_interval_of_a_difference_covers(true: tuple[int, ...], deviation: float, gaussian: bool) -> None:
    """Over 1000 draws: 0.95 of them, give or take, and more at the ends."""
    source, covered, draws = np.random.default_rng(7), 0, 1000
    value = true[0] / (true[0] + true[1]) - true[2] / (true[2] + true[3])
    for _ in range(draws):
        noise = source.normal(size=4) if gaussian else source.laplace(scale=0.5**0.5, size=4)
        counts = tuple(round(one + deviation * z) for one, z in zip(true, noise, strict=True))
        figure = Counted(counts, (deviation,) * 4, gaussian).figure("x", "difference", OF)
        covered += figure.low - 1e-12 <= value <= figure.high + 1e-12
    assert covered / draws >= 0.94

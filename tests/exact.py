"""All outcomes of all draws, one after the other, with their probabilities: exact laws of whole answers."""

import math
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import pairwise

import numpy as np
import pytest

from discreet.privacy.mechanisms import counting
from discreet.privacy.noise import WHOLE, Noise, Whole


class EveryNoise:
    """Replays a path of choices, then takes the first outcome; `paths` visits all of them."""

    secure = False

    def __init__(self, path: list[int]) -> None:
        self.path, self.taken, self.widths, self.probability = path, 0, list[int](), 1.0

    def _choose(self, law: Sequence[float]) -> int:
        choice = self.path[self.taken] if self.taken < len(self.path) else 0
        self.taken += 1
        self.widths.append(len(law))
        self.probability *= law[choice]
        return choice

    def beside(self) -> "EveryNoise":
        return self  # whose draws are made one after the other

    def laplace(self, scale: float) -> int:
        return self._choose(_laplace(scale)) - math.ceil(7 * scale)

    def gaussian(self, scale: float) -> int:
        return self._choose(_gaussian(scale)) - math.ceil(8 * scale)

    def gaussians(self, scale: float, count: int) -> Whole:
        return np.array([self.gaussian(scale) for _ in range(count)], dtype=np.int64)

    def select(self, scores: Sequence[float], scale: float) -> int:
        return self._choose(_normalized([math.exp(score / scale) for score in scores]))

    def permute_and_flip(self, scores: Sequence[float], scale: float) -> int:
        raise NotImplementedError

    def below(self, bound: int) -> int:
        return self._choose([1 / bound] * bound)

    def toss(self, weight: int) -> bool:
        # A certain outcome is no choice: it would be a path of probability 0.
        return weight > 0 if weight in (0, WHOLE) else self._choose([1 - weight / WHOLE, weight / WHOLE]) == 1

    def invert(self, table: Sequence[int]) -> int:
        steps = [after - before for before, after in pairwise([0, *table, WHOLE])]
        possible = [place for place, step in enumerate(steps) if step > 0]
        return possible[self._choose([steps[place] / WHOLE for place in possible])]


# The same law is asked for at every draw of every path.
@cache
def _laplace(scale: float) -> list[float]:
    reach = math.ceil(7 * scale)
    return _normalized([math.exp(-abs(z) / scale) for z in range(-reach, reach + 1)])


@cache
def _gaussian(scale: float) -> list[float]:
    reach = math.ceil(8 * scale)
    return _normalized([math.exp(-((z / scale) ** 2) / 2) for z in range(-reach, reach + 1)])


def _normalized(weights: Sequence[float]) -> list[float]:
    total = sum(weights)
    return [weight / total for weight in weights]


def paths() -> Iterator[EveryNoise]:
    """Every path of draws. What is drawn to be thrown away changes no law, and would multiply the paths."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(counting, "gaussians_in_calls", _as_many_as_needed)
        yield from _paths()


def _as_many_as_needed(noise: Noise, scale: float, size: int, needed: int) -> list[int]:
    assert needed <= size
    found: list[int] = noise.gaussians(scale, needed).tolist()
    return found


def _paths() -> Iterator[EveryNoise]:
    path: list[int] = []
    while True:
        noise = EveryNoise(path)
        yield noise
        path = [*path, *[0] * (noise.taken - len(path))]
        while path and path[-1] + 1 == noise.widths[len(path) - 1]:
            path.pop()
        if not path:
            return
        path[-1] += 1

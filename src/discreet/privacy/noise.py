"""Where randomness comes from.

Real noise is drawn by OpenDP's samplers from the operating system: exact, free of floating-point leaks (Mironov
2012), and not seedable. A seeded source exists for tests and simulations and says so in its name.
"""

import math
import secrets
from bisect import bisect_right
from collections.abc import Sequence
from functools import cache, lru_cache
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

Whole = NDArray[np.int64]
T = TypeVar("T")

WHOLE = 1 << 64
"""The weight of a certain event in `Noise.toss`."""


class Noise(Protocol):
    """A source of the random draws that mechanisms need."""

    secure: bool
    """Whether a real vault may use it."""

    def laplace(self, scale: float) -> int:
        """A whole number z with probability proportional to exp(-|z| / scale)."""

    def gaussian(self, scale: float) -> int:
        """A whole number z with probability proportional to exp(-z^2 / (2 scale^2))."""

    def gaussians(self, scale: float, count: int) -> Whole:
        """So many independent draws of `gaussian`, shape (count,)."""

    def select(self, scores: Sequence[float], scale: float) -> int:
        """An index i with probability proportional to exp(scores[i] / scale)."""

    def permute_and_flip(self, scores: Sequence[float], scale: float) -> int:
        """An index by permute-and-flip (McKenna and Sheldon 2020) at the given scale."""

    def below(self, bound: int) -> int:
        """A uniformly random whole number in [0, bound)."""

    def toss(self, weight: int) -> bool:
        """Return True with probability weight / 2^64, exactly."""

    def invert(self, table: Sequence[int]) -> int:
        """Return the first place of a sorted table whose entry is above a uniform number of 64 bits, or its length."""

    def beside(self) -> "Noise":
        """A source for one of several pieces of work: what it gives does not follow from what others draw, or when."""


class SystemNoise:
    """Randomness of the operating system, through OpenDP's exact samplers. Any number of threads may draw at once."""

    secure = True

    def __init__(self) -> None:
        _opendp()  # loaded before a question is looked at: when the first draw comes may follow from documents

    def laplace(self, scale: float) -> int:
        """Discrete Laplace noise."""
        return int(_laplace(scale)(0))

    def gaussian(self, scale: float) -> int:
        """Discrete Gaussian noise (Canonne, Kamath and Steinke 2020)."""
        return int(_gaussian(scale)(0))

    def gaussians(self, scale: float, count: int) -> Whole:
        """Discrete Gaussian noise, by the same sampler; in one call a draw takes a fifth of the time."""
        return np.asarray(_gaussians(scale)(np.zeros(count, dtype=np.int64)), dtype=np.int64)

    def select(self, scores: Sequence[float], scale: float) -> int:
        """The exponential mechanism: `make_noisy_max` under the zCDP measure (a frequency test keeps that so)."""
        return int(_selector(scale, "exponential")(np.asarray(scores, dtype=np.float64)))

    def permute_and_flip(self, scores: Sequence[float], scale: float) -> int:
        """Permute-and-flip: `make_noisy_max` under the pure measure."""
        return int(_selector(scale, "flip")(np.asarray(scores, dtype=np.float64)))

    def below(self, bound: int) -> int:
        """A uniformly random whole number."""
        return secrets.randbelow(bound)

    def toss(self, weight: int) -> bool:
        """Compare 64 bits of the operating system with `weight`."""
        return secrets.randbits(64) < weight

    def invert(self, table: Sequence[int]) -> int:
        """Look up 64 bits of the operating system."""
        return bisect_right(table, secrets.randbits(64))

    def beside(self) -> "SystemNoise":
        """The same: no draw follows from another, and threads do not get into each other's way."""
        return self


class InsecureSeededNoise:
    """Reproducible noise from a seed, for tests and simulations. A real vault refuses it.

    What it gives follows from the order of the draws: it is for one thread. Others have one `beside` it.
    """

    secure = False

    def __init__(self, seed: int | np.random.Generator) -> None:
        self._generator = np.random.default_rng(seed)

    def laplace(self, scale: float) -> int:
        """Discrete Laplace noise, as the difference of two geometric draws."""
        success = -math.expm1(-1 / scale)
        first, second = self._generator.geometric(success, size=2)
        return int(first - second)

    def gaussian(self, scale: float) -> int:
        """Discrete Gaussian noise, by rejection (Canonne, Kamath and Steinke 2020, Algorithm 3)."""
        wide = math.floor(scale) + 1
        while True:
            drawn = self.laplace(wide)
            off = (abs(drawn) - scale**2 / wide) / scale
            if self._generator.random() < math.exp(-(off**2) / 2):
                return drawn

    def gaussians(self, scale: float, count: int) -> Whole:
        """The same rejection, for all draws at once."""
        wide, success = math.floor(scale) + 1, -math.expm1(-1 / (math.floor(scale) + 1))
        found = np.zeros(count, dtype=np.int64)
        open_ = np.arange(count)
        while len(open_):
            first, second = self._generator.geometric(success, size=(2, len(open_)))
            drawn = first - second
            off = (np.abs(drawn) - scale**2 / wide) / scale
            kept = self._generator.random(len(open_)) < np.exp(-(off**2) / 2)
            found[open_[kept]] = drawn[kept]
            open_ = open_[~kept]
        return found

    def normals(self, rows: int, columns: int) -> NDArray[np.float64]:
        """Standard normal numbers, for made-up data and for attacks; they protect nobody."""
        return self._generator.standard_normal((rows, columns))

    def select(self, scores: Sequence[float], scale: float) -> int:
        """The exponential mechanism, by adding Gumbel noise."""
        array = np.asarray(scores, dtype=np.float64)
        return int(np.argmax(array + self._generator.gumbel(0, scale, size=len(array))))

    def permute_and_flip(self, scores: Sequence[float], scale: float) -> int:
        """Permute-and-flip, by adding exponential noise (Ding et al. 2021)."""
        array = np.asarray(scores, dtype=np.float64)
        return int(np.argmax(array + self._generator.exponential(scale, size=len(array))))

    def below(self, bound: int) -> int:
        """A uniformly random whole number."""
        return int(self._generator.integers(bound))

    def toss(self, weight: int) -> bool:
        """Compare 64 bits of the generator with `weight`."""
        return self._bits() < weight

    def invert(self, table: Sequence[int]) -> int:
        """Look up 64 bits of the generator."""
        return bisect_right(table, self._bits())

    def _bits(self) -> int:
        return int(self._generator.integers(WHOLE, dtype=np.uint64))

    def beside(self) -> "InsecureSeededNoise":
        """Another seed, which follows from this one and from how many were made before; nothing is drawn for it."""
        return InsecureSeededNoise(self._generator.spawn(1)[0])


def sample(among: Sequence[T], count: int, noise: Noise) -> list[T]:
    """So many of them, uniformly at random and in random order (Fisher and Yates)."""
    moved: dict[int, int] = {}
    found = []
    for step in range(count):
        place = step + noise.below(len(among) - step)
        found.append(among[moved.get(place, place)])
        moved[place] = moved.get(step, step)
    return found


@cache
def _opendp() -> Any:
    """OpenDP, loaded by the first that draws: a refusal need not wait for it."""
    import opendp  # its prelude would load scikit-learn: seconds a command
    from opendp import domains, measurements, measures, metrics  # noqa: F401 - parts of it, once they are loaded
    from opendp.mod import enable_features

    enable_features("contrib")  # laplace, gaussian and noisy-max samplers; our own tests check their frequencies
    return opendp


@lru_cache(maxsize=64)
def _laplace(scale: float) -> Any:
    dp = _opendp()
    number, distance = dp.domains.atom_domain(T="i64"), dp.metrics.absolute_distance(T="i64")
    return dp.measurements.make_laplace(number, distance, scale=scale)


@lru_cache(maxsize=64)
def _gaussian(scale: float) -> Any:
    dp = _opendp()
    number, distance = dp.domains.atom_domain(T="i64"), dp.metrics.absolute_distance(T="i64")
    return dp.measurements.make_gaussian(number, distance, scale=scale)


@lru_cache(maxsize=64)
def _gaussians(scale: float) -> Any:
    dp = _opendp()
    numbers, distance = dp.domains.vector_domain(dp.domains.atom_domain(T="i64")), dp.metrics.l2_distance(T="i64")
    return dp.measurements.make_gaussian(numbers, distance, scale=scale)


@lru_cache(maxsize=64)
def _selector(scale: float, kind: str) -> Any:
    # The output measure decides which mechanism OpenDP builds: dependencies.md, finding 1.
    dp = _opendp()
    measure = dp.measures.zero_concentrated_divergence() if kind == "exponential" else dp.measures.max_divergence()
    domain = dp.domains.vector_domain(dp.domains.atom_domain(T="f64", nan=False))
    return dp.measurements.make_noisy_max(domain, dp.metrics.linf_distance(T="f64"), measure, scale=scale)

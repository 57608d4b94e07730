"""Sources of randomness, and bounds of the tails of Gaussian noise that hold in floating point.

OpenDP's samplers draw real noise from the operating system. Their draws are exact, free of floating-point leaks
(Mironov 2012), and cannot be seeded. A seeded source, named as insecure, exists for tests and simulations.
"""

import math
import os
import secrets
from bisect import bisect_right
from collections.abc import Sequence
from functools import cache, lru_cache
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from discreet.privacy.costs import Curve

Whole = NDArray[np.int64]
T = TypeVar("T")

WHOLE = 1 << 64
"""The weight of a certain event in `Noise.toss`."""


class Noise(Protocol):
    """A source of the random draws that mechanisms need."""

    secure: bool
    """Whether a real vault may use it."""

    def laplace(self, scale: float) -> int:
        """Return an integer z with probability proportional to exp(-|z| / scale)."""

    def gaussian(self, scale: float) -> int:
        """Return an integer z with probability proportional to exp(-z^2 / (2 scale^2))."""

    def gaussians(self, scale: float, count: int) -> Whole:
        """Return `count` independent draws of `gaussian`, shape (count,)."""

    def select(self, scores: Sequence[float], scale: float) -> int:
        """Return an index i with probability proportional to exp(scores[i] / scale)."""

    def permute_and_flip(self, scores: Sequence[float], scale: float) -> int:
        """Return an index by permute-and-flip (McKenna and Sheldon 2020) at the given scale."""

    def below(self, bound: int) -> int:
        """Return a uniformly random integer in [0, bound)."""

    def toss(self, weight: int) -> bool:
        """Return True with probability weight / 2^64, exactly."""

    def invert(self, table: Sequence[int]) -> int:
        """Return the first place of a sorted table whose entry is above a uniform number of 64 bits, or its length."""

    def beside(self) -> "Noise":
        """Return a source for one of several tasks. Its draws do not depend on other tasks' draws or timing."""


class SystemNoise:
    """Randomness of the operating system, through OpenDP's exact samplers. It is safe for concurrent threads."""

    secure = True

    def __init__(self) -> None:
        _opendp()  # load now: the time of the first draw may depend on documents

    def laplace(self, scale: float) -> int:
        """Return discrete Laplace noise."""
        return int(_laplace(scale)(0))

    def gaussian(self, scale: float) -> int:
        """Return discrete Gaussian noise (Canonne, Kamath and Steinke 2020)."""
        return int(_gaussian(scale)(0))

    def gaussians(self, scale: float, count: int) -> Whole:
        """Return discrete Gaussian noise, by the same sampler. A draw takes a fifth of the time of a single call."""
        return np.asarray(_gaussians(scale)(np.zeros(count, dtype=np.int64)), dtype=np.int64)

    def select(self, scores: Sequence[float], scale: float) -> int:
        """Return an index by the exponential mechanism: `make_noisy_max` under the zCDP measure.

        A frequency test checks that OpenDP keeps this meaning.
        """
        return int(_selector(scale, "exponential")(np.asarray(scores, dtype=np.float64)))

    def permute_and_flip(self, scores: Sequence[float], scale: float) -> int:
        """Return an index by permute-and-flip: `make_noisy_max` under the pure measure."""
        return int(_selector(scale, "flip")(np.asarray(scores, dtype=np.float64)))

    def below(self, bound: int) -> int:
        """Return a uniformly random integer."""
        return secrets.randbelow(bound)

    def toss(self, weight: int) -> bool:
        """Compare 64 bits of the operating system with `weight`."""
        return self._bits() < weight

    def invert(self, table: Sequence[int]) -> int:
        """Look up 64 bits of the operating system."""
        return bisect_right(table, self._bits())

    def _bits(self) -> int:
        return int.from_bytes(os.urandom(8))

    def beside(self) -> "SystemNoise":
        """Return this source: its draws are independent, and threads do not interfere."""
        return self


class InsecureSeededNoise:
    """Reproducible noise from a seed, for tests and simulations. A real vault refuses it.

    Its draws depend on their order, so it is for one thread. Each other thread needs a source from `beside`.
    """

    secure = False

    def __init__(self, seed: int | np.random.Generator) -> None:
        self._generator = np.random.default_rng(seed)

    def laplace(self, scale: float) -> int:
        """Return discrete Laplace noise, as the difference of two geometric draws."""
        success = -math.expm1(-1 / scale)
        draw = self._generator.geometric
        return int(draw(success)) - int(draw(success))  # an array of two takes twice as long

    def gaussian(self, scale: float) -> int:
        """Return discrete Gaussian noise, by rejection (Canonne, Kamath and Steinke 2020, Algorithm 3)."""
        wide = math.floor(scale) + 1
        while True:
            drawn = self.laplace(wide)
            off = (abs(drawn) - scale**2 / wide) / scale
            if self._generator.random() < math.exp(-(off**2) / 2):
                return drawn

    def gaussians(self, scale: float, count: int) -> Whole:
        """Return discrete Gaussian noise, by the same rejection for all draws at once."""
        wide, success = math.floor(scale) + 1, -math.expm1(-1 / (math.floor(scale) + 1))
        draws = np.zeros(count, dtype=np.int64)
        open_ = np.arange(count)
        while len(open_):
            first, second = self._generator.geometric(success, size=(2, len(open_)))
            drawn = first - second
            off = (np.abs(drawn) - scale**2 / wide) / scale
            kept = self._generator.random(len(open_)) < np.exp(-(off**2) / 2)
            draws[open_[kept]] = drawn[kept]
            open_ = open_[~kept]
        return draws

    def normals(self, rows: int, columns: int) -> NDArray[np.float64]:
        """Return standard normal numbers, shape (rows, columns), for artificial data and attacks, not for privacy."""
        return self._generator.standard_normal((rows, columns))

    def select(self, scores: Sequence[float], scale: float) -> int:
        """Return an index by the exponential mechanism, by adding Gumbel noise."""
        array = np.asarray(scores, dtype=np.float64)
        return int(np.argmax(array + self._generator.gumbel(0, scale, size=len(array))))

    def permute_and_flip(self, scores: Sequence[float], scale: float) -> int:
        """Return an index by permute-and-flip, by adding exponential noise (Ding et al. 2021)."""
        array = np.asarray(scores, dtype=np.float64)
        return int(np.argmax(array + self._generator.exponential(scale, size=len(array))))

    def below(self, bound: int) -> int:
        """Return a uniformly random integer."""
        return int(self._generator.integers(bound))

    def toss(self, weight: int) -> bool:
        """Compare 64 bits of the generator with `weight`."""
        return self._bits() < weight

    def invert(self, table: Sequence[int]) -> int:
        """Look up 64 bits of the generator."""
        return bisect_right(table, self._bits())

    def _bits(self) -> int:
        return int(self._generator.bit_generator.random_raw())  # what `integers(WHOLE)` draws, in an eighth of its time

    def beside(self) -> "InsecureSeededNoise":
        """Return a source whose seed follows from this seed and the number of earlier calls. It makes no draw."""
        return InsecureSeededNoise(self._generator.spawn(1)[0])


def sample(among: Sequence[T], count: int, noise: Noise) -> list[T]:
    """Return `count` elements, uniformly at random and in random order (Fisher and Yates)."""
    moved: dict[int, int] = {}
    draws = []
    for step in range(count):
        index = step + noise.below(len(among) - step)
        draws.append(among[moved.get(index, index)])
        moved[index] = moved.get(step, step)
    return draws


def gaussians_in_calls(noise: Noise, scale: float, size: int, needed: int) -> list[int]:
    """Return `needed` independent draws of `Noise.gaussian`, from calls of a public size: one, unless it is too small.

    So their time does not follow `needed`. What is left over is thrown away.
    """
    drawn = [noise.gaussians(scale, size) for _ in range(max(1, math.ceil(needed / size)))]
    draws: list[int] = np.concatenate(drawn)[:needed].tolist()
    return draws


@cache
def _opendp() -> Any:
    """Load OpenDP at the first draw. An error before it need not wait for the import."""
    import opendp  # not its prelude, which loads scikit-learn and takes seconds
    from opendp import domains, measurements, measures, metrics  # noqa: F401 - parts of it, once they are loaded
    from opendp.mod import enable_features

    enable_features("contrib")  # for laplace, gaussian and noisy-max samplers; our own tests check their frequencies
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


_MARGIN = 1 + 1e-9
_TINY = 1e-300
"""More than all terms that underflow together."""
_REACH = 40
LEAST_SIGMA, LARGEST_SIGMA = 1e-2, 1e6


@lru_cache(maxsize=4096)
def upper_tail(sigma: float, threshold: int) -> float:
    """Return an upper bound of P[Z >= threshold], too large by a factor of at most 1 + 1e-8.

    The law of the discrete Gaussian is P[Z = z] = exp(-z^2 / (2 sigma^2)) / N, with N the sum over all whole numbers
    (Canonne, Kamath and Steinke 2020). The continuous tail is no bound for it: at sigma 0.5 the discrete one is larger
    at some thresholds.

    The numerator is summed from t to a cut; beyond the cut each term is at most r times the one before, so the rest is
    at most a geometric series. The denominator is cut, and so too small. Every floating-point step has a relative error
    below 1e-12: exponents are below 1000, and sums have non-negative terms. The result is multiplied by 1 + 1e-9, which
    covers all of them.

    Raises:
        ValueError: if `sigma` is out of range, or `threshold` is below 1.
    """
    if threshold < 1:
        raise ValueError(f"The tail of the noise begins at 1 or above, not at {threshold}.")
    terms = _terms(sigma)
    if threshold >= len(terms):
        return _TINY
    last = len(terms) - 1
    ratio = math.exp(-(2 * last + 1) / (2 * sigma**2))
    rest = float(terms[last]) * ratio / (1 - ratio)
    return min(1.0, (float(terms[threshold:].sum()) + rest + _TINY) / _total(sigma) * _MARGIN)


@lru_cache(maxsize=4096)
def least_threshold(sigma: float, probability: float) -> int:
    """Return the least t >= 1 with P[Z >= t] <= probability.

    Raises:
        ValueError: if `probability` is not above 1e-290.
    """
    if probability <= 1e-290:
        raise ValueError(f"A threshold needs a probability of failure above 1e-290, not {probability}.")
    low, high = 0, len(_terms(sigma))
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if upper_tail(sigma, middle) <= probability else (middle, high)
    return high


def pass_chance(sigma: float, threshold: int) -> float:
    """Return P[Z >= threshold] for any whole number, in floating point: for plans, not for guarantees."""
    if threshold >= 1:
        return upper_tail(sigma, threshold)
    # By symmetry P[Z >= t] = 1 - P[Z >= 1 - t].
    return 1 - upper_tail(sigma, 1 - threshold)


@lru_cache(maxsize=64)
def _terms(sigma: float) -> Curve:
    if not LEAST_SIGMA <= sigma <= LARGEST_SIGMA:
        raise ValueError(f"The scale of the noise is from {LEAST_SIGMA} to {LARGEST_SIGMA:g}, not {sigma}.")
    numbers = np.arange(math.ceil(_REACH * sigma) + 2, dtype=np.float64)
    return np.exp(-(numbers**2) / (2 * sigma**2))


@lru_cache(maxsize=64)
def _total(sigma: float) -> float:
    """Return the denominator: each term but that of 0 is on both sides."""
    terms = _terms(sigma)
    return 2 * float(terms.sum()) - float(terms[0])

"""An attack that distinguishes two neighbouring collections by their projected embeddings.

Privacy-spec, part 7. The attacker sees all projected rows D R, as the holder of the vectors does. The attacker knows
all documents except one, for which there are two candidates. All rows share one matrix R. Known rows that span the
space determine it: R = pinv(D without the row) (D R without it). Then R maps exactly one of the candidates to the
observed row. Theorem 1 of Yao and Li analyses that row on its own, as if R were drawn for it alone.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.errors import UsageError
from discreet.export import check_size
from discreet.privacy.noise import InsecureSeededNoise
from discreet_lab.attacks.rates import lower_bound
from discreet_lab.claims import DELTA, GAMMA, PAPER_EPSILON, SIGMA, K, check_bounds

Matrix = NDArray[np.float64]
MOST_NUMBERS = 10**8
"""The largest size of the known documents: almost a gigabyte, several times during the inversion."""


@dataclass(frozen=True)
class Distinguished:
    """The number of times the attacker chose the first candidate, for each true candidate.

    Attributes:
        true_positives: how often, when it was the true one.
        false_positives: how often, when it was not.
        trials: the number of trials for each true candidate.
        epsilon: a lower bound of the privacy loss at `delta`, correct with probability `confidence`.
        claimed: the epsilon of the paper.
        delta: the delta of the bound.
        confidence: the probability that the bound holds.
        refuted: whether the claim is below the measured loss.
    """

    true_positives: int
    false_positives: int
    trials: int
    epsilon: float
    claimed: float = PAPER_EPSILON
    delta: float = 1e-5
    confidence: float = 0.95
    refuted: bool = False


def distinguish(
    rows: int = 1000,
    dimension: int = 384,
    k: int = K,
    *,
    gamma: float = GAMMA,
    longest: float = DELTA,
    sigma: float = SIGMA,
    trials: int = 1000,
    seed: int = 0,
) -> Distinguished:
    """Run the experiment: `trials` times with the first candidate in the collection, and as often with the second.

    All values are drawn from a seed. The collections are artificial, and no vault is touched. The known documents and
    the candidates are the same in all trials; each trial has its own matrix.

    Raises:
        UsageError: if a parameter is out of range, or there are fewer known rows than dimensions.
    """
    check_bounds(gamma, longest)
    check_size(dimension, k)
    if rows - 1 < dimension or trials < 1 or not sigma > 0:
        raise UsageError(
            f"The attack needs at least {dimension + 1} rows for {dimension} dimensions, one trial and sigma > 0; "
            f"there are {rows} rows, {trials} trials and sigma {sigma:g}."
        )
    if rows * dimension > MOST_NUMBERS:
        raise UsageError(
            f"The known documents have {rows * dimension:,} numbers; {MOST_NUMBERS:,} are allowed. Take fewer rows, or "
            "fewer dimensions."
        )
    choose = InsecureSeededNoise(seed)
    embeddings = _embeddings(choose, rows - 1, dimension, gamma, longest)
    candidates = _embeddings(choose, 2, dimension, gamma, longest)
    # Each candidate is a sum of known documents. Its projection is the same sum of their observed rows.
    sums = candidates @ np.linalg.pinv(embeddings)  # (2, rows - 1)
    said = [0, 0]
    for kind, truth in enumerate(candidates):
        for _ in range(trials):
            matrix = sigma * choose.normals(dimension, k)
            off = np.linalg.norm(sums @ (embeddings @ matrix) - truth @ matrix, axis=1)
            said[kind] += bool(off[0] < off[1])
    least = lower_bound(said[0], said[1], trials)
    return Distinguished(said[0], said[1], trials, least, refuted=least > PAPER_EPSILON)


def _embeddings(choose: InsecureSeededNoise, count: int, dimension: int, gamma: float, longest: float) -> Matrix:
    """Return vectors of uniform direction, with lengths uniform between the bounds."""
    drawn = choose.normals(count, dimension)
    lengths = gamma + (longest - gamma) * np.array([[choose.below(2**32) / 2**32] for _ in range(count)])
    return np.asarray(drawn / np.linalg.norm(drawn, axis=1, keepdims=True) * lengths, dtype=np.float64)

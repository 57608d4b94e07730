"""What the keeper of exported vectors has, for experiments: the sound variant in place of a paper's transform."""

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from discreet.errors import UsageError
from discreet.export.vectors import most_rho
from discreet.privacy.accounting import Budget
from discreet.privacy.filter import PrivacyFilter
from discreet.privacy.ledger import MemoryLedger
from discreet.privacy.mechanisms.noisy_vectors import NoisyVectors
from discreet.privacy.noise import Noise, Whole
from discreet.privacy.partition import REPLACE_ONE
from discreet.privacy.private import Private
from discreet.retrieval.projection import GRAIN, Vectors
from discreet.retrieval.vectors import LARGEST


@dataclass(frozen=True, eq=False)
class SimulatedExport:
    """Vectors of length one, projected, with the noise of `discreet export-vectors`: each vector is a unit's.

    Attributes:
        matrix: public.
        noise: seeded; nothing is paid.
        epsilon, delta: for one vector, replaced by any other.

    Raises:
        UsageError: the noise is not for simulations.
    """

    matrix: Whole = field(repr=False)
    noise: Noise = field(repr=False)
    epsilon: float
    delta: float = 1e-5

    def __post_init__(self) -> None:
        if self.noise.secure:
            raise UsageError("This is an experiment, which pays nobody: give it seeded noise.")

    @property
    def size(self) -> int:
        """How many numbers a vector has afterwards."""
        return int(self.matrix.shape[1])

    @property
    def fingerprint(self) -> str:
        """Every draw is another."""
        return f"simulated export {id(self)}"

    @cached_property
    def rho(self) -> float:
        """What it costs."""
        return most_rho(Budget(self.epsilon, self.delta))

    def documents(self, vectors: Vectors) -> Vectors:
        """With noise, one row a vector."""
        whole = np.trunc(_of_length_one(vectors) * (LARGEST - 1)).astype(np.int64)
        release = NoisyVectors.calibrated(self.rho, self.matrix, len(whole), LARGEST, REPLACE_ONE)
        budget = Budget(self.epsilon, self.delta)
        privacy = PrivacyFilter(MemoryLedger(budget, simulation=True), budget, "simulated", noise=self.noise)
        drawn = privacy.release(release, Private(list(enumerate(whole)), REPLACE_ONE))
        return np.asarray(drawn / ((LARGEST - 1) * GRAIN), dtype=np.float32)

    def questions(self, vectors: Vectors) -> Vectors:
        """Projected."""
        return np.asarray(_of_length_one(vectors) @ (self.matrix / GRAIN), dtype=np.float32)


def _of_length_one(vectors: Vectors) -> Vectors:
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.where(lengths > 0, lengths, 1), dtype=np.float32)

"""Exported vectors as their recipient sees them, for experiments: a sound variant of a paper's transform."""

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from discreet.errors import UsageError
from discreet.export.vectors import GRAIN, most_rho
from discreet.privacy.accounting import Budget
from discreet.privacy.filter import MemoryLedger, PrivacyFilter
from discreet.privacy.mechanisms.vectors import NoisyVectors
from discreet.privacy.noise import Noise, Whole
from discreet.privacy.partition import REPLACE_ONE
from discreet.privacy.private import Private
from discreet.retrieval.vectors import LARGEST
from discreet_lab.projection import Vectors


@dataclass(frozen=True, eq=False)
class SimulatedExport:
    """Projected vectors of length one with the noise of `discreet export-vectors`; each vector is of one unit.

    Attributes:
        matrix: the public matrix.
        noise: the seeded noise; no unit pays.
        epsilon, delta: the guarantee for the replacement of one vector.

    Raises:
        UsageError: if the noise is secure, and so not for simulations.
    """

    matrix: Whole = field(repr=False)
    noise: Noise = field(repr=False)
    epsilon: float
    delta: float = 1e-5

    def __post_init__(self) -> None:
        if self.noise.secure:
            raise UsageError("This is an experiment without payment, so secure noise is refused. Give it seeded noise.")

    @property
    def size(self) -> int:
        """The number of dimensions of a projected vector."""
        return int(self.matrix.shape[1])

    @property
    def fingerprint(self) -> str:
        """A fingerprint of this object: two draws are never the same."""
        return f"simulated export {id(self)}"

    @cached_property
    def rho(self) -> float:
        """The cost in zCDP."""
        return most_rho(Budget(self.epsilon, self.delta))

    def documents(self, vectors: Vectors) -> Vectors:
        """Return the projected vectors with noise, one a row."""
        whole = np.trunc(_of_length_one(vectors) * (LARGEST - 1)).astype(np.int64)
        release = NoisyVectors.calibrated(self.rho, self.matrix, len(whole), LARGEST, REPLACE_ONE)
        budget = Budget(self.epsilon, self.delta)
        privacy = PrivacyFilter(MemoryLedger(budget, simulation=True), budget, "simulated", noise=self.noise)
        drawn = privacy.release(release, Private(list(enumerate(whole)), REPLACE_ONE))
        return np.asarray(drawn / ((LARGEST - 1) * GRAIN), dtype=np.float32)

    def questions(self, vectors: Vectors) -> Vectors:
        """Return the projected vectors of questions, without noise."""
        return np.asarray(_of_length_one(vectors) @ (self.matrix / GRAIN), dtype=np.float32)


def _of_length_one(vectors: Vectors) -> Vectors:
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.where(lengths > 0, lengths, 1), dtype=np.float32)

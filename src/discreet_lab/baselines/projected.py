"""The common parameters of the two algorithms on projected vectors, and their published claim.

Yao and Li, "Differentially private retrieval augmented generation with random projection", Algorithm 1. Their bound
does not cover the released text (`claims.py`). So a vault runs these algorithms only if it was created to
accept claims, and each question must accept an answer without a guarantee.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from discreet.algorithms.base import Algorithm, AlgorithmSpec, Guarantee
from discreet.errors import UnknownName
from discreet.privacy.account import Payment
from discreet.privacy.costs import Claimed, Cost, NonPrivate, Pure
from discreet.privacy.noise import Noise
from discreet.privacy.private import Change
from discreet_lab.claims import DELTA, GAMMA, SIGMA, K, ProjectionClaim
from discreet_lab.projection import NoisyProjection, Projection, Transform, Untouched, kept_matrix

PROTECTIONS = ("projection", "dp-rp-g", "none")
_NOISY_CAVEAT = (
    "the bound of DP-RP-G (Li and Li 2023) is about small changes of one vector. The texts found by such vectors are "
    "used as they are, so it is not a differential privacy guarantee for the released text."
)


@dataclass(frozen=True)
class Opened:
    """The release of values from all documents without noise, under a published claim or none."""

    claim: Claimed | None

    def cost(self, change: Change) -> Cost:
        """Return the claimed cost. It is not charged to a budget."""
        return self.claim or NonPrivate()

    def draw(self, shares: Sequence[Any], noise: Noise) -> Any:
        """Return the one share."""
        (share,) = shares
        return share


@dataclass(frozen=True, kw_only=True)
class Projected(Algorithm):
    """Parameters of the paper.

    Attributes:
        protection: the transform of vectors: "projection" (the paper's), "dp-rp-g" (its baseline), "none".
        k: the number of dimensions after the projection.
        gamma, norm: the bounds of a vector's length before the projection (gamma and Delta).
        sigma: the standard deviation of the matrix's entries.

    Raises:
        UnknownName: if no protection has the name.
        UsageError: if 0 < gamma < Delta does not hold, or k or sigma is not positive.
    """

    spec: ClassVar[AlgorithmSpec] = AlgorithmSpec(Payment.NOTHING, guarantee=Guarantee.CLAIMED)

    protection: str = PROTECTIONS[0]
    k: int = K
    gamma: float = GAMMA
    norm: float = DELTA
    sigma: float = SIGMA

    def __post_init__(self) -> None:
        if self.protection not in PROTECTIONS:
            raise UnknownName("protection", self.protection, PROTECTIONS)
        ProjectionClaim(self.k, self.gamma, self.norm)

    def opening(self) -> Opened:
        """Return the release of documents, with its published claim."""
        if self.protection == "none":
            return Opened(None)
        if self.protection == "dp-rp-g":
            return Opened(Claimed(Pure(NoisyProjection.epsilon, NoisyProjection.delta), _NOISY_CAVEAT))
        return Opened(ProjectionClaim(self.k, self.gamma, self.norm).cost())

    def transform(self, dimension: int, noise: Noise, folder: Path | None) -> Transform:
        """Return the transform of vectors of this dimension. Its matrix is drawn once, and stored in `folder` if given.

        Raises:
            UsageError: if k is above the dimension.
            BadData: if the stored matrix is damaged.
        """
        if self.protection == "none":
            return Untouched(dimension)
        file = storage_folder(folder, noise) / f"matrix-{dimension}-{self.k}.npy" if folder else None
        base = Projection(kept_matrix(file, dimension, self.k, noise), self.gamma, self.norm, self.sigma)
        return NoisyProjection(base, noise) if self.protection == "dp-rp-g" else base


def storage_folder(folder: Path, noise: Noise) -> Path:
    """Return the folder for stored values. Values from insecure noise have a folder of their own."""
    return folder if noise.secure else folder / "simulated"

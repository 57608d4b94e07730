"""What the two algorithms on projected vectors have in common: their parameters, and that they are no more than claims.

Yao and Li, "Differentially private retrieval augmented generation with random projection", Algorithm 1. Their bound
does not cover what is released (`privacy/claims.py`), so a vault runs these only if it was made to accept claims, and
each question must say that it does without a guarantee.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from discreet.algorithms.common.algorithm import Algorithm, Guarantee
from discreet.errors import UnknownName
from discreet.privacy.account import Payment
from discreet.privacy.change import Change
from discreet.privacy.claims import DELTA, GAMMA, SIGMA, K, ProjectionClaim
from discreet.privacy.costs import Claimed, Cost, NonPrivate, Pure
from discreet.privacy.noise import Noise
from discreet.retrieval.projection import NoisyProjection, Projection, Transform, Untouched, kept_matrix

PROTECTIONS = ("projection", "dp-rp-g", "none")
_NOISY_CAVEAT = (
    "the bound of DP-RP-G (Li and Li 2023) is about small changes of one vector. The texts found by such vectors are "
    "used as they are, so it is not a differential privacy guarantee for the released text."
)


@dataclass(frozen=True)
class Opened:
    """Opens what was made of all documents, as it is: under a published claim, or none."""

    claim: Claimed | None

    def cost(self, change: Change) -> Cost:
        """What is claimed; nothing that a budget takes."""
        return self.claim or NonPrivate()

    def draw(self, shares: Sequence[Any], noise: Noise) -> Any:
        """The one share."""
        (made,) = shares
        return made


@dataclass(frozen=True, kw_only=True)
class Projected(Algorithm):
    """The paper's parameters.

    Attributes:
        protection: what is done to vectors: "projection" (the paper's), "dp-rp-g" (its baseline), "none".
        k: to how many numbers a vector is projected.
        gamma, norm: between which lengths vectors are brought first (gamma and Delta).
        sigma: the standard deviation of the matrix's entries.

    Raises:
        UnknownName: there is no such protection.
        UsageError: 0 < gamma < Delta does not hold, or k or sigma is not positive.
    """

    guarantee: ClassVar[Guarantee] = Guarantee.CLAIMED
    payment: ClassVar[Payment] = Payment.NOTHING

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
        """What opens documents, with what is claimed for it."""
        if self.protection == "none":
            return Opened(None)
        if self.protection == "dp-rp-g":
            return Opened(Claimed(Pure(NoisyProjection.epsilon, NoisyProjection.delta), _NOISY_CAVEAT))
        return Opened(ProjectionClaim(self.k, self.gamma, self.norm).cost())

    def transform(self, dimension: int, noise: Noise, folder: Path | None) -> Transform:
        """What is done to vectors of this dimension; its matrix is drawn once and kept in `folder`, if there is one.

        Raises:
            UsageError: k is above the dimension.
            BadData: the matrix that was kept is damaged.
        """
        if self.protection == "none":
            return Untouched(dimension)
        file = place(folder, noise) / f"matrix-{dimension}-{self.k}.npy" if folder else None
        base = Projection(kept_matrix(file, dimension, self.k, noise), self.gamma, self.norm, self.sigma)
        return NoisyProjection(base, noise) if self.protection == "dp-rp-g" else base


def place(folder: Path, noise: Noise) -> Path:
    """Where things are kept: those that were made with insecure noise are apart."""
    return folder if noise.secure else folder / "simulated"

"""Direct prompting over projected embeddings: a claim without a guarantee. The answer may repeat the passages.

Yao and Li, Algorithm 1, with direct prompting for M (their Section 4.1). The documents' embeddings are projected once,
and each question's embedding by the same matrix. The prompt contains the nearest passages in the projected space,
unchanged.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from discreet.algorithms.base import Algorithm, AlgorithmSpec, GeneratedAnswer, Guarantee, Query
from discreet.baselines import RAG, require_baseline
from discreet.errors import UnknownName
from discreet.models.protocol import VotingModel
from discreet.privacy.account import Account, Payment
from discreet.privacy.accounting import Budget
from discreet.privacy.costs import Claimed, Cost, NonPrivate, Pure
from discreet.privacy.noise import Noise
from discreet.privacy.private import Change
from discreet.store.documents import Passage, StoredText
from discreet.store.sealed_corpus import SealedCorpus
from discreet_lab.baselines.datastore import Neighbours
from discreet_lab.claims import DELTA, GAMMA, SIGMA, K, ProjectionClaim
from discreet_lab.projection import NoisyProjection, Projection, Transform, Untouched, Vectors, kept_matrix

# --- projected --------------------------------------------------------------------------------------------------------

# Yao and Li, "Differentially private retrieval augmented generation with random projection", Algorithm 1. Their bound
# does not cover the released text (`claims.py`). So a vault runs these algorithms only if it was created to
# accept claims, and each question must accept an answer without a guarantee.


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


# --- projection rag ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class ProjectedTexts:
    """Passages with their projected vectors."""

    transform: Transform
    passages: list[Passage] = field(repr=False)
    keys: Neighbours = field(repr=False)

    @staticmethod
    def of(texts: Sequence[StoredText], transform: Transform) -> "ProjectedTexts":
        """Project all passages (lines 4 and 5 of Algorithm 1).

        Raises:
            BadData: if an embedding is zero.
        """
        passages = [Passage(text.unit, text.text) for text in texts]
        return ProjectedTexts(transform, passages, Neighbours.of(transform.documents(_of_length_one(texts, transform))))

    def nearest(self, vector: Vectors, units: int) -> list[Passage]:
        """Return the passages nearest to a question's vector, at most one of each unit (line 7)."""
        _, ranked = self.keys.nearest(self.transform.questions(vector[None]), len(self.passages))
        passages: dict[str, Passage] = {}
        for number in ranked[0].tolist():
            if len(passages) == units:
                break
            passages.setdefault(self.passages[number].unit, self.passages[number])
        return list(passages.values())


@dataclass(frozen=True, kw_only=True)
class ProjectionRAG(Projected):
    """Plain RAG that searches projected embeddings. Parameters: those of `Projected`, and more.

    Attributes:
        units: the number of units whose passages are read.
        max_tokens: the longest answer in tokens.
        prefix: the first words of the answer.
    """

    name: ClassVar[str] = "projection-rag"

    units: int = 1
    max_tokens: int = 32
    prefix: str = ""

    def plan(self, budget: Budget, vocabulary: int) -> None:
        """Return None: the algorithm charges nothing, and gives no guarantee."""

    def run(self, query: Query, corpus: SealedCorpus, model: VotingModel, account: Account) -> GeneratedAnswer:
        """Answer from the passages that are nearest in the projected space."""
        corpus = require_baseline(corpus)
        vector = corpus.embed(query.text)
        transform = self.transform(len(vector), account.noise, corpus.folder)
        projected = corpus.made_once(transform.fingerprint, lambda texts: ProjectedTexts.of(texts, transform))
        passages = account.unpaid().release(self.opening(), projected).nearest(vector, self.units)
        return RAG(units=self.units, max_tokens=self.max_tokens, prefix=self.prefix).read(query.text, passages, model)


def _of_length_one(texts: Sequence[StoredText], transform: Transform) -> Vectors:
    if not texts:
        return np.empty((0, transform.size), dtype=np.float32)
    whole = np.array([text.vector for text in texts], dtype=np.float32)
    lengths = np.linalg.norm(whole, axis=1, keepdims=True)
    return np.asarray(whole / np.where(lengths > 0, lengths, 1), dtype=np.float32)

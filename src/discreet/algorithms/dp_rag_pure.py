"""DP-RAG for a single question, in pure differential privacy.

MuRAG ("Privacy-Preserving Retrieval-Augmented Generation for multiple questions"), Algorithm 5. It is DPSparseVoteRAG
with the exponential mechanism over the whole vocabulary in place of LimitedDomain. The exponential mechanism cannot
fail. In the paper, all runs of the sparse vector share one noisy threshold (line 2). Here each run has its own, which
the proof needs.
"""

from dataclasses import dataclass
from typing import ClassVar

from discreet.algorithms.dp_sparse_vote_rag import DPSparseVoteRAG
from discreet.errors import UsageError
from discreet.privacy.accounting import Budget
from discreet.privacy.costs import Cost


@dataclass(frozen=True, kw_only=True)
class DPRAGPure(DPSparseVoteRAG):
    """Algorithm 5. Parameters: those of `DPSparseVoteRAG`, with delta 0 and the plain sum of epsilons."""

    name: ClassVar[str] = "dp-rag-pure"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.selection != "vocabulary" or self.delta is not None:
            raise UsageError("'dp-rag-pure' selects from the whole vocabulary and has no delta. Leave both out.")

    def ceiling(self, cost: Cost, delta: float, failures: float) -> Budget:
        """Return the budget in pure epsilon, with delta 0."""
        return Budget(self.epsilon, 0.0, accountant="pure")

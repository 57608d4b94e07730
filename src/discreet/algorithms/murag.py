"""MuRAG: only units that are relevant to a question pay for it.

"Privacy-Preserving Retrieval-Augmented Generation for multiple questions", Algorithm 1: retrieval above a threshold.
The threshold is public, so a unit's payment depends on that unit alone.

The algorithm, as numbered in the paper:

    2-5  all relevant units that can pay, pay             `retrieve`
    6    the nearest of them are dealt to voters          `PrivateRAG.answer`, if `all_vote` is false
         all of them are counted, and have rows           `AllVoteRAG.answer`
    7    the voters answer                                `inner.respond`
"""

import math
from dataclasses import dataclass
from typing import ClassVar

from discreet.algorithms.common.algorithm import Query
from discreet.algorithms.common.ensemble import RoundBudget
from discreet.algorithms.common.private_rag import AllVoteRAG
from discreet.errors import UsageError
from discreet.privacy.account import Account
from discreet.privacy.filter import PrivacyFilter
from discreet.privacy.private import Private
from discreet.retrieval.sealed_corpus import Found, SealedCorpus


@dataclass(frozen=True, kw_only=True)
class MuRAG(AllVoteRAG):
    """Algorithm 1. Parameters: those of `AllVoteRAG`, and one more.

    Attributes:
        similarity: the threshold (tau). A unit is relevant if the similarity of its best passage to the question
            reaches it. It is public, or released privately (`discreet tune`).
    """

    name: ClassVar[str] = "murag"

    similarity: float = 0.6

    def __post_init__(self) -> None:
        super().__post_init__()
        if not (math.isfinite(self.similarity) and -1 <= self.similarity <= 1):
            raise UsageError(f"A similarity lies between -1 and 1, not {self.similarity}. `discreet tune` finds one.")

    def retrieve(
        self, query: Query, corpus: SealedCorpus, rounds: RoundBudget, account: Account
    ) -> tuple[Private[Found], PrivacyFilter]:
        """Select the relevant units that can pay, and charge all of them (lines 2-5)."""
        relevant = corpus.above(query.searched, self.similarity)  # line 3, without the condition on budgets
        return account.admit(relevant, rounds.plan.generation_cost)  # lines 2-5

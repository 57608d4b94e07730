"""Naive multi-question RAG: all units of the vault pay for all questions.

MuRAG, Algorithm 4: the composition of the single-question algorithm, with retrieval by rank. A vault of epsilon 10
answers only a few questions with it. It is the reference for the other algorithms.

The algorithm, as numbered in the paper:

    1-2  for each question, all units pay; the nearest units that can pay are dealt to voters, who answer
"""

from dataclasses import dataclass
from functools import partial
from typing import ClassVar

from discreet.algorithms.common.algorithm import Query
from discreet.algorithms.common.ensemble import RoundBudget
from discreet.algorithms.common.private_rag import PrivateRAG
from discreet.privacy.account import Account
from discreet.privacy.filter import PrivacyFilter
from discreet.privacy.private import Private
from discreet.retrieval.sealed_corpus import Found, SealedCorpus


@dataclass(frozen=True, kw_only=True)
class NaiveMultiRAG(PrivateRAG):
    """Algorithm 4. Parameters: see `PrivateRAG`."""

    name: ClassVar[str] = "naive-multi-rag"

    def retrieve(
        self, query: Query, corpus: SealedCorpus, rounds: RoundBudget, account: Account
    ) -> tuple[Private[Found], PrivacyFilter]:
        """Charge all units, and select the nearest units that can pay (line 2)."""
        paying = account.charge_every_unit(rounds.plan.max_cost)
        return paying.nearest(partial(corpus.nearest, query.searched), self.units_read), paying.paid

    @property
    def label(self) -> str:
        """The name alone: the price of a question is the same for all units."""
        return self.name

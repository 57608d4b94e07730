"""DPVoteRAG: a private vote chooses each token.

Koga, Wu and Chaudhuri, "Privacy-Preserving Retrieval-Augmented Generation with Differential Privacy", Algorithm 2. This
version differs where privacy-spec corrects the paper. Top-k retrieval lets one unit replace another, so the selection
is calibrated for replacement. A Rényi filter determines the number of tokens.
"""

from dataclasses import dataclass
from typing import ClassVar

from discreet.algorithms.common.algorithm import GeneratedAnswer, Stopped
from discreet.algorithms.common.ensemble import RoundBudget
from discreet.algorithms.common.token_voting import Majority, TokenVoting
from discreet.generation.model import VotingModel
from discreet.privacy.filter import PrivacyFilter
from discreet.privacy.private import Change, Private
from discreet.retrieval.documents import Passage


@dataclass(frozen=True, kw_only=True)
class DPVoteRAG(TokenVoting):
    """Algorithm 2. Parameters: see `TokenVoting`."""

    name: ClassVar[str] = "dp-vote-rag"

    def mechanisms(self, epsilon: float, delta: float, change: Change, vocabulary: int) -> tuple[Majority]:
        """Return the mechanism of a token: one selection."""
        return (self.majority(epsilon, delta, change, vocabulary),)

    def respond(
        self,
        question: str,
        documents: Private[tuple[Passage, ...]],  # lines 3-4
        model: VotingModel,
        privacy: PrivacyFilter,
        rounds: RoundBudget,  # line 1
        known: str = "",
    ) -> GeneratedAnswer:
        """Answer by private votes on all tokens."""
        voters = self.start_voters(question, documents, model, known)
        (majority,) = self.mechanisms(rounds.epsilon, rounds.delta, documents.change, model.vocabulary_size)
        answer: list[int] = []
        stopped: Stopped = "length"
        for _ in range(self.max_tokens):  # line 5
            if not privacy.fits([majority], documents.change):
                stopped = "budget"
                break
            votes = voters.votes()  # lines 7-10
            token = privacy.release(majority, votes)  # line 12
            if token is None or token in model.end_tokens:  # line 14
                stopped = "undecided" if token is None else "end"
                break
            answer.append(token)
            voters.append(token)
        return GeneratedAnswer(self.prefix + model.decode(answer), stopped, len(answer), len(answer))

"""DPSparseVoteRAG: only the tokens that need the documents are paid.

Koga, Wu and Chaudhuri, "Privacy-Preserving Retrieval-Augmented Generation with Differential Privacy", Algorithm 3. This
version differs where privacy-spec corrects the paper (see `dp_vote_rag`). It also splits a token's budget differently
between the sparse vector and the selection: the selection has bounded range, and composes at a quarter of the price.
"""

from dataclasses import dataclass
from functools import partial
from operator import eq
from typing import ClassVar

from discreet.algorithms.common.algorithm import GeneratedAnswer, Stopped
from discreet.algorithms.common.ensemble import RoundBudget
from discreet.algorithms.common.token_voting import Majority, TokenVoting
from discreet.errors import UsageError
from discreet.generation.model import VotingModel
from discreet.generation.voters import VoterBatch
from discreet.privacy.filter import PrivacyFilter
from discreet.privacy.mechanisms.sparse_vector import SparseVector
from discreet.privacy.private import Change, Private
from discreet.retrieval.documents import Passage


@dataclass(frozen=True, kw_only=True)
class DPSparseVoteRAG(TokenVoting):
    """Algorithm 3. Parameters: those of `TokenVoting`, and two more.

    Attributes:
        threshold: the private vote is held if at most so many voters agree with the public token (tau); half of the
            voters if None.
        selection_share: the part of a token's epsilon for the selection (the paper: 1/2).
    """

    name: ClassVar[str] = "dp-sparse-vote-rag"

    threshold: int | None = None
    selection_share: float = 0.5

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 < self.selection_share < 1:
            raise UsageError(f"selection_share lies between 0 and 1, not {self.selection_share}. The paper has 0.5.")
        if self.threshold is not None and not 0 <= self.threshold <= self.voters:
            raise UsageError(f"The threshold lies between 0 and the number of voters, not {self.threshold}.")

    def mechanisms(
        self, epsilon: float, delta: float, change: Change, vocabulary: int
    ) -> tuple[SparseVector, Majority]:
        """Return the mechanisms of a private token: one run of the sparse vector and one selection (line 2)."""
        threshold = self.voters // 2 if self.threshold is None else self.threshold
        return (
            SparseVector.calibrated((1 - self.selection_share) * epsilon, threshold, change),
            self.majority(self.selection_share * epsilon, delta, change, vocabulary),
        )

    def respond(
        self,
        question: str,
        documents: Private[tuple[Passage, ...]],  # lines 6-7
        model: VotingModel,
        privacy: PrivacyFilter,
        rounds: RoundBudget,  # lines 2-3
        known: str = "",
    ) -> GeneratedAnswer:
        """Answer with the public model's tokens where the voters agree with them, and with private votes elsewhere."""
        return self.vote(self.start_voters(question, documents, model, known), documents, model, privacy, rounds)

    def vote(
        self,
        voters: VoterBatch,
        documents: Private[tuple[Passage, ...]],
        model: VotingModel,
        privacy: PrivacyFilter,
        rounds: RoundBudget,
    ) -> GeneratedAnswer:
        """Continue the answer of voters that have already started."""
        disagreement, majority = round_ = self.mechanisms(
            rounds.epsilon, rounds.delta, documents.change, model.vocabulary_size
        )
        answer: list[int] = []
        paid, run = 0, None
        stopped: Stopped = "length"
        for _ in range(self.max_tokens):  # line 8
            if run is None:  # lines 4, 20: a new run, with a new noisy threshold
                if not privacy.fits(round_, documents.change):
                    stopped = "budget"  # line 25
                    break
                run = privacy.start(disagreement, over=documents)
            public, votes = voters.public_token(), voters.votes()  # lines 10-15
            if run.ask(votes.map(partial(eq, public))):  # line 17: few agree
                token = privacy.release(majority, votes)  # line 18
                paid, run = paid + 1, None
            else:
                token = public  # line 22
            if token is None or token in model.end_tokens:  # line 25
                stopped = "undecided" if token is None else "end"
                break
            answer.append(token)
            voters.append(token)
        text = self.prefix + model.decode(answer)
        # A voter without a document always agrees with the public token, so an answer of public tokens carries no
        # evidence.
        return (
            GeneratedAnswer(text, stopped, len(answer), paid) if paid else GeneratedAnswer.unreleased(text, len(answer))
        )

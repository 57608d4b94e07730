"""DPVoteRAG and DPSparseVoteRAG: a private vote chooses each token, or each token that needs the documents.

Koga, Wu and Chaudhuri, "Privacy-Preserving Retrieval-Augmented Generation with Differential Privacy", Algorithms 2 and
3. This version differs where privacy-spec corrects the paper. Top-k retrieval lets one unit replace another, so the
selection is calibrated for replacement. A Rényi filter determines the number of tokens. Docstrings give the paper's
names of parameters.
"""

from dataclasses import dataclass
from functools import partial
from operator import eq
from typing import ClassVar

from discreet.algorithms.base import AlgorithmSpec, GeneratedAnswer, Stopped
from discreet.algorithms.ensemble import RoundBudget, Rounds, VoterEnsemble, check_number
from discreet.errors import UnknownName, UsageError
from discreet.models.capabilities import Capability
from discreet.models.protocol import VotingModel
from discreet.models.voters import VoterBatch
from discreet.privacy.account import Payment
from discreet.privacy.filter import Mechanism, PrivacyFilter
from discreet.privacy.mechanisms.selection import (
    ExponentialMechanism,
    LimitedDomain,
    ObservedSelection,
    SparseVector,
    vote_scale,
)
from discreet.privacy.private import Change, Private
from discreet.store.documents import Passage

SELECTIONS = ("observed", "limited-domain", "vocabulary")

Majority = Mechanism[int, int | None]


@dataclass(frozen=True, kw_only=True)
class TokenVoting(VoterEnsemble):
    """Parameters of an answer by votes on tokens: those of `VoterEnsemble`, and three more. A round is a private token.

    Attributes:
        private_tokens: the number of private tokens that the total should buy; the budget of a token follows.
        epsilon_token: the budget of a private token (epsilon_token), in place of `private_tokens`.
        selection: the mechanism that chooses the token: "observed" (among the tokens of the voters, or none),
            "limited-domain" (the paper's mechanism, charged for replacement), "vocabulary" (the exponential mechanism
            over all tokens: pure, never none).
    """

    spec: ClassVar[AlgorithmSpec] = AlgorithmSpec(Payment.EVERY_UNIT, frozenset({Capability.VOTES}))

    private_tokens: int = 8
    epsilon_token: float | None = None
    selection: str = "vocabulary"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.epsilon_token is not None:
            check_number("epsilon_token", self.epsilon_token)
        if self.private_tokens < 1:
            raise UsageError(f"private_tokens is at least 1, not {self.private_tokens}.")
        if self.selection not in SELECTIONS:
            raise UnknownName("selection", self.selection, SELECTIONS)

    @property
    def rounds(self) -> Rounds:
        """The private tokens that the total should buy, or as many as it buys at their given price."""
        return Rounds(min(self.private_tokens, self.max_tokens), self.max_tokens, self.epsilon_token)

    def majority(self, epsilon: float, delta: float, change: Change, vocabulary: int) -> Majority:
        """Return the selection of one token that costs `epsilon` (and `delta`, if it can fail) under `change`."""
        if self.selection == "vocabulary":
            return ExponentialMechanism(vocabulary, vote_scale(change, epsilon))
        if self.selection == "limited-domain":
            return LimitedDomain.calibrated(epsilon, delta, change, self.voters)
        return ObservedSelection.calibrated(epsilon, delta, change)


# --- Algorithm 2: every token is voted on -----------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class DPVoteRAG(TokenVoting):
    """DPVoteRAG: a private vote chooses each token.

    Algorithm 2. Parameters: see `TokenVoting`.
    """

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


# --- Algorithm 3: only the tokens that need the documents are paid ----------------------------------------------------
# A token's budget is split differently between the sparse vector and the selection than in the paper: the selection has
# bounded range, and composes at a quarter of the price.


@dataclass(frozen=True, kw_only=True)
class DPSparseVoteRAG(TokenVoting):
    """DPSparseVoteRAG: only the tokens that need the documents are paid.

    Algorithm 3. Parameters: those of `TokenVoting`, and two more.

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

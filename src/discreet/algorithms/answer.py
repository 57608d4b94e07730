"""What an algorithm takes and what it returns."""

from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Protocol

from discreet.generation.model import LanguageModel
from discreet.privacy.accounting import Budget, Spending
from discreet.privacy.costs import Cost, Pure
from discreet.privacy.filter import PrivacyFilter, Receipt
from discreet.retrieval.retriever import Corpus

Stopped = Literal["end", "length", "budget", "undecided", "public"]


@dataclass(frozen=True)
class Draft:
    """What an algorithm wrote, before its receipt is attached.

    Attributes:
        text: the answer.
        stopped: "end" (the model ended it), "length" (the maximum), "budget" (what was left could not pay for
            another token), "undecided" (the voters did not agree on a token), "public" (nothing was released from
            documents: the text is what the model says without them).
        tokens: how many tokens were written.
        private_tokens: how many of them were paid for. Public: each payment is itself a released decision.
        released: what was paid for as a whole: the short answer, or keywords in alphabetical order.
        shares: noisy numbers of votes for each public choice, if they were asked and paid for.
    """

    text: str
    stopped: Stopped
    tokens: int
    private_tokens: int = 0
    released: tuple[str, ...] = ()
    shares: dict[str, int] | None = None


@dataclass(frozen=True)
class Answer(Draft):
    """An answer with its receipt, and what is left of the vault's budget.

    Attributes:
        algorithm: the name of the algorithm.
        receipt: what was paid, and what that means.
        remaining: the epsilon that everybody has left (single units may have less).
        kept: false if it should have been kept, to be given again for nothing, and could not be written.
    """

    algorithm: str = ""
    receipt: Receipt | None = None
    remaining: float = 0.0
    kept: bool = True

    def describe(self) -> dict[str, Any]:
        """The answer as plain data; the keys are those of `discreet ask --json`."""
        return {
            "answer": self.text,
            "stopped": self.stopped,
            "algorithm": self.algorithm,
            "private": self.receipt.private if self.receipt else False,
            "tokens": self.tokens,
            "private_tokens": self.private_tokens,
            "released": list(self.released),
            "shares": self.shares,
            "receipt": self.receipt.describe() if self.receipt else None,
            "remaining": self.remaining,
            "kept": self.kept,
        }


@dataclass(frozen=True)
class Plan:
    """What a question may cost at most, known before it starts: public.

    Attributes:
        ceiling: the question's own budget.
        round: the cost of one private token.
        rounds: how many private tokens the ceiling affords.
        entry: pure epsilon that is paid before the first token.
    """

    ceiling: Budget
    round: Cost
    rounds: int
    entry: float = 0.0

    @property
    def most(self) -> Spending:
        """The most that the question can spend."""
        return self.answering + (Spending.of(Pure(self.entry)) if self.entry else Spending.nothing())

    @property
    def answering(self) -> Spending:
        """The most that its tokens can cost."""
        return Spending.of(self.round, self.rounds)


class Algorithm(Protocol):
    """A way to answer a question."""

    name: ClassVar[str]
    private: ClassVar[bool]
    """Whether its answers carry a guarantee."""

    def plan(self, budget: Budget, vocabulary: int) -> Plan | None:
        """What a question may cost, given the vault's budget and the model's vocabulary; None if nothing."""

    def answer(self, question: str, corpus: Corpus, model: LanguageModel, privacy: PrivacyFilter) -> Draft:
        """Answer `question`; every release goes through `privacy`."""

"""KSA: DP-KSA without noise. No guarantee; what DP-KSA would answer if it released the words as they are."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from discreet.algorithms.answer import Draft
from discreet.algorithms.dp_ksa import MOST_KEYWORDS, answer_with, check_range, new_words
from discreet.algorithms.panel import Panel
from discreet.generation.model import LanguageModel
from discreet.privacy.accounting import Budget
from discreet.privacy.change import Change
from discreet.privacy.costs import Cost, NonPrivate
from discreet.privacy.filter import PrivacyFilter
from discreet.privacy.mechanisms.gap_choice import Words, by_count, gap_after
from discreet.privacy.noise import Noise
from discreet.retrieval.retriever import Corpus


@dataclass(frozen=True)
class LargestGap:
    """The most frequent words up to the largest gap of counts, as they are; of equal gaps, the first."""

    least: int
    most: int

    def cost(self, change: Change) -> Cost:
        """None that could be bounded."""
        return NonPrivate()

    def draw(self, shares: Sequence[Words], noise: Noise) -> tuple[str, ...]:
        """The words in alphabetical order."""
        ranked = by_count(shares)
        size = max(range(self.least, self.most + 1), key=lambda size: gap_after(size, ranked))
        return tuple(sorted(word for word, _ in ranked[:size]))


@dataclass(frozen=True, kw_only=True)
class KSA(Panel):
    """The baseline of Tang et al. (2026): DP-KSA with the true counts. Parameters: see `Panel` and `DPKSA`."""

    name: ClassVar[str] = "ksa"
    private: ClassVar[bool] = False

    most_keywords: int = MOST_KEYWORDS
    fewest_keywords: int = 1
    question_words: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        check_range(self.fewest_keywords, self.most_keywords)

    def plan(self, budget: Budget, vocabulary: int) -> None:
        """Nothing is paid, and nothing is promised."""

    def answer(self, question: str, corpus: Corpus, model: LanguageModel, privacy: PrivacyFilter) -> Draft:
        """Answer from the words that voters have in common."""
        documents = corpus.top_units(question, self.voters, self.units_per_voter)
        answers, _ = self.start_voters(question, documents, model).answers()
        heard = f"{self.prefix} {'' if self.question_words else question}"
        said = answers.map(lambda answer: new_words(self.prefix + answer, heard))
        found = privacy.release(LargestGap(self.fewest_keywords, self.most_keywords), said)
        return answer_with(found, question, model, self.prefix, self.max_tokens, self.document_tokens)

"""KSA: DP-KSA without noise. No guarantee; what DP-KSA would answer if it released the words as they are."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from discreet.algorithms.answer import Draft
from discreet.algorithms.keyword_panel import KeywordPanel
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
class KSA(KeywordPanel):
    """The baseline of Tang et al. (2026): DP-KSA with the true counts. Parameters: see `KeywordPanel`."""

    name: ClassVar[str] = "ksa"
    private: ClassVar[bool] = False

    def plan(self, budget: Budget, vocabulary: int) -> None:
        """Nothing is paid, and nothing is promised."""

    def answer(self, question: str, corpus: Corpus, model: LanguageModel, privacy: PrivacyFilter) -> Draft:
        """Answer from the words that voters have in common."""
        documents = corpus.top_units(question, self.voters, self.units_per_voter)
        answers, _ = self.start_voters(question, documents, model).answers()
        said = self.new_words(question, answers)
        found = privacy.release(LargestGap(self.fewest_keywords, self.most_keywords), said)
        return self.answer_with(found, question, model)

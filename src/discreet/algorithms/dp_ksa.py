"""DP-KSA: the words that most voters use are released, and the public model answers with them.

Tang, Flemings, Wang and Annavaram, "Differentially Private Retrieval-Augmented Generation" (2026), Algorithm 1. The
mechanisms are Algorithms 3 and 2. This version differs where privacy-spec, part 4, corrects the paper: the choice of k
has twice the paper's noise, the words are a set without order, and retrieval is exact. Words of the question are left
out. They are public, and would compete with the words of the answer.
"""

import math
from dataclasses import dataclass, replace
from functools import lru_cache
from statistics import NormalDist
from typing import ClassVar

from discreet.algorithms.base import GeneratedAnswer
from discreet.algorithms.ensemble import RoundBudget, VoterConfig, VoterEnsemble
from discreet.algorithms.text.normalize import keywords
from discreet.algorithms.text.writing import write
from discreet.errors import UsageError
from discreet.models.prompts import KEYWORDS, layout
from discreet.models.protocol import VotingModel
from discreet.privacy.filter import PrivacyFilter
from discreet.privacy.mechanisms.selection import LARGEST_DELTA, GapChoice, StableSet
from discreet.privacy.private import Change, Private
from discreet.store.documents import Passage


@dataclass(frozen=True, kw_only=True)
class KeywordConfig(VoterConfig):
    """Parameters: those of `VoterConfig`, and three more.

    Attributes:
        most_keywords: the largest number of released words.
        fewest_keywords: the smallest number of released words, if any are released (both together are the paper's
            r(k)).
        question_words: whether words of the question count too, as when the question names the choices.
    """

    most_keywords: int = 20
    fewest_keywords: int = 1
    question_words: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 1 <= self.fewest_keywords < self.most_keywords:
            raise UsageError(
                "Keywords lie in a range 1 <= fewest_keywords < most_keywords, not "
                f"{self.fewest_keywords} to {self.most_keywords}."
            )

    def new_words(self, question: str, answers: Private[str]) -> Private[frozenset[str]]:
        """Return the keywords of each answer that are neither in the prefix nor in the question."""
        heard = keywords(f"{self.prefix} {'' if self.question_words else question}")
        return answers.read(lambda answer: keywords(self.prefix + answer) - heard, otherwise=frozenset())

    def answer_with(
        self, found: tuple[str, ...], question: str, model: VotingModel, known: str = ""
    ) -> GeneratedAnswer:
        """Return the public model's answer. Its prompt has the released keywords and `known` in place of a document.

        If the answer lacks a keyword, the keywords stand behind it; if it has none, they stand alone.
        """
        words = ", ".join(found)
        record = "\n".join(part for part in (found and KEYWORDS.format(words), known) if part)
        tokens = model.encode(record)[: self.text_tokens]
        laid_out = layout(
            model,
            question,
            prefix=self.prefix,
            document_tokens=len(tokens),
            max_tokens=self.max_tokens,
            keywords=bool(found),
        )
        draft = write(model, laid_out.shared, laid_out.prompt(tokens), self.prefix, self.max_tokens)
        said = keywords(draft.text) & set(found)
        if len(said) == len(found):
            return replace(draft, released=found)
        text = f"{draft.text} ({words})" if said else words
        return GeneratedAnswer(text, "end", len(model.encode(text)), released=found)


TEST_SHARE = 0.5
"""The part of a question's own delta for the test; the rest is for conversion."""


@dataclass(frozen=True, kw_only=True)
class DPKSA(KeywordConfig, VoterEnsemble):
    """Algorithm 1. Parameters: see `KeywordConfig` and `VoterEnsemble`. A round is the whole answer."""

    name: ClassVar[str] = "dp-ksa"

    @property
    def abstains(self) -> bool:
        """Whether a voter without documents counts for nothing: its answer is empty, and has no words."""
        return not self.prefix

    def failures(self, delta: float) -> float:
        """Return the delta for the test: half of the question's own, or the default part of the vault's."""
        return super().failures(delta) if self.delta is None else TEST_SHARE * delta

    def mechanisms(self, epsilon: float, delta: float, change: Change, vocabulary: int) -> tuple[GapChoice, StableSet]:
        """Return the choice of k and the test.

        Together they cost epsilon^2/8-zCDP, as much as one selection of that epsilon.

        Raises:
            UsageError: if delta is out of range.
        """
        if not 0 < delta <= LARGEST_DELTA:
            raise UsageError(
                f"dp-ksa fails with a small probability: a part of delta above 0 and up to {LARGEST_DELTA}, "
                f"not {delta:g}. Without a delta, use dp-rag-pure."
            )
        least, most = self.fewest_keywords, self.most_keywords
        share = choice_share(most - least + 1, delta)
        return (
            GapChoice.calibrated(epsilon * math.sqrt(share), least, most, change),
            StableSet.calibrated((1 - share) * epsilon**2 / 8, delta),
        )

    def respond(
        self,
        question: str,
        documents: Private[tuple[Passage, ...]],  # line 1
        model: VotingModel,
        privacy: PrivacyFilter,
        rounds: RoundBudget,
        known: str = "",
    ) -> GeneratedAnswer:
        """Answer from the words that voters have in common; without such words, leave the answer unreleased."""
        answers, public = self.start_voters(question, documents, model, known).answers()  # lines 2-4
        return self.decide(question, answers, public, model, privacy, rounds, known)

    def decide(
        self,
        question: str,
        answers: Private[str],
        public: str,
        model: VotingModel,
        privacy: PrivacyFilter,
        rounds: RoundBudget,
        known: str = "",
    ) -> GeneratedAnswer:
        """Release the words that `answers` have in common, and answer with them.

        Args:
            question: the question.
            answers: the answers of the voters.
            public: the model's answer without documents.
            model: the language model.
            privacy: the filter that pays for the releases.
            rounds: the budget of the one round.
            known: the text that the public prompt reads in place of a document.
        """
        choice, test = self.mechanisms(rounds.epsilon, rounds.delta, answers.change, model.vocabulary_size)
        alone = GeneratedAnswer.unreleased(self.prefix + public, len(model.encode(public)))
        if not privacy.fits([choice, test], answers.change):
            return alone
        said = self.new_words(question, answers)  # line 5
        size = privacy.release(choice, said)  # line 6
        words = privacy.release(test.of(size), said)  # line 7
        if not words:
            return alone
        return self.answer_with(words, question, model, known)  # lines 8-9


@lru_cache(maxsize=128)
def choice_share(choices: int, delta: float) -> float:
    """Return the part of a round's zCDP for the choice of k; the rest is for the test.

    The part is optimized in hundredths. Its criterion is the smallest gap that is both chosen and passes with
    probability 1/2, when all other numbers of words have gap 0. Gaps far above 2 scale with 1/sqrt(rho) for every part.
    So the best part does not depend on epsilon, and more epsilon makes both mechanisms more precise.
    (docs/algorithms.md compares it with 10 %.)
    """
    quantile, normal = NormalDist().inv_cdf(delta), NormalDist()

    def chance(gap: float, share: float) -> float:
        """Return the probability that a gap is chosen and passes, at rho = 1.

        The choice has epsilon sqrt(8 share), the test a standard deviation of 2 sigma.
        """
        chosen = 1 / (1 + (choices - 1) * math.exp(-gap * math.sqrt(8 * share) / 4))
        return chosen * normal.cdf(gap * math.sqrt((1 - share) / 2) + quantile)

    def gap_needed(share: float) -> float:
        low, high = 0.0, 1e4
        for _ in range(50):
            middle = (low + high) / 2
            low, high = (low, middle) if chance(middle, share) >= 0.5 else (middle, high)
        return high

    return min((hundredth / 100 for hundredth in range(1, 100)), key=gap_needed)

"""The parameters and steps that DP-KSA and KSA share: common words of voters, and the answer from them."""

from dataclasses import dataclass, replace

from discreet.algorithms.common.answer import GeneratedAnswer
from discreet.algorithms.common.voter_config import VoterConfig
from discreet.algorithms.text.greedy_decode import write
from discreet.algorithms.text.keywords import keywords
from discreet.errors import UsageError
from discreet.generation.model import LanguageModel
from discreet.generation.prompts import DOCUMENT_TOKENS, layout
from discreet.privacy.private import Private


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
        self, found: tuple[str, ...], question: str, model: LanguageModel, known: str = ""
    ) -> GeneratedAnswer:
        """Return the public model's answer. Its prompt has the released keywords and `known` in place of a document."""
        laid_out = layout(
            model,
            question,
            prefix=self.prefix,
            document_tokens=self.document_tokens or DOCUMENT_TOKENS,
            max_tokens=self.max_tokens,
        )
        record = "\n".join(part for part in (", ".join(found), known) if part)
        draft = write(model, laid_out.shared, laid_out.prompt(model.encode(record)), self.prefix, self.max_tokens)
        return replace(draft, released=found)

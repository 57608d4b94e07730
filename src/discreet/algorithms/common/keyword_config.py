"""The parameters and steps that DP-KSA and KSA share: common words of voters, and the answer from them."""

from dataclasses import dataclass, replace

from discreet.algorithms.common.algorithm import GeneratedAnswer
from discreet.algorithms.common.ensemble import VoterConfig
from discreet.algorithms.text.greedy_decode import write
from discreet.algorithms.text.keywords import keywords
from discreet.errors import UsageError
from discreet.generation.model import VotingModel
from discreet.generation.prompts import KEYWORDS, layout
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

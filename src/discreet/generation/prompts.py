"""Every prompt, in one place, and their layout.

A prompt is a public head (instructions and question), the private text, and a public tail in which the assistant
begins to speak, with the answer's prefix. Private text is cut to a public number of tokens, and padding on the left
brings every prompt, the public one included, to one length: shapes never depend on documents. The parts are turned
into tokens separately, so a document cannot change the tokens of the public parts.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from discreet.errors import UsageError
from discreet.generation.model import LanguageModel, Prompt

SYSTEM = "You answer questions briefly."
WITH_DOCUMENTS = ("Record: ", "\n\nQuestion: {question}\nAnswer in one short sentence, using the record.")
WITHOUT_DOCUMENTS = "Question: {question}\nAnswer in one short sentence."

EXAMPLES: tuple[tuple[str, str], ...] = ()
EXAMPLES_ALONE: tuple[tuple[str, str], ...] = ()

DOCUMENT_TOKENS = 160
"""Tokens for each unit's passage. Of the notes of medical_synth, 95 in 100 fit whole."""


@dataclass(frozen=True)
class Layout:
    """How prompts of one question are laid out; all of it public."""

    head: tuple[int, ...]
    tail: tuple[int, ...]
    public: tuple[int, ...]
    document_tokens: int
    pad_token: int

    @property
    def length(self) -> int:
        """The length of every prompt."""
        return max(len(self.head) + self.document_tokens + len(self.tail), len(self.public))

    def without_documents(self) -> Prompt:
        """The public prompt."""
        return self._padded(self.public)

    def with_documents(self, tokens: Sequence[int]) -> Prompt:
        """A voter's prompt, its private text cut to the public length."""
        return self._padded((*self.head, *tokens[: self.document_tokens], *self.tail))

    def _padded(self, tokens: Sequence[int]) -> Prompt:
        padding = self.length - len(tokens)
        return Prompt((self.pad_token,) * padding + tuple(tokens), padding)


def layout(
    model: LanguageModel,
    question: str,
    *,
    prefix: str = "",
    document_tokens: int = DOCUMENT_TOKENS,
    max_tokens: int,
) -> Layout:
    """The layout for a question.

    Args:
        model: whose tokens and chat template are used.
        question: the question.
        prefix: how the answer begins.
        document_tokens: the public number of tokens of private text.
        max_tokens: the longest answer.

    Raises:
        UsageError: question, documents and answer together do not fit the model's context.
    """
    start = model.encode(prefix)
    before, after = WITH_DOCUMENTS
    opening, before_document, _ = model.turns(SYSTEM, before.format(question=question), EXAMPLES)
    _, after_document, closing = model.turns(SYSTEM, after.format(question=question))
    opening_alone, alone, _ = model.turns(SYSTEM, WITHOUT_DOCUMENTS.format(question=question), EXAMPLES_ALONE)
    made = Layout(
        head=(*opening, *before_document),
        tail=(*after_document, *closing, *start),
        public=(*opening_alone, *alone, *closing, *start),
        document_tokens=document_tokens,
        pad_token=model.pad_token,
    )
    if made.length + max_tokens > model.context:
        room = model.context - document_tokens - max_tokens
        raise UsageError(
            f"The question is too long: with its instructions it has {made.length - document_tokens} tokens; the model "
            f"'{model.name}' has room for {max(room, 0)} beside {document_tokens} of documents and {max_tokens} of "
            "answer. Shorten the question, or lower the number of document tokens."
        )
    return made

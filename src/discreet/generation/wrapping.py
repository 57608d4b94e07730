"""A base class for models that wrap another model."""

from collections.abc import Sequence
from threading import Lock

from discreet.generation.answers import GreedyCompletion
from discreet.generation.model import VotingModel


class WrappedModel(GreedyCompletion):
    """A `VotingModel` without `start`, which a subclass adds; the rest is delegated to the wrapped model."""

    def __init__(self, model: VotingModel) -> None:
        self._model = model
        self.name, self.context_length, self.vocabulary_size = model.name, model.context_length, model.vocabulary_size
        self.row_independent = model.row_independent
        self.end_tokens, self.pad_token = model.end_tokens, model.pad_token

    def encode(self, text: str) -> list[int]:
        """Return the token ids of a text, by the wrapped model."""
        return self._model.encode(text)

    def decode(self, tokens: Sequence[int]) -> str:
        """Return the text of token ids, by the wrapped model."""
        return self._model.decode(tokens)

    def chat(self, system: str, examples: Sequence[tuple[str, str]]) -> tuple[list[int], list[int]]:
        """Return the chat template, by the wrapped model."""
        return self._model.chat(system, examples)


class TokenizingInTurns(WrappedModel):
    """A wrapped model whose tokenizer one thread at a time uses.

    A call of a tokenizer sets switches of the tokenizer. With calls of several threads at once, a control token in a
    document could take effect, or a document could be dropped, by chance.
    """

    def __init__(self, model: VotingModel) -> None:
        super().__init__(model)
        self._tokenizing = Lock()

    def encode(self, text: str) -> list[int]:
        """Return the token ids of a text, one thread at a time."""
        with self._tokenizing:
            return super().encode(text)

    def decode(self, tokens: Sequence[int]) -> str:
        """Return the text of token ids, one thread at a time."""
        with self._tokenizing:
            return super().decode(tokens)

    def chat(self, system: str, examples: Sequence[tuple[str, str]]) -> tuple[list[int], list[int]]:
        """Return the chat template, one thread at a time."""
        with self._tokenizing:
            return super().chat(system, examples)

"""A base class for models that wrap another model."""

from collections.abc import Sequence

from discreet.generation.greedy_completion import GreedyCompletion
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

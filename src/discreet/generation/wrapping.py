"""A model in front of another: what both have in common is asked of the one behind."""

from collections.abc import Sequence

from discreet.generation.model import LanguageModel


class WrappedModel:
    """All of a `LanguageModel` but `start`, which whoever wraps it does in a way of its own."""

    def __init__(self, model: LanguageModel) -> None:
        self._model = model
        self.name, self.context, self.vocabulary_size = model.name, model.context, model.vocabulary_size
        self.end_tokens, self.pad_token = model.end_tokens, model.pad_token

    def encode(self, text: str) -> list[int]:
        """As the model's."""
        return self._model.encode(text)

    def decode(self, tokens: Sequence[int]) -> str:
        """As the model's."""
        return self._model.decode(tokens)

    def chat(self, system: str, examples: Sequence[tuple[str, str]]) -> tuple[list[int], list[int]]:
        """As the model's."""
        return self._model.chat(system, examples)

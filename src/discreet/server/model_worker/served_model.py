"""The model that a worker serves: one thread at a time uses the tokenizer."""

from collections.abc import Sequence
from threading import Lock
from typing import Any

from discreet.generation.model import Decoding, Prompt, VotingModel
from discreet.generation.probing import probe
from discreet.generation.wrapping import WrappedModel


class ServedModel(WrappedModel):
    """A model with a lock around its tokenizer, whose calls set switches of the tokenizer.

    Attributes:
        digest: the digest of what it computes for public rows.
    """

    def __init__(self, model: VotingModel) -> None:
        """Compute public rows for the digest."""
        super().__init__(model)
        self._tokenizing = Lock()
        self.digest = probe(model)

    def encode(self, text: str) -> list[int]:
        """Delegate to the model, one thread at a time."""
        with self._tokenizing:
            return super().encode(text)

    def decode(self, tokens: Sequence[int]) -> str:
        """Delegate to the model, one thread at a time."""
        with self._tokenizing:
            return super().decode(tokens)

    def chat(self, system: str, examples: Sequence[tuple[str, str]]) -> tuple[list[int], list[int]]:
        """Delegate to the model, one thread at a time."""
        with self._tokenizing:
            return super().chat(system, examples)

    def start(self, shared: Sequence[int], prompts: Sequence[Prompt], max_tokens: int) -> Decoding:
        """Delegate to the model."""
        return self._model.start(shared, prompts, max_tokens)

    def describe(self) -> dict[str, Any]:
        """Return what an asker must know of the model."""
        return {
            "name": self.name,
            "vocabulary_size": self.vocabulary_size,
            "context_length": self.context_length,
            "end_tokens": sorted(self.end_tokens),
            "pad_token": self.pad_token,
            "row_independent": self.row_independent,
            "digest": self.digest,
        }

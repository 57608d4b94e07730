"""The model that a worker serves: one thread at a time uses the tokenizer."""

from collections.abc import Sequence
from typing import Any

from discreet.generation.capabilities import find_assumptions
from discreet.generation.model import Decoding, Prompt, VotingModel
from discreet.generation.probing import probe
from discreet.generation.wrapping import TokenizingInTurns


class ServedModel(TokenizingInTurns):
    """A model that several askers share; one thread at a time uses its tokenizer.

    Attributes:
        digest: the digest of what it computes for public rows.
    """

    def __init__(self, model: VotingModel) -> None:
        """Compute public rows for the digest."""
        super().__init__(model)
        self.digest = probe(model)

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
            "assumptions": find_assumptions(self._model),
            "digest": self.digest,
        }

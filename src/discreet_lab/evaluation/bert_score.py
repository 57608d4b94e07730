"""BERTScore: the likeness of two texts by the vectors of their tokens (Zhang et al. 2020).

Each token of one text is compared with the most similar token of the other. Precision is the mean over the tokens of
the answer, recall over those of the reference, and F1 their harmonic mean. Tokens have equal weights, and values are
not rescaled. The tokens that begin and end a text are compared with, but do not count, as in the authors' package.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from discreet.errors import MissingPart, UnknownName, UsageError
from discreet.retrieval.embedding import checked_minilm_folder
from discreet.system.progress import stage

PACKAGED = "minilm"
"""The name of the packaged model, all-MiniLM-L6-v2."""


@dataclass(frozen=True)
class TokenVectors:
    """A text as a model reads it.

    Attributes:
        vectors: a vector of length one for each token, shape (tokens, dimension).
        counts: whether a token counts; those that begin and end a text do not.
    """

    vectors: NDArray[np.float32]
    counts: NDArray[np.bool_]


class TokenEmbedder(Protocol):
    """A model that returns a vector for each token of a text.

    Attributes:
        name: the name of the model.
    """

    name: str

    def read(self, text: str) -> TokenVectors:
        """Return the vectors of the tokens of `text`."""


@dataclass(frozen=True)
class BertScore:
    """The likeness of an answer to a reference; 1 for equal texts."""

    precision: float
    recall: float

    @property
    def f1(self) -> float:
        """The harmonic mean of precision and recall; 0 if both are not above 0."""
        total = self.precision + self.recall
        return 2 * self.precision * self.recall / total if self.precision > 0 and self.recall > 0 else 0.0


def match_greedily(answer: TokenVectors, reference: TokenVectors) -> BertScore:
    """Return precision and recall; 0 if no token of a text counts."""
    if not (answer.counts.any() and reference.counts.any()):
        return BertScore(0.0, 0.0)
    similarity = answer.vectors.astype(np.float64) @ reference.vectors.T.astype(np.float64)
    return BertScore(
        float(similarity.max(axis=1)[answer.counts].mean()), float(similarity.max(axis=0)[reference.counts].mean())
    )


def bert_score(answer: str, references: Sequence[str], embedder: TokenEmbedder) -> BertScore:
    """Return the likeness to the reference with the highest F1.

    Raises:
        UsageError: if there is no reference.
    """
    if not references:
        raise UsageError("BERTScore compares an answer with references, and there is none. Give one at least.")
    said = embedder.read(answer)
    return max((match_greedily(said, embedder.read(one)) for one in references), key=lambda one: one.f1)


class TransformersTokens:
    """The token vectors of an encoder of the transformers library. It reads one text at a time, without padding.

    Args:
        name: "minilm" (the packaged model), or the path or hub name of an encoder in safetensors.
        layer: the number of the layer whose states are taken, 1 for the first; the last one if None.

    Raises:
        MissingPart: if torch, transformers or the packaged model is not installed.
        UnknownName: if there is no such model within reach.
        UsageError: if it has no such layer.
    """

    def __init__(self, name: str = PACKAGED, layer: int | None = None) -> None:
        try:
            import torch
            import transformers
        except ImportError as error:
            raise MissingPart("BERTScore needs torch and transformers", "local") from error
        quiet: Any = transformers.logging
        quiet.disable_progress_bar()
        folder = checked_minilm_folder() if name == PACKAGED else name
        try:
            self._tokenizer: Any = transformers.AutoTokenizer.from_pretrained(folder, trust_remote_code=False)
            # Pickled weights could run code, so only safetensors are read.
            model: Any = transformers.AutoModel.from_pretrained(
                folder, use_safetensors=True, trust_remote_code=False, dtype=torch.float32
            )
        except (OSError, ValueError) as error:
            raise UnknownName("encoder (nor one within reach at that path or hub name)", name, [PACKAGED]) from error
        layers = model.config.num_hidden_layers
        if layer is not None and not 1 <= layer <= layers:
            raise UsageError(f"'{name}' has the layers 1 to {layers}, and no layer {layer}. Leave it out for the last.")
        self.name = name
        self._torch, self._model, self._layer = torch, model.eval(), layers if layer is None else layer
        limits = (self._tokenizer.model_max_length, getattr(model.config, "max_position_embeddings", 512))
        self._most_tokens = min(limits)

    def read(self, text: str) -> TokenVectors:
        """Return the vectors of the tokens of `text`, which is cut to what the model can read."""
        encoded = self._tokenizer(
            text,
            truncation=True,
            max_length=self._most_tokens,
            return_special_tokens_mask=True,
            return_tensors="pt",
        )
        special = encoded.pop("special_tokens_mask")[0].numpy().astype(bool)
        with self._torch.inference_mode():
            states = self._model(**encoded, output_hidden_states=True).hidden_states[self._layer][0].float().numpy()
        lengths = np.linalg.norm(states, axis=1, keepdims=True)
        return TokenVectors((states / np.maximum(lengths, 1e-12)).astype(np.float32), ~special)


@cache
def open_token_embedder(name: str = PACKAGED, layer: int | None = None) -> TransformersTokens:
    """Return the model of BERTScore called `name`, loaded once in a process. See `TransformersTokens`."""
    with stage("Loading the model of BERTScore"):
        return TransformersTokens(name, layer)

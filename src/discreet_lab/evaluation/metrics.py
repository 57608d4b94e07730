"""Measures of the quality of an answer, BERTScore among them (Zhang et al. 2020)."""

import math
import re
import statistics
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from discreet.errors import MissingPart, UnknownName, UsageError
from discreet.query.known_answers import matches
from discreet.store.embedding import checked_minilm_folder
from discreet.system.progress import stage


def mean_and_margin(groups: Sequence[Sequence[float]]) -> tuple[float, float]:
    """Return the mean over all values, and half the width of its 95 % confidence interval.

    Args:
        groups: one sequence for each question, with one value for each seed. Questions are the independent draws: the
            margin follows from the spread of their means.
    """
    means = [statistics.fmean(group) for group in groups]
    if len(means) < 2:
        return statistics.fmean(means), math.nan
    return statistics.fmean(means), 1.96 * statistics.stdev(means) / math.sqrt(len(means))


def score(answer: str, acceptable: Sequence[str], kind: str = "") -> float:
    """Return the match accuracy of an answer; for the kind "reference", its likeness to one (ROUGE-1)."""
    if kind != "reference":
        return float(matches(answer, acceptable))
    return max(rouge_1(answer, reference) for reference in acceptable)


@dataclass(frozen=True)
class Likeness:
    """The likeness of an answer to its nearest reference; each measure in [0, 1].

    Attributes:
        f1: the F1 of tokens.
        rouge_1: ROUGE-1.
        rouge_l: ROUGE-L.
        levenshtein: the similarity by edit distance.
    """

    f1: float
    rouge_1: float
    rouge_l: float
    levenshtein: float

    @staticmethod
    def of(answer: str, references: Sequence[str]) -> "Likeness":
        """Return the largest value of each measure over several references."""
        measures = (token_f1, rouge_1, rouge_l, levenshtein)
        return Likeness(*(max(measure(answer, reference) for reference in references) for measure in measures))


def token_f1(answer: str, reference: str) -> float:
    """Return the F1 of words, as in SQuAD: without case, punctuation and articles."""
    said, expected = (
        [word for word in re.findall(r"\w+", re.sub(r"[^\w\s]", "", text.lower())) if word not in ("a", "an", "the")]
        for text in (answer, reference)
    )
    return _f1((Counter(said) & Counter(expected)).total(), len(said), len(expected))


def rouge_1(answer: str, reference: str) -> float:
    """Return the F measure of ROUGE-1, without stemming (Lin 2004): words counted with repetitions."""
    said, expected = _rouge_words(answer), _rouge_words(reference)
    return _f1((Counter(said) & Counter(expected)).total(), len(said), len(expected))


def rouge_l(answer: str, reference: str) -> float:
    """Return the F measure of ROUGE-L, without stemming (Lin 2004): by the longest common subsequence of words."""
    said, expected = _rouge_words(answer), _rouge_words(reference)
    return _f1(_rapidfuzz().LCSseq.similarity(said, expected), len(said), len(expected))


def bleu(answer: str, reference: str) -> float:
    """Return BLEU of one sentence against one reference, without case, in [0, 1] (Papineni et al. 2002).

    For runs of two and more words, one is added to both counts, so that a sentence without a common run of four words
    has a value (Lin and Och 2004).
    """
    return float(_bleu().corpus_score([answer], [[reference]]).score) / 100


def ngram_precision(answer: str, reference: str) -> float:
    """Return BLEU without its penalty for short answers, in [0, 1]: the mean of the precisions of 1 to 4 words.

    It is the score by which S2MIA, as DPVoteRAG reports it (section IV.C), takes a document for a member.
    """
    found = _bleu().corpus_score([answer], [[reference]])
    return float(found.score / found.bp) / 100 if found.bp else 0.0


def levenshtein(answer: str, reference: str) -> float:
    """Return one minus the edit distance over the length of the longer text, ignoring case."""
    return float(_rapidfuzz().Levenshtein.normalized_similarity(answer.strip().lower(), reference.strip().lower()))


def _rouge_words(text: str) -> list[str]:
    return re.findall(r"[a-z0-9]+", text.lower())


def _f1(common: int, said: int, expected: int) -> float:
    return 2 * common / (said + expected) if common else 0.0


def check_installed() -> None:
    """Check that the packages for measures of likeness are installed.

    Raises:
        MissingPart: if one is not.
    """
    _bleu()
    _rapidfuzz()


@cache
def _bleu() -> Any:
    try:
        from sacrebleu.metrics.bleu import BLEU
    except ImportError as error:
        raise MissingPart("BLEU needs sacrebleu", "eval") from error
    return BLEU(lowercase=True, tokenize="none", smooth_method="add-k", smooth_value=1)


def _rapidfuzz() -> Any:
    try:
        from rapidfuzz import distance
    except ImportError as error:
        raise MissingPart("Likeness to references needs rapidfuzz", "eval") from error
    return distance


# --- bert score -------------------------------------------------------------------------------------------------------

# Each token of one text is compared with the most similar token of the other. Precision is the mean over the tokens of
# the answer, recall over those of the reference, and F1 their harmonic mean. Tokens have equal weights, and values are
# not rescaled. The tokens that begin and end a text are compared with, but do not count, as in the authors' package.


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

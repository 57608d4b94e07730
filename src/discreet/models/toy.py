"""A deterministic toy language model, public, for tests in which exact votes matter.

Tokens are words. A prompt that contains `say: a b c` is continued by the words a, b, c and the end token; the last such
phrase counts. A prompt without one is continued by the model's `default`.
"""

from collections.abc import Sequence

import numpy as np

from discreet.models.answers import GreedyCompletion
from discreet.models.protocol import Logits, Prompt, Tokens

_END, _PAD = 0, 1
LOUD = 9.0
"""The logit of the next word; other words have 0."""


class ToyModel(GreedyCompletion):
    """A scoring model that repeats the words of its prompt after `say:`.

    Args:
        vocabulary: the first words of the vocabulary; other words are added when they are encoded.
        default: the continuation of a prompt without `say:`.
        size: the size of the vocabulary.
    """

    name = "toy"
    row_independent = True
    context_length = 4096
    end_tokens = frozenset({_END})
    pad_token = _PAD

    def __init__(self, vocabulary: Sequence[str] = (), default: str = "nothing known", size: int = 1000) -> None:
        self.vocabulary_size = size
        self._words = ["<end>", "<pad>"]
        self._ids: dict[str, int] = {}  # no text becomes one of these two
        self._default = default
        self.encode(" ".join([*vocabulary, default]))

    def encode(self, text: str) -> list[int]:
        """Return one token for each word."""
        for word in text.split():
            if word not in self._ids:
                self._ids[word] = len(self._words)
                self._words.append(word)
        return [self._ids[word] for word in text.split()]

    def decode(self, tokens: Sequence[int]) -> str:
        """Return the words, each after a space."""
        return "".join(f" {self._word(token)}" for token in tokens)

    def chat(self, system: str, examples: Sequence[tuple[str, str]]) -> tuple[list[int], list[int]]:
        """Return an empty template."""
        return [], []

    def start(self, shared: Sequence[int], prompts: Sequence[Prompt], max_tokens: int) -> "ToyDecoding":
        """Find the continuation of each prompt."""
        return ToyDecoding([self._wish(prompt) for prompt in prompts], self.vocabulary_size)

    def token_nll(self, shared: Sequence[int], prompts: Sequence[Prompt]) -> Logits:
        """Return the length of each word as its loss."""
        losses = [[float(len(self._word(token))) for token in prompt.tokens] for prompt in prompts]
        return np.array(losses, dtype=np.float32)

    def _word(self, token: int) -> str:
        return self._words[token] if token < len(self._words) else "?"

    def _wish(self, prompt: Prompt) -> list[int]:
        words = [self._word(token) for token in prompt.tokens[prompt.padding :]]
        if "say:" not in words:
            return self.encode(self._default)
        start = len(words) - words[::-1].index("say:")
        wish = words[start : words.index(".", start)] if "." in words[start:] else words[start:]
        return self.encode(" ".join(wish))


class ToyDecoding:
    """Rows that repeat their words one after the other, regardless of the appended tokens."""

    def __init__(self, wishes: list[list[int]], size: int) -> None:
        self._wishes, self._size, self._said = wishes, size, 0

    def best(self) -> Tokens:
        """Return the next word of each row."""
        return np.array([(wish + [_END] * (self._said + 1))[self._said] for wish in self._wishes], dtype=np.int64)

    def logits(self) -> Logits:
        """Return `LOUD` for the next word of each row, and 0 for the others."""
        rows = np.zeros((len(self._wishes), self._size), dtype=np.float32)
        rows[np.arange(len(rows)), self.best()] = LOUD
        return rows

    def append(self, token: int) -> None:
        """Advance by one word."""
        self._said += 1

    def append_each(self, tokens: Sequence[int]) -> None:
        """Advance by one word."""
        self._said += 1

    def truncate(self, length: int) -> None:
        """Go back to `length` words."""
        self._said = length

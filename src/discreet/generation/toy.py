"""A deterministic toy language model, public, for tests in which exact votes matter.

Tokens are words. A prompt that contains `say: a b c` wants to continue with the words a, b, c and then to end; the
last such phrase counts. A prompt without one says the model's `default`.
"""

from collections.abc import Sequence

import numpy as np

from discreet.generation.model import Logits, Prompt, Tokens

_END, _PAD = 0, 1
LOUD = 9.0
"""The logit of the word that a prompt wants to say next; others have 0."""


class ToyModel:
    """Says what its prompt tells it to say.

    Args:
        vocabulary: the words that it knows, besides the end and the default; others are learned as they come.
        default: what a prompt without `say:` says.
    """

    name = "toy"
    context = 4096
    end_tokens = frozenset({_END})
    pad_token = _PAD

    def __init__(self, vocabulary: Sequence[str] = (), default: str = "nothing known", size: int = 1000) -> None:
        self.vocabulary_size = size
        self._words = ["<end>", "<pad>"]
        self._ids = {word: number for number, word in enumerate(self._words)}
        self._default = default
        self.encode(" ".join([*vocabulary, default]))

    def encode(self, text: str) -> list[int]:
        """One token a word."""
        for word in text.split():
            if word not in self._ids:
                self._ids[word] = len(self._words)
                self._words.append(word)
        return [self._ids[word] for word in text.split()]

    def decode(self, tokens: Sequence[int]) -> str:
        """Words with spaces between them."""
        return "".join(f" {self._word(token)}" for token in tokens)

    def chat(self, system: str, examples: Sequence[tuple[str, str]]) -> tuple[list[int], list[int]]:
        """No template."""
        return [], []

    def start(self, shared: Sequence[int], prompts: Sequence[Prompt], max_tokens: int) -> "ToyDecoding":
        """Find out what each prompt wants to say."""
        return ToyDecoding([self._wish(prompt) for prompt in prompts], self.vocabulary_size)

    def surprise(self, shared: Sequence[int], prompts: Sequence[Prompt]) -> Logits:
        """Every letter of a word surprises by one."""
        told = [[float(len(self._word(token))) for token in prompt.tokens] for prompt in prompts]
        return np.array(told, dtype=np.float32)

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
    """Rows that say their words one after the other, whatever is appended."""

    def __init__(self, wishes: list[list[int]], size: int) -> None:
        self._wishes, self._size, self._said = wishes, size, 0

    def best(self) -> Tokens:
        """The next word of each row."""
        return np.array([(wish + [_END] * (self._said + 1))[self._said] for wish in self._wishes], dtype=np.int64)

    def logits(self) -> Logits:
        """`LOUD` for the next word of each row, nothing for the others."""
        found = np.zeros((len(self._wishes), self._size), dtype=np.float32)
        found[np.arange(len(found)), self.best()] = LOUD
        return found

    def append(self, token: int) -> None:
        """One word on."""
        self._said += 1

    def append_each(self, tokens: Sequence[int]) -> None:
        """One word on."""
        self._said += 1

    def truncate(self, length: int) -> None:
        """Back to `length` words."""
        self._said = length

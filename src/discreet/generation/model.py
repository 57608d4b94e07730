"""What the algorithms need of a language model: token ids in, the best next tokens out.

All prompts of a question form one batch with one KV cache. The contract that every guarantee rests on:

    **Row i of what a `Decoding` returns is a function of prompt i and of the appended tokens alone, bit for bit**,
    whatever the other prompts say. All prompts of a batch have one public length, and their number is public.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

Tokens = NDArray[np.int64]
Logits = NDArray[np.float32]
States = NDArray[np.float32]


@dataclass(frozen=True)
class Prompt:
    """What follows the shared part of a prompt, laid out to a public length.

    Attributes:
        tokens: token ids, padding included.
        padding: how many of the first tokens are padding, to be ignored.
    """

    tokens: tuple[int, ...] = field(repr=False)
    padding: int = field(repr=False)


class Decoding(Protocol):
    """A batch of prompts being continued."""

    def best(self) -> Tokens:
        """The most likely next token of each row, shape (rows,). Equal ones: the lowest id."""

    def append(self, token: int) -> None:
        """Continue every row with `token`."""

    def append_each(self, tokens: Sequence[int]) -> None:
        """Continue every row with a token of its own."""

    def truncate(self, length: int) -> None:
        """Forget all but the first `length` appended tokens. `best` is undefined until the next append."""


class ScoredDecoding(Decoding, Protocol):
    """A batch of prompts being continued, with all that the model thinks of the next token."""

    def logits(self) -> Logits:
        """The logits of the next token, shape (rows, vocabulary)."""


class ContextDecoding(ScoredDecoding, Protocol):
    """A batch of prompts being continued, with what the model makes of what it has read."""

    def states(self) -> States:
        """The state from which the next token of each row is predicted, shape (rows, context size)."""


class LanguageModel(Protocol):
    """A language model with its tokenizer."""

    @property
    def name(self) -> str:
        """What it is called."""

    @property
    def vocabulary_size(self) -> int:
        """How many tokens it knows."""

    @property
    def context(self) -> int:
        """The longest sequence, in tokens."""

    @property
    def end_tokens(self) -> frozenset[int]:
        """Tokens that end an answer."""

    @property
    def pad_token(self) -> int:
        """The token that fills a prompt up."""

    def encode(self, text: str) -> list[int]:
        """Token ids of plain text; nothing in it is taken for a control token."""

    def decode(self, tokens: Sequence[int]) -> str:
        """The text of token ids."""

    def chat(self, system: str, examples: Sequence[tuple[str, str]]) -> tuple[list[int], list[int]]:
        """The chat template as token ids: what stands before a user's text, and what stands after it.

        The first part holds the instructions and the examples (what a user said, what the assistant answered); the
        second ends where the assistant begins to speak.
        """

    def start(self, shared: Sequence[int], prompts: Sequence[Prompt], max_tokens: int) -> Decoding:
        """Begin to continue `prompts`, all of the same length, by at most `max_tokens` tokens.

        `shared` comes before each of them: public tokens, which are fed once for all rows.
        """


@runtime_checkable
class ScoringModel(LanguageModel, Protocol):
    """A language model that also says how likely tokens are. The contract of rows holds for what it says, too."""

    def start(self, shared: Sequence[int], prompts: Sequence[Prompt], max_tokens: int) -> ScoredDecoding:
        """As a language model's."""

    def surprise(self, shared: Sequence[int], prompts: Sequence[Prompt]) -> Logits:
        """Minus the log-probability of each token of `prompts`, given those before it, in nats, shape (rows, length).

        What stands for padding means nothing. `shared` comes before each of the prompts, and must not be empty.
        """


@runtime_checkable
class ContextModel(LanguageModel, Protocol):
    """A language model that shows its states: what its last layer makes of what it has read."""

    @property
    def context_size(self) -> int:
        """How many numbers a state has."""

    def start_contexts(self, prompts: Sequence[Prompt], max_tokens: int) -> ContextDecoding:
        """As `start`, with nothing shared."""

    def contexts(self, prompts: Sequence[Prompt]) -> States:
        """The state after each token of prompts of one length, shape (rows, length, context size).

        What stands for padding means nothing.
        """

    def predict(self, states: States) -> Logits:
        """The logits of the token after each state, shape (states, vocabulary)."""

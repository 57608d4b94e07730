"""The protocols of language models: a ladder from `Completer` over `VotingModel` and `ScoringModel` to `ContextModel`.

An algorithm names the step that it requires (`capabilities.py`). All prompts of a question form one batch with one KV
cache. Every guarantee rests on the row contract:

    **Row i of the output of a `Decoding` is a function of prompt i and of the appended tokens alone, bit for bit.**
    The other prompts have no influence. All prompts of a batch have one public length, and their number is public.

A model declares with `row_independent` whether it promises this contract.
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
    """The part of a prompt after the shared part, padded to a public length.

    Attributes:
        tokens: token ids, padding included.
        padding: the number of padding tokens at the beginning; the model ignores them.
    """

    tokens: tuple[int, ...] = field(repr=False)
    padding: int = field(repr=False)


class Decoding(Protocol):
    """A batch of prompts that the model continues."""

    def best(self) -> Tokens:
        """Return the most likely next token of each row, shape (rows,). Of equally likely tokens, the lowest id."""

    def append(self, token: int) -> None:
        """Continue every row with `token`."""

    def append_each(self, tokens: Sequence[int]) -> None:
        """Continue each row with its own token."""

    def truncate(self, length: int) -> None:
        """Forget all but the first `length` appended tokens. `best` is undefined until the next append."""


class ScoredDecoding(Decoding, Protocol):
    """A batch of prompts that the model continues, with the logits of the next token."""

    def logits(self) -> Logits:
        """Return the logits of the next token, shape (rows, vocabulary)."""


class ContextDecoding(ScoredDecoding, Protocol):
    """A batch of prompts that the model continues, with the hidden states of the last layer."""

    def states(self) -> States:
        """Return the state from which the model predicts the next token of each row, shape (rows, context size)."""


@runtime_checkable
class Completer(Protocol):
    """A language model that completes texts. The default algorithm, `consensus`, needs no more."""

    @property
    def name(self) -> str:
        """The name of the model."""

    @property
    def row_independent(self) -> bool:
        """Whether the model promises the row contract: completion i is a function of prompt i and `max_tokens` alone.

        A model that declares False can be used; the receipt of each answer then names the contract as an assumption.
        """

    def complete(self, prompts: Sequence[str], max_tokens: int) -> list[str]:
        """Complete each prompt greedily, by at most `max_tokens` tokens; the prompt is not repeated.

        Prompts hold private text, but for the last one of a batch, which is public. Only the last one may cause an
        error. A prompt before it that cannot be completed yields an empty text.
        """


class TokenizingModel(Completer, Protocol):
    """A language model with its tokenizer."""

    @property
    def vocabulary_size(self) -> int:
        """The number of tokens in the vocabulary."""

    @property
    def context_length(self) -> int:
        """The longest sequence, in tokens."""

    @property
    def end_tokens(self) -> frozenset[int]:
        """The tokens that end an answer."""

    @property
    def pad_token(self) -> int:
        """The token that pads a prompt."""

    def encode(self, text: str) -> list[int]:
        """Return the token ids of plain text; no part of the text becomes a control token."""

    def decode(self, tokens: Sequence[int]) -> str:
        """Return the text of token ids."""

    def chat(self, system: str, examples: Sequence[tuple[str, str]]) -> tuple[list[int], list[int]]:
        """Return the chat template as token ids: the part before a user's text, and the part after it.

        The first part holds the instructions and the examples (pairs of a user's text and the assistant's answer). The
        assistant's answer follows the second part.
        """


@runtime_checkable
class VotingModel(TokenizingModel, Protocol):
    """A language model that names the best next token of each row."""

    def start(self, shared: Sequence[int], prompts: Sequence[Prompt], max_tokens: int) -> Decoding:
        """Begin to continue `prompts`, all of the same length, by at most `max_tokens` tokens.

        `shared` comes before each prompt: public tokens, which are fed once for all rows.
        """


@runtime_checkable
class ScoringModel(VotingModel, Protocol):
    """A language model that returns the logits of all next tokens. The row contract holds for logits, too."""

    def start(self, shared: Sequence[int], prompts: Sequence[Prompt], max_tokens: int) -> ScoredDecoding:
        """Begin to continue `prompts`, as a `VotingModel` does, with logits."""

    def token_nll(self, shared: Sequence[int], prompts: Sequence[Prompt]) -> Logits:
        """Return minus the log-probability of each token of `prompts`, in nats, shape (rows, length).

        Each token is conditioned on the tokens before it. Values at padding are undefined. `shared` comes before each
        of the prompts, and must not be empty.
        """


@runtime_checkable
class ContextModel(ScoringModel, Protocol):
    """A language model that returns the hidden states of its last layer."""

    @property
    def state_size(self) -> int:
        """The dimension of a state."""

    def start_with_states(self, prompts: Sequence[Prompt], max_tokens: int) -> ContextDecoding:
        """Begin to continue `prompts` without a shared part, with states."""

    def hidden_states(self, prompts: Sequence[Prompt]) -> States:
        """Return the state after each token of prompts of one length, shape (rows, length, context size).

        Values at padding are undefined.
        """

    def predict(self, states: States) -> Logits:
        """Return the logits of the token after each state, shape (states, vocabulary)."""

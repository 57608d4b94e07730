"""A `Completer` behind the interface of a `VotingModel`, for algorithms that use whole completions only.

The adapter fetches the completions of a batch in one call (`answers`). Its tokens are blocks of at most seven bytes of
UTF-8, so they carry no state and need no vocabulary: a block and its token id determine each other. A token is about as
long as one of a usual tokenizer.
"""

import re
from collections.abc import Sequence

from discreet.errors import UsageError
from discreet.generation.answers import WholeAnswers, Written
from discreet.generation.model import Completer, Prompt, VotingModel
from discreet.generation.prompts import render_plain_chat

_END, _PAD = 0, 1
_BYTES = 7
_PIECE = re.compile(rb"\s?\S{1,%d}|\s" % (_BYTES - 1))
CONTEXT = 8192
"""The assumed context length, in tokens, of a completer that declares none."""


class TextTokens:
    """A tokenizer that needs no vocabulary: blocks of bytes."""

    vocabulary_size = 1 << (8 * _BYTES + 1)
    end_tokens = frozenset({_END})
    pad_token = _PAD

    def encode(self, text: str) -> list[int]:
        """Return the tokens of a text: pieces of words."""
        return [_token(piece) for piece in _PIECE.findall(text.encode(errors="replace"))]

    def decode(self, tokens: Sequence[int]) -> str:
        """Return the text of tokens; a character that is cut in two is left out."""
        return b"".join(_piece(token) for token in tokens).decode(errors="ignore")

    def chat(self, system: str, examples: Sequence[tuple[str, str]]) -> tuple[list[int], list[int]]:
        """Return instructions and examples as plain text."""
        before, after = render_plain_chat(system, examples)
        return self.encode(before), self.encode(after)

    def written(self, completion: str, max_tokens: int, *, ended: bool | None = None) -> Written:
        """Return a completion as an answer, cut to `max_tokens` tokens: to as many bytes as these hold.

        Args:
            completion: the text.
            max_tokens: the most tokens of the answer.
            ended: whether the model ended it; whether it is shorter than that if None.
        """
        blocks = _blocks(completion)
        kept = tuple(blocks[:max_tokens])
        return Written(self.decode(kept), kept, len(blocks) < max_tokens if ended is None else ended)


class CompleterAdapter(TextTokens, WholeAnswers):
    """A voting model over a completer. Rows can be continued by their own tokens only.

    Attributes:
        name, row_independent: those of the completer.
    """

    def __init__(self, completer: Completer) -> None:
        self._completer = completer
        self.name, self.row_independent = completer.name, completer.row_independent
        self.context_length = int(getattr(completer, "context_length", CONTEXT))

    def complete(self, prompts: Sequence[str], max_tokens: int) -> list[str]:
        """Complete each prompt by the completer."""
        return self._completer.complete(prompts, max_tokens)

    def answers(
        self, shared: Sequence[int], prompts: Sequence[Prompt], max_tokens: int, *, all_steps: bool = True
    ) -> list[Written]:
        """Complete all prompts in one call. How many steps the completer computes is its own affair.

        Raises:
            UsageError: if the completer returns another number of completions.
        """
        texts = [self.decode([*shared, *prompt.tokens[prompt.padding :]]) for prompt in prompts]
        completions = self._completer.complete(texts, max_tokens)
        if len(completions) != len(texts):
            raise UsageError(
                f"The model '{self.name}' returned {len(completions)} completions for {len(texts)} prompts. "
                "Its `complete` must return one for each prompt."
            )
        return [self.written(text, max_tokens) for text in completions]


def adapt_completer(model: Completer) -> VotingModel:
    """Return the model, or an adapter if it is a plain completer."""
    return model if isinstance(model, VotingModel) else CompleterAdapter(model)


def _token(piece: bytes) -> int:
    return int.from_bytes(b"\x01" + piece)  # the first byte keeps zeros at the beginning of the piece


def _piece(token: int) -> bytes:
    return int(token).to_bytes(_BYTES + 1).lstrip(b"\x00")[1:] if token > _PAD else b""


def _blocks(text: str) -> list[int]:
    """Return the tokens of a completion: as few as possible, so that `max_tokens` tokens hold all of it."""
    encoded = text.encode(errors="replace")
    return [_token(encoded[first : first + _BYTES]) for first in range(0, len(encoded), _BYTES)]

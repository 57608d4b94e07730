"""What batches in lock-step have in common: what they tell of the next token, and how many tokens may be appended."""

from abc import ABC, abstractmethod
from collections.abc import Sequence

import torch

from discreet.errors import UsageError
from discreet.generation.model import Logits, Tokens


class LockstepBatch(ABC):
    """A batch of rows that are continued in lock-step, by at most `max_tokens` tokens each.

    Attributes:
        _logits, _best: those of the next token; a subclass sets them when it feeds tokens.
    """

    _logits: torch.Tensor
    _best: Tokens

    def __init__(self, rows: int, max_tokens: int) -> None:
        self._rows, self._max_tokens, self._appended = rows, max_tokens, 0

    def best(self) -> Tokens:
        """Return the most likely next token of each row; of equally likely tokens, the lowest id."""
        return self._best

    def logits(self) -> Logits:
        """Return the logits of the next token, shape (rows, vocabulary)."""
        array: Logits = self._logits.float().cpu().numpy()
        return array

    def append(self, token: int) -> None:
        """Continue every row with `token`."""
        self.append_each([token] * self._rows)

    def append_each(self, tokens: Sequence[int]) -> None:
        """Continue each row with its own token.

        Raises:
            UsageError: if the batch has no room for a token, or if there is not one for each row.
        """
        if self._appended == self._max_tokens:
            raise UsageError(f"This batch was begun for {self._max_tokens} tokens. Begin it with a larger max_tokens.")
        if len(tokens) != self._rows:
            raise UsageError(f"There are {len(tokens)} tokens for {self._rows} rows. Give each row one.")
        self._feed_each(tokens)
        self._appended += 1

    def truncate(self, length: int) -> None:
        """Forget all but the first `length` appended tokens."""
        self._appended = min(length, self._appended)

    @abstractmethod
    def _feed_each(self, tokens: Sequence[int]) -> None:
        """Feed the next token of each row, after `_appended` ones."""

"""Decoding in lock-step by the forward pass of decoder.py."""

import weakref
from collections.abc import Sequence

import torch

from discreet.errors import UsageError
from discreet.generation.gpu_backend.decoder import LlamaDecoder
from discreet.generation.model import Logits, Prompt, Tokens
from discreet.generation.torch_backend.row_check import Shape


class FusedDecoding:
    """A batch of prompts of one length that are continued in lock-step, on a GPU."""

    def __init__(
        self, decoder: LlamaDecoder, shared: Sequence[int], prompts: Sequence[Prompt], max_tokens: int
    ) -> None:
        shape = Shape(len(prompts), len(shared), len(prompts[0].tokens), max_tokens)
        self._max_tokens, self._appended = max_tokens, 0
        lane = decoder.take_lane(shape)
        weakref.finalize(self, decoder.give_back, lane)
        self._memory, self._step = lane.memory, lane.step
        self._memory.set_batch(shape, torch.tensor([prompt.padding for prompt in prompts]))
        ids = torch.tensor([*shared, *(token for prompt in prompts for token in prompt.tokens)], device=decoder.device)
        self._logits, best = decoder.read(self._memory, shape, ids)
        self._best: Tokens = best.cpu().numpy()

    def best(self) -> Tokens:
        """Return the most likely next token of each row; of equally likely tokens, the lowest id."""
        return self._best

    def logits(self) -> Logits:
        """Return the logits of the next token, shape (rows, vocabulary)."""
        array: Logits = self._logits.float().cpu().numpy()
        return array

    def append(self, token: int) -> None:
        """Continue every row with `token`."""
        self.append_each([token] * self._memory.rows)

    def append_each(self, tokens: Sequence[int]) -> None:
        """Continue each row with its own token."""
        if self._appended == self._max_tokens:
            raise UsageError(f"This batch was begun for {self._max_tokens} tokens. Begin it with a larger max_tokens.")
        if len(tokens) != self._memory.rows:
            raise UsageError(f"There are {len(tokens)} tokens for {self._memory.rows} rows. Give each row one.")
        self._memory.set_appended(self._appended)
        self._logits, best = self._step(torch.tensor(list(tokens), device=self._logits.device))
        self._best = best.cpu().numpy()
        self._appended += 1

    def truncate(self, length: int) -> None:
        """Forget all but the first `length` appended tokens."""
        self._appended = min(length, self._appended)

"""Decoding in lock-step by the forward pass of decoder.py."""

import weakref
from collections.abc import Sequence

import torch

from discreet.generation.model import Prompt
from discreet.generation.torch_backend.decoding import LockstepBatch
from discreet.generation.torch_backend.row_check import Shape
from discreet_lab.gpu_decoder.decoder import LlamaDecoder


class FusedDecoding(LockstepBatch):
    """A batch of prompts of one length that are continued in lock-step, on a GPU."""

    def __init__(
        self, decoder: LlamaDecoder, shared: Sequence[int], prompts: Sequence[Prompt], max_tokens: int
    ) -> None:
        super().__init__(len(prompts), max_tokens)
        shape = Shape(len(prompts), len(shared), len(prompts[0].tokens), max_tokens)
        lane = decoder.take_lane(shape)
        weakref.finalize(self, decoder.give_back, lane)
        self._memory, self._step = lane.memory, lane.step
        self._memory.set_batch(shape, torch.tensor([prompt.padding for prompt in prompts]))
        ids = torch.tensor([*shared, *(token for prompt in prompts for token in prompt.tokens)], device=decoder.device)
        self._logits, best = decoder.read(self._memory, shape, ids)
        self._best = best.cpu().numpy()

    def _feed_each(self, tokens: Sequence[int]) -> None:
        self._memory.set_appended(self._appended)
        self._logits, best = self._step(torch.tensor(list(tokens), device=self._logits.device))
        self._best = best.cpu().numpy()

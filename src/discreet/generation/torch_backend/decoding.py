"""Decoding in lock-step with a model of the transformers library: one batch, one KV cache, CPU and CUDA.

`generate()` is not used, and none of its defaults (temperature, top-k, penalties) changes a logit. Rows do not depend
on each other, because:

- every prompt has the same public length, so shapes follow the question and the settings alone;
- the attention mask is built here, in four dimensions, and always given. The library would otherwise omit it if no
  row has padding, and one document can change that;
- the number of rows is constant, rows are fed in blocks of a constant number, and kernels are deterministic.

Measured on 2 cores with bfloat16 instructions, SmolLM2-135M, 41 rows of 200 tokens: bfloat16 is 2 to 3 times faster
than float32, both in prefill and a step (docs/results/performance.md).
Elsewhere models compute in float32 (numerics/dtype.py).
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
import transformers

from discreet.generation.model import Prompt
from discreet.generation.torch_backend.kv_cache import ATTENTION, LockstepCache, attend
from discreet.generation.torch_backend.lockstep_batch import LockstepBatch

_BLOCK = {"cpu": 1_400, "cuda": 16_384}
"""The most tokens of a block. On a CPU, blocks of twice the size were faster in one process and slower in another."""


class LockstepDecoding(LockstepBatch):
    """A batch of prompts of one length that are continued in lock-step."""

    def __init__(self, model: Any, shared: Sequence[int], prompts: Sequence[Prompt], max_tokens: int) -> None:
        super().__init__(len(prompts), max_tokens)
        self._model = model
        self._length, self._shared_length = len(prompts[0].tokens), len(shared)
        self._cache = LockstepCache(self._rows, self._length + max_tokens, split=install_lockstep_attention(model))
        self._given = self._cache.given_to(model)
        self._padding = torch.tensor([prompt.padding for prompt in prompts], device=model.device)  # (rows,)
        if shared:  # fed once for all rows
            places = torch.arange(len(shared), device=model.device)
            ids = torch.tensor([list(shared)], device=model.device)
            self._forward(ids, (places[:, None] >= places[None, :])[None], places[None, :])
        self._see(self._feed(prompts))

    def _feed_each(self, tokens: Sequence[int]) -> None:
        place = self._length + self._appended
        self._cache.feed_token(place)
        places = torch.arange(self._length + self._max_tokens, device=self._padding.device)
        own = (places[None, :] >= self._padding[:, None]) & (places[None, :] <= place)  # (rows, room)
        self._see(
            self._forward(
                torch.tensor(tokens, device=own.device)[:, None],  # (rows, 1)
                self._with_shared(own[:, None, :]),
                (self._shared_length + place - self._padding)[:, None],
            )
        )

    def _feed(self, prompts: Sequence[Prompt]) -> torch.Tensor:
        """Feed the prompts in blocks of one size; the last block is filled with copies of the last prompt."""
        device = self._padding.device
        most = max(1, _BLOCK.get(device.type, _BLOCK["cpu"]) // self._length)
        block = -(-self._rows // -(-self._rows // most))  # as even as possible: few copies fill the last block
        filled = [*prompts, *[prompts[-1]] * (-self._rows % block)]
        places = torch.arange(self._length, device=device)
        found = []
        for first in range(0, self._rows, block):
            fed = filled[first : first + block]
            padding = torch.tensor([prompt.padding for prompt in fed], device=device)[:, None]  # (block, 1)
            real = places[None, :] >= padding
            # A padding token attends to itself and the shared part, as no row of the mask may be empty.
            own = (real[:, None, :] & (places[:, None] >= places[None, :])) | torch.eye(
                self._length, dtype=torch.bool, device=device
            )
            self._cache.feed_rows(first)
            found.append(
                self._forward(
                    torch.tensor([prompt.tokens for prompt in fed], device=device),
                    self._with_shared(own),
                    self._shared_length + (places[None, :] - padding).clamp(min=0),
                )
            )
        logits: torch.Tensor = torch.cat(found)
        return logits[: self._rows]

    def _with_shared(self, own: torch.Tensor) -> torch.Tensor:
        """Return the mask of the own part, shape (rows, queries, keys), with the whole shared part before it."""
        padded: torch.Tensor = torch.nn.functional.pad(own, (self._shared_length, 0), value=True)
        return padded

    def _forward(self, ids: torch.Tensor, seen: torch.Tensor, positions: torch.Tensor) -> torch.Tensor:
        """Return the logits after the last of `ids`, shape (rows, vocabulary)."""
        with torch.inference_mode():
            output = self._model(**self._inputs(ids, seen, positions), logits_to_keep=1)
        logits: torch.Tensor = output.logits[:, -1]
        return logits

    def _inputs(self, ids: torch.Tensor, seen: torch.Tensor, positions: torch.Tensor) -> dict[str, Any]:
        """Return the arguments of a call of the model."""
        dtype = self._model.dtype
        mask = torch.zeros(seen.shape, dtype=dtype, device=ids.device).masked_fill_(~seen, torch.finfo(dtype).min)
        return {
            "input_ids": ids,
            "attention_mask": mask[:, None],  # (rows, 1, queries, keys)
            "position_ids": positions,
            **self._given,
        }

    def _see(self, logits: torch.Tensor) -> None:
        self._logits = logits
        if logits.device.type == "cpu":  # NumPy takes the first of equal maxima; torch promises none
            self._best = np.argmax(logits.float().numpy(), axis=1).astype(np.int64)
        else:
            self._best = first_maxima(logits).cpu().numpy()


def first_maxima(logits: torch.Tensor) -> torch.Tensor:
    """Return the place of the first of the largest numbers of each row, computed where the numbers are.

    A GPU would otherwise send all logits of a step to the processor.
    """
    places = torch.arange(logits.shape[1], device=logits.device)
    last = places[-1]  # of a row that is not a number
    return torch.where(logits == logits.amax(dim=1, keepdim=True), places, last).amin(dim=1)


def install_lockstep_attention(model: Any) -> bool:
    """Install the lock-step attention in a model with plain attention; return whether it is installed."""
    # A model with special attention (soft caps, sinks, other positions) does not declare support for the plain one.
    plain = bool(getattr(model, "_supports_sdpa", False) and getattr(model, "_supports_attention_backend", False))
    if plain and model.config._attn_implementation != ATTENTION:
        transformers.AttentionInterface.register(ATTENTION, attend)
        model.set_attn_implementation(ATTENTION)
    return plain

"""The negative log-likelihood of each token of a text under a model of the transformers library."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from discreet.generation.model import Logits, Prompt
from discreet.generation.torch_backend.decoding import LockstepCache, install_lockstep_attention, make_mask

_BLOCK = 8
"""The constant number of rows in a block. Another number could change the rounding of a row."""


def token_nll(model: Any, shared: Sequence[int], prompts: Sequence[Prompt]) -> Logits:
    """Return minus the log-probability of each token of `prompts`, shape (rows, length)."""
    filled = [*prompts, *[prompts[-1]] * (-len(prompts) % _BLOCK)]
    blocks = [_of_block(model, shared, filled[first : first + _BLOCK]) for first in range(0, len(filled), _BLOCK)]
    joined: Logits = np.concatenate(blocks)[: len(prompts)]
    return joined


def _of_block(model: Any, shared: Sequence[int], prompts: Sequence[Prompt]) -> Logits:
    device, length, before = model.device, len(prompts[0].tokens), len(shared)
    cache = LockstepCache(len(prompts), length, split=install_lockstep_attention(model))
    places = torch.arange(before, device=device)
    after_shared = _logits(
        model,
        cache,
        torch.tensor([list(shared)], device=device),
        (places[:, None] >= places[None, :])[None],
        places[None, :],
        places[None, :],
    )[:, -1:]
    padding = torch.tensor([prompt.padding for prompt in prompts], device=device)[:, None]
    places = torch.arange(length, device=device)
    real = places[None, :] >= padding
    themselves = torch.eye(length, dtype=torch.bool, device=device)  # no row of the mask may be empty
    own = (real[:, None, :] & (places[:, None] >= places[None, :])) | themselves
    ids = torch.tensor([prompt.tokens for prompt in prompts], device=device)
    cache.feed_rows(0)
    seen = torch.nn.functional.pad(own, (before, 0), value=True)
    positions = before + (places[None, :] - padding).clamp(min=0)
    keys = torch.cat([torch.arange(before, device=device).expand(len(positions), -1), positions], dim=1)
    logits = _logits(model, cache, ids, seen, positions, keys)
    # The token before the first real token is the last shared one, not the padding.
    first = _normalizer(after_shared) - after_shared[0, 0].float()[ids]
    later = _normalizer(logits) - logits.gather(2, ids.roll(-1, dims=1)[..., None])[..., 0].float()
    array: Logits = torch.where(places[None, :] == padding, first, later.roll(1, dims=1)).cpu().numpy()
    return array


def _normalizer(logits: torch.Tensor) -> torch.Tensor:
    """Return the log-normalizer of logits, shape (rows, places); one row at a time saves memory."""
    return torch.stack([row.float().logsumexp(1) for row in logits])


def _logits(
    model: Any,
    cache: LockstepCache,
    ids: torch.Tensor,
    seen: torch.Tensor,
    positions: torch.Tensor,
    keys: torch.Tensor,
) -> torch.Tensor:
    """Return the logits of the token after each place, shape (rows, places, vocabulary)."""
    with torch.inference_mode():
        output = model(
            input_ids=ids,
            attention_mask=make_mask(model, seen, positions, keys),  # always given, even without padding
            position_ids=positions,
            **cache.given_to(model),
        )
        logits: torch.Tensor = output.logits
        return logits

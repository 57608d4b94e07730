"""What a transformers model says of each token of given texts: its negative log-likelihood, and its hidden states.

kNN-LM looks contexts up by their states. Only the output layer may come between a state and its logits.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from discreet.errors import UsageError
from discreet.models import lockstep
from discreet.models.lockstep import LockstepCache, install_lockstep_attention, make_mask
from discreet.models.protocol import Logits, Prompt, States

# --- negative log-likelihoods -----------------------------------------------------------------------------------------


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


# --- hidden states ----------------------------------------------------------------------------------------------------


_STATE_BLOCK = 8
"""The number of rows in a block."""
_TRIED, _NEAR = 8, 0.01
"""The number of tokens in the check, and the tolerated rounding error relative to the largest logit."""


class StatefulDecoding(lockstep.LockstepDecoding):
    """Decoding in lock-step that also keeps the hidden state of each row."""

    def states(self) -> States:
        """Return the state from which the model predicts the next token of each row, shape (rows, size)."""
        array: States = self._states.float().cpu().numpy()
        return array

    def _forward(
        self, ids: torch.Tensor, seen: torch.Tensor, positions: torch.Tensor, keys: torch.Tensor
    ) -> torch.Tensor:
        """Return the states after the last of `ids`, shape (rows, size)."""
        with torch.inference_mode():
            output = self._model.base_model(**self._inputs(ids, seen, positions, keys))
        states: torch.Tensor = output.last_hidden_state[:, -1]
        return states

    def _see(self, logits: torch.Tensor) -> None:
        self._states = logits
        with torch.inference_mode():
            super()._see(self._model.get_output_embeddings()(logits))


def hidden_states(model: Any, prompts: Sequence[Prompt]) -> States:
    """Return the state after each token of prompts of one length, shape (rows, length, size)."""
    blocks = [
        _states_of_block(model, prompts[first : first + _STATE_BLOCK]) for first in range(0, len(prompts), _STATE_BLOCK)
    ]
    return np.concatenate(blocks)


def predict(model: Any, states: States) -> Logits:
    """Return the logits of the token after each state, shape (states, vocabulary)."""
    with torch.inference_mode():
        logits = model.get_output_embeddings()(torch.from_numpy(states).to(model.device, model.dtype))
    array: Logits = logits.float().cpu().numpy()
    return array


def check_output(model: Any) -> None:
    """Check that logits follow from states by the output layer alone.

    Raises:
        UsageError: if the model bounds or scales the logits of its output layer.
    """
    prompt = [Prompt(tuple(range(_TRIED)), 0)]
    said, computed = (kind(model, (), prompt, 1).logits() for kind in (lockstep.LockstepDecoding, StatefulDecoding))
    if np.abs(said - computed).max() > _NEAR * np.abs(said).max():
        raise UsageError(
            "This model does more to its logits than its output layer says (it bounds or scales them), so its states "
            "cannot be mixed with neighbours. Take another model for knn-lm."
        )


def _states_of_block(model: Any, prompts: Sequence[Prompt]) -> States:
    device, length = model.device, len(prompts[0].tokens)
    cache = lockstep.LockstepCache(len(prompts), length, split=lockstep.install_lockstep_attention(model))
    cache.feed_rows(0)
    padding = torch.tensor([prompt.padding for prompt in prompts], device=device)[:, None]
    places = torch.arange(length, device=device)
    themselves = torch.eye(length, dtype=torch.bool, device=device)  # no row of the mask may be empty
    seen = ((places[None, :] >= padding)[:, None, :] & (places[:, None] >= places[None, :])) | themselves
    positions = (places[None, :] - padding).clamp(min=0)
    with torch.inference_mode():
        output = model.base_model(
            input_ids=torch.tensor([prompt.tokens for prompt in prompts], device=device),
            attention_mask=lockstep.make_mask(model, seen, positions, positions),
            position_ids=positions,
            **cache.given_to(model.base_model),
        )
    array: States = output.last_hidden_state.float().cpu().numpy()
    return array

"""The hidden states of the last layer of a transformers model.

kNN-LM looks contexts up by their states. Only the output layer may come between a state and its logits.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from discreet.errors import UsageError
from discreet.generation.model import Logits, Prompt, States
from discreet.generation.torch_backend import decoding

_BLOCK = 8
"""The number of rows in a block."""
_TRIED, _NEAR = 8, 0.01
"""The number of tokens in the check, and the tolerated rounding error relative to the largest logit."""


class StatefulDecoding(decoding.LockstepDecoding):
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
    blocks = [_of_block(model, prompts[first : first + _BLOCK]) for first in range(0, len(prompts), _BLOCK)]
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
    said, computed = (kind(model, (), prompt, 1).logits() for kind in (decoding.LockstepDecoding, StatefulDecoding))
    if np.abs(said - computed).max() > _NEAR * np.abs(said).max():
        raise UsageError(
            "This model does more to its logits than its output layer says (it bounds or scales them), so its states "
            "cannot be mixed with neighbours. Take another model for knn-lm."
        )


def _of_block(model: Any, prompts: Sequence[Prompt]) -> States:
    device, length = model.device, len(prompts[0].tokens)
    cache = decoding.LockstepCache(len(prompts), length, split=decoding.install_lockstep_attention(model))
    cache.feed_rows(0)
    padding = torch.tensor([prompt.padding for prompt in prompts], device=device)[:, None]
    places = torch.arange(length, device=device)
    themselves = torch.eye(length, dtype=torch.bool, device=device)  # no row of the mask may be empty
    seen = ((places[None, :] >= padding)[:, None, :] & (places[:, None] >= places[None, :])) | themselves
    positions = (places[None, :] - padding).clamp(min=0)
    with torch.inference_mode():
        output = model.base_model(
            input_ids=torch.tensor([prompt.tokens for prompt in prompts], device=device),
            attention_mask=decoding.make_mask(model, seen, positions, positions),
            position_ids=positions,
            **cache.given_to(model.base_model),
        )
    array: States = output.last_hidden_state.float().cpu().numpy()
    return array

"""Decide whether a model is computed by the forward pass of this package, and check it on public rows."""

import importlib.util
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.generation.model import Logits, Prompt, ScoredDecoding

if TYPE_CHECKING:
    from discreet.generation.gpu_backend.decoder import LlamaDecoder

KINDS = ("llama", "mistral", "qwen2")
"""Types of models with these layers: root-mean-square norms, rotated halves, grouped heads, a gate with SiLU."""
_ROTATIONS = ("default", "linear", "llama3")
"""Ways of rotation in which the angle depends on the position alone."""
_NEAR = 0.2
"""The tolerated rounding error, relative to the size of all logits. Another formula differs by 1 or so."""
_ROWS, _LENGTH, _SHARED, _STEPS = 41, 187, 328, 2
"""The shape of the public rows: that of a question with 40 voters."""


def open_decoder(model: Any) -> "LlamaDecoder | None":
    """Return the faster forward pass of a model, or None if it has none: the library's then computes.

    It is used on a GPU with Triton, for a Llama model of its usual form, if it agrees with the library on public rows,
    and if equal public rows have equal results.

    Args:
        model: a model of the transformers library, on its device.
    """
    if model.device.type != "cuda" or importlib.util.find_spec("triton") is None or not is_plain_llama(model):
        return None
    from discreet.generation.gpu_backend.decoder import LlamaDecoder

    decoder = LlamaDecoder(model)
    if not decoder.has_room(_ROWS, _SHARED, _LENGTH, _STEPS):
        return None
    return decoder if agrees(model, decoder) and has_independent_rows(decoder) else None


def is_plain_llama(model: Any) -> bool:
    """Return whether all layers of a model are those that decoder.py computes, with weights as they are."""
    config: Any = model.config
    rotation = getattr(config, "rope_parameters", None) or {}
    return bool(
        config.model_type in KINDS
        and getattr(config, "hidden_act", None) == "silu"
        and rotation.get("rope_type", "default") in _ROTATIONS
        and rotation.get("partial_rotary_factor", 1.0) == 1.0
        and not _window(config)
        and all(_is_plain_layer(part, model.dtype) for part in model.model.layers)
    )


def _is_plain_layer(part: Any, dtype: Any) -> bool:
    """Return whether the products of a layer are plain, not quantized, and have biases at most for queries and keys."""
    import torch

    asking = (part.self_attn.q_proj, part.self_attn.k_proj, part.self_attn.v_proj)
    others = (part.self_attn.o_proj, part.mlp.gate_proj, part.mlp.up_proj, part.mlp.down_proj)
    return (
        all(type(product) is torch.nn.Linear and product.weight.dtype == dtype for product in (*asking, *others))
        and all(product.bias is None for product in others)
        and len({product.bias is None for product in asking}) == 1
    )


def _window(config: Any) -> int | None:
    """Return the size of a sliding window; models that have one and do not use it say so by a flag."""
    return getattr(config, "sliding_window", None) if getattr(config, "use_sliding_window", True) else None


def agrees(model: Any, decoder: "LlamaDecoder") -> bool:
    """Return whether the logits of public rows are those of the library, but for rounding."""
    from discreet.generation.gpu_backend.decoding import FusedDecoding
    from discreet.generation.torch_backend.decoding import LockstepDecoding

    shared, prompts = _public_rows(int(model.config.vocab_size))
    few = prompts[:3]
    expected = _logits(LockstepDecoding(model, shared, few, _STEPS))
    found = _logits(FusedDecoding(decoder, shared, few, _STEPS))
    return bool(np.linalg.norm(found - expected) <= _NEAR * np.linalg.norm(expected))


def has_independent_rows(decoder: "LlamaDecoder") -> bool:
    """Return whether public rows keep their bits in another order, and beside an exchanged row."""
    from discreet.generation.gpu_backend.decoding import FusedDecoding

    shared, prompts = _public_rows(decoder.vocabulary)
    exchanged = [Prompt(tuple(reversed(prompts[0].tokens)), 0), *prompts[1:]]

    def read(rows: Sequence[Prompt]) -> Logits:
        return _logits(FusedDecoding(decoder, shared, rows, _STEPS))

    expected = read(prompts)
    return np.array_equal(read(prompts[::-1])[:, ::-1], expected) and np.array_equal(
        read(exchanged)[:, 1:], expected[:, 1:]
    )


def _public_rows(vocabulary: int) -> tuple[list[int], list[Prompt]]:
    """Return shared tokens and prompts with padding of several lengths."""
    most = min(vocabulary, 1000)
    prompts = []
    for row in range(_ROWS):
        padding = 3 * row
        tokens = [(7 * row + 3 * place + 1) % most for place in range(_LENGTH)]
        prompts.append(Prompt((0,) * padding + tuple(tokens[padding:]), padding))
    return [(5 * place + 2) % most for place in range(_SHARED)], prompts


def _logits(decoding: ScoredDecoding) -> Logits:
    """Return the logits after the prompts and after each of some tokens, shape (steps + 1, rows, vocabulary)."""
    found = [decoding.logits()]
    for token in range(_STEPS):
        decoding.append(token + 3)
        found.append(decoding.logits())
    joined: Logits = np.stack(found)
    return joined

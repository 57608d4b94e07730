"""Decide whether a model is computed by the forward pass of this package, and check it on public rows."""

import importlib.util
import sys
from typing import TYPE_CHECKING, Any

from discreet.models.row_check import STEPS, Shape, agree, public_rows, read_logits

if TYPE_CHECKING:
    from discreet_lab.gpu_decoder.decoder import LlamaDecoder

KINDS = ("llama", "mistral", "qwen2")
"""Types of models with these layers: root-mean-square norms, rotated halves, grouped heads, a gate with SiLU."""
_ROTATIONS = ("default", "linear", "llama3")
"""Ways of rotation in which the angle depends on the position alone."""
_USUAL = Shape(rows=41, shared=328, length=187, steps=STEPS)
"""The shape of the public rows: that of a question with 40 voters."""
_FEW = (0, 20, 40)
"""The rows that the library computes for the comparison: with little padding and with much."""


def find_obstacle(model: Any) -> str:
    """Return why a model has no faster forward pass on a GPU; "" if nothing in its layers speaks against it.

    Args:
        model: a model of the transformers library, or its outline without weights.
    """
    config: Any = model.config
    rotation = getattr(config, "rope_parameters", None) or {}
    if config.model_type not in KINDS:
        return f"its type, {config.model_type}, is none of {', '.join(KINDS)}"
    if getattr(config, "hidden_act", None) != "silu":
        return f"its activation is {getattr(config, 'hidden_act', None)}, not silu"
    if rotation.get("rope_type", "default") not in _ROTATIONS or rotation.get("partial_rotary_factor", 1.0) != 1.0:
        return f"its positions turn in another way ({rotation.get('rope_type')})"
    if _window(config):
        return f"its layers see a window of {_window(config)} tokens"
    plain = all(_is_plain_layer(part, model.dtype) for part in model.model.layers)
    if not plain or not _is_plain(model.get_output_embeddings(), model.dtype):
        return "some of its products are quantized, adapted, or have a further bias"
    return "" if importlib.util.find_spec("triton") else "Triton is not installed"


def open_decoder(model: Any, usual: Shape = _USUAL) -> "LlamaDecoder | None":
    """Return the faster forward pass of a model, or None if it has none: the library's then computes.

    It is used on a GPU with Triton, for a Llama model of its usual form, if it agrees with the library on public rows,
    and if public rows are independent. If it fails there, that is said on standard error.

    Args:
        model: a model of the transformers library, on its device.
        usual: the shape of the public rows.
    """
    if not is_on_gpu(model) or find_obstacle(model):
        return None
    try:
        from discreet_lab.gpu_decoder.decoder import LlamaDecoder

        decoder = LlamaDecoder(model)
        if not decoder.has_room(usual):
            return None
        reason = "" if agrees(model, decoder, usual) else "its logits for public rows are not the library's"
        reason = reason or ("" if decoder.is_checked(usual) else "public rows depend on each other")
    except Exception as error:  # as without a C compiler for Triton, or without memory; only public rows were computed
        reason = f"{type(error).__name__}: {str(error).partition(chr(10))[0][:200]}"
    if reason:
        print(
            f"The faster forward pass on a GPU is not used for this model ({reason}). The library computes it instead, "
            "5 to 24 times slower. See docs/models.md, 'On a GPU'.",
            file=sys.stderr,
            flush=True,
        )
        return None
    return decoder


open_decoder.obstacle = find_obstacle  # type: ignore[attr-defined]  # for `discreet doctor --model`


def is_on_gpu(model: Any) -> bool:
    """Return whether a model is on a GPU."""
    return bool(model.device.type == "cuda")


def _is_plain_layer(part: Any, dtype: Any) -> bool:
    """Return whether the products of a layer are plain, not quantized, and have biases at most for queries and keys."""
    asking = (part.self_attn.q_proj, part.self_attn.k_proj, part.self_attn.v_proj)
    others = (part.self_attn.o_proj, part.mlp.gate_proj, part.mlp.up_proj, part.mlp.down_proj)
    return (
        all(_is_plain(product, dtype) for product in (*asking, *others))
        and all(product.bias is None for product in others)
        and len({product.bias is None for product in asking}) == 1
    )


def _is_plain(product: Any, dtype: Any) -> bool:
    """Return whether a product has plain weights: a quantized or adapted one has another class."""
    import torch

    return type(product) is torch.nn.Linear and product.weight.dtype == dtype


def _window(config: Any) -> int | None:
    """Return the size of a sliding window; models that have one and do not use it say so by a flag."""
    return getattr(config, "sliding_window", None) if getattr(config, "use_sliding_window", True) else None


def agrees(model: Any, decoder: "LlamaDecoder", shape: Shape) -> bool:
    """Return whether the logits of public rows are those of the library, but for rounding."""
    from discreet.models.lockstep import LockstepDecoding
    from discreet_lab.gpu_decoder.decoder import FusedDecoding

    shared, prompts = public_rows(decoder.vocabulary, shape)
    few = [prompts[row % shape.rows] for row in _FEW]
    expected = read_logits(LockstepDecoding(model, shared, few, STEPS))
    return agree(read_logits(FusedDecoding(decoder, shared, few, STEPS)), expected)

"""What the configuration of a model of the transformers library tells: how long and how it can be decoded in lock-step.

Nothing is loaded. Rows must not depend on each other (`discreet.numerics`), and lock-step decoding must compute what
the library computes. A configuration tells of three things that break one or the other: experts, layers with another
memory than keys and values, and positions that turn otherwise in a long sequence.
"""

from collections.abc import Mapping
from typing import Any

WINDOWED = {"mistral": False, "phi3": False, "qwen2": True, "qwen3": True, "gemma2": True, "gemma3_text": True}
"""The types of models whose windows lock-step decoding computes, and whether layers with and without one are mixed."""
TESTED = frozenset(("opt", "gpt_neox", "gpt2", "llama", *WINDOWED))
"""The types of models whose lock-step decoding is tested against the library's plain forward pass."""
_EXPERTS = ("num_experts", "num_local_experts", "n_routed_experts", "moe_num_experts")
_LAYERS = frozenset(("full_attention", "sliding_attention"))
_SWITCHING = ("dynamic", "longrope")
"""Rotations whose angles depend on the longest position of a call, so on other rows: they are kept from switching."""


def find_window(config: Any) -> int | None:
    """Return how many of the last tokens a layer with a window sees; None if no layer has one."""
    config = config.get_text_config()
    layers = getattr(config, "layer_types", None)
    size = getattr(config, "sliding_window", None)
    return int(size) if size and (not layers or "sliding_attention" in layers) else None


def find_context(config: Any) -> int:
    """Return the longest sequence in tokens.

    It ends where the angles of positions would switch, and at a window that lock-step decoding does not compute.
    """
    config = config.get_text_config()
    limits = [getattr(config, "max_position_embeddings", None)]
    limits += [one.get("original_max_position_embeddings") for one in _rotations(config) if _switches(one)]
    if config.model_type not in WINDOWED:
        limits.append(find_window(config))
    return min((int(limit) for limit in limits if limit), default=2048)


def find_obstacle(config: Any) -> str:
    """Return why no vault can use such a model; "" if nothing in its configuration speaks against it."""
    config = config.get_text_config()
    if getattr(config, "is_encoder_decoder", False):
        return "it has an encoder, and lock-step decoding feeds a decoder alone"
    if any((getattr(config, name, None) or 0) > 1 for name in _EXPERTS):
        return "its experts compute the tokens of all rows together, so that a document changes the rounding of others"
    if others := sorted(set(getattr(config, "layer_types", None) or ()) - _LAYERS):
        return f"its layers of the type {', '.join(others)} keep more than keys and values"
    return ""


def find_doubt(config: Any) -> str:
    """Return why each shape of a batch is checked on public rows before its first use; "" if none needs a check."""
    if config.model_type not in TESTED:
        return f"models of the type {config.model_type} are not among those that are tested"
    if any(getattr(config.get_text_config(), f"{place}_softcapping", None) for place in ("attn_logit", "final_logit")):
        return "it bounds its scores by a function that may round by the place of a number"
    return ""


def _rotations(config: Any) -> list[Mapping[str, Any]]:
    given = getattr(config, "rope_parameters", None) or {}
    return [one for one in (given, *given.values()) if isinstance(one, Mapping)]


def _switches(rotation: Mapping[str, Any]) -> bool:
    return any(kind in str(rotation.get("rope_type", "")) for kind in _SWITCHING)

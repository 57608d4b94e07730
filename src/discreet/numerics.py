"""The arithmetic of models: bitwise independent of a row's position in the batch, in bfloat16 or float32.

Removing one unit shifts the rows behind it. The sensitivity analysis assumes that this changes no other output. Two
effects break the assumption, and are prevented here:

- The Intel math library multiplies in float32. With two threads and 5 to 11 rows, its rounding depends on a row's
  position. The variable MKL_CBWR prevents this if it is set before the first use; `import discreet` sets it.
- torch divides an elementwise step among threads without regard to where rows end. It computes the last numbers of a
  thread one by one, by an exponential or a cosine that rounds differently from the vectorized one. This happens with
  five or more threads, and with fewer if a row's width is not a multiple of their number.

A CPU without instructions for bfloat16 emulates it. On one core of a Zen 3 (AVX2), bfloat16 is then 0.11 to 0.13 times
as fast as float32 (docs/results/index.md).
"""

import hashlib
import os
import pickle
from collections.abc import Callable, Mapping
from inspect import signature
from typing import Any

from discreet.errors import BadData, DiscreetError

INSTRUCTIONS = ("avx512_bf16", "amx_bf16", "bf16")  # of x86, of x86 with a matrix unit, of ARM
"""The names of instructions for bfloat16 in torch."""


def compute_dtype(device: str = "cpu") -> Any:
    """Return the torch.dtype for a model on "cpu" or "cuda", by what torch reports. A timing would vary."""
    import torch

    if device.startswith("cuda"):
        fast = torch.cuda.is_bf16_supported(including_emulation=False)
    else:
        fast = has_bfloat16_instructions(torch.cpu.get_capabilities())
    return torch.bfloat16 if fast else torch.float32


def has_bfloat16_instructions(capabilities: Mapping[str, Any]) -> bool:
    """Return whether a processor has instructions for bfloat16, by its capabilities as torch names them."""
    return any(capabilities.get(name) for name in INSTRUCTIONS)


_ROWS = (3, 5, 7, 8, 11, 32, 41)
_TOKENS = 199
_ALONE = 32768  # torch computes fewer numbers than this in one thread
_TOGETHER = 64  # a multiple of the vector width of any processor
_ACTIVATIONS = ("Activation", "GELU", "GELUTanh", "SiLU", "Sigmoid", "Tanh", "Mish")  # suffixes of class names
_HELP = {
    "cpu": (
        "Import discreet before anything else computes, or set MKL_CBWR=AUTO,STRICT before Python starts; if neither "
        "helps, answer private questions on another machine."
    ),
    "cuda": "Hide the GPU, so that the CPU computes: CUDA_VISIBLE_DEVICES= (empty).",
}


def choose_kernels_by_shape() -> None:
    """Let torch choose kernels by shapes alone, in this process."""
    import torch

    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # cuBLAS needs it, before its first use
    torch.use_deterministic_algorithms(True, warn_only=True)
    # By default this also fills each new tensor, which takes a sixth of an answer's time; the values are never read.
    deterministic: Any = torch.utils.deterministic
    deterministic.fill_uninitialized_memory = False


def enforce_row_determinism(model: Any) -> None:
    """Patch a model so that a row does not depend on its position, and check this machine on public rows.

    The function covers matrix products, fused attention, activation modules and rotary position embeddings. Other
    functions that a model calls, such as its own exponential of attention scores, are not covered; the packaged models
    call none.

    Raises:
        DiscreetError: if a row depends on its position on this machine. The guarantees would not hold.
    """
    for step in _activations(model):
        step.forward = apply_by_whole_rows(step.forward)
    for step in _rotaries(model):
        step.forward = rotate_row_by_row(step.forward)
    check_matrix_products(model)
    check_attention(model)
    check_elementwise_steps(model)


def apply_by_whole_rows(activate: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return the same activation, applied to pieces of whole rows, each small enough for one thread."""

    def pieces(numbers: Any) -> Any:
        width = numbers.shape[-1]
        rows = numbers.reshape(-1, width)
        # Several rows at once only if no row ends with numbers that torch computes one by one.
        each = max(1, (_ALONE - 1) // width) if width % _TOGETHER == 0 else 1
        if len(rows) <= each or rows.device.type != "cpu":  # a GPU computes every number in the same way
            return activate(numbers)
        result = rows.new_empty(rows.shape)
        for first in range(0, len(rows), each):
            result[first : first + each] = activate(rows[first : first + each])
        return result.reshape(numbers.shape)

    return pieces


def rotate_row_by_row(turn: Callable[..., tuple[Any, Any]]) -> Callable[..., tuple[Any, Any]]:
    """Return the same function for cosines and sines of positions, shape (rows, tokens), applied row by row."""

    def turned(x: Any, position_ids: Any, *others: Any, **named: Any) -> tuple[Any, Any]:
        import torch

        if position_ids.dim() != 2 or len(position_ids) == 1 or position_ids.device.type != "cpu":
            return turn(x, position_ids, *others, **named)
        rotated = [turn(x, row, *others, **named) for row in position_ids.split(1)]
        return torch.cat([cosines for cosines, _ in rotated]), torch.cat([sines for _, sines in rotated])

    return turned


def _activations(model: Any) -> list[Any]:
    return [part for part in model.modules() if type(part).__name__.endswith(_ACTIVATIONS)]


def _rotaries(model: Any) -> list[Any]:
    """Return the modules that map positions to cosines and sines only; other modules are not patched."""
    named = [part for part in model.modules() if type(part).__name__.endswith("RotaryEmbedding")]
    return [part for part in named if _pair_of(part)]


def _pair_of(rotary: Any) -> bool:
    import torch

    names = list(signature(type(rotary).forward).parameters)
    if names not in (["self", "x", "position_ids"], ["self", "x", "position_ids", "layer_type"]):
        return False
    with torch.inference_mode():
        device = next((held.device for held in rotary.buffers()), None)
        places = torch.zeros(1, 1, dtype=torch.int64, device=device)
        angles = rotary(torch.zeros(1, device=device), places, **_layer_kind(rotary))
    return isinstance(angles, tuple) and len(angles) == 2


def _layer_kind(rotary: Any) -> dict[str, str]:
    """Return the further argument of an embedding that turns positions by the kind of a layer."""
    kinds = getattr(rotary, "layer_types", None)
    return {"layer_type": sorted(kinds)[0]} if kinds else {}


def check_elementwise_steps(model: Any) -> None:
    """Apply activations and rotary embeddings to equal rows, and compare the results bit for bit.

    Raises:
        DiscreetError: if a row depends on its position.
    """
    import torch

    some = next(model.parameters())
    widths = {weight.shape[1] for weight in model.parameters() if weight.dim() == 2}
    steps = {type(step): step for step in _activations(model)}
    with torch.inference_mode():
        for width in widths:
            row = torch.sin(torch.arange(_TOKENS * width, dtype=torch.float64)).reshape(1, _TOKENS, width).to(some)
            for step in steps.values():
                _check_alike(step(2 * row.repeat(7, 1, 1)))
        places = torch.arange(_TOKENS, device=some.device).repeat(7, 1)
        for step in _rotaries(model)[:1]:
            for result in step(some, places, **_layer_kind(step)):
                _check_alike(result)


def check_attention(model: Any) -> None:
    """Apply fused attention to equal rows, with heads of the model's sizes, and compare the results bit for bit.

    Raises:
        DiscreetError: if a row depends on its position.
    """
    import torch

    heads, groups, size = _head_sizes(model)
    some = next(model.parameters())
    with torch.inference_mode():
        numbers = torch.sin(torch.arange(_TOKENS * (heads + 2 * groups) * size, dtype=torch.float64)).to(some)
        row = numbers.reshape(1, heads + 2 * groups, _TOKENS, size).repeat(7, 1, 1, 1)
        query, key, value = row[:, :heads], row[:, heads : heads + groups], row[:, heads + groups :]
        mask = torch.full((_TOKENS, _TOKENS), torch.finfo(some.dtype).min).triu(1).to(some)
        _check_alike(
            torch.nn.functional.scaled_dot_product_attention(
                query, key, value, attn_mask=mask.expand(7, 1, -1, -1), enable_gqa=heads != groups
            )
        )


def _head_sizes(model: Any) -> tuple[int, int, int]:
    """Return the numbers of query heads and of key heads, and the size of a head; usual ones if they are unknown."""
    config: Any = getattr(model, "config", None)
    config = config.get_text_config() if hasattr(config, "get_text_config") else config
    if not isinstance(getattr(config, "num_attention_heads", None), int):
        return 4, 2, 64
    heads = int(config.num_attention_heads)
    groups = int(getattr(config, "num_key_value_heads", None) or heads)
    return heads, groups, int(getattr(config, "head_dim", None) or config.hidden_size // heads)


def _check_alike(rows: Any) -> None:
    if not bool((rows == rows[:1]).all()):
        raise DiscreetError(
            "On this machine, equal rows of a batch yield different results; a row depends on its place. A document "
            f"could change the output for others. {_HELP['cuda' if rows.is_cuda else 'cpu']}"
        )


def check_matrix_products(model: Any) -> None:
    """Multiply public rows by matrices of the model's shapes, in two orders, and compare bit for bit.

    Raises:
        DiscreetError: if a row depends on its position.
    """
    import torch

    shapes = {tuple(weight.shape): weight for weight in model.parameters() if weight.dim() == 2}
    with torch.inference_mode():
        for (_, width), weight in shapes.items():
            numbered = torch.arange(max(_ROWS) * width, dtype=torch.float64)
            rows = torch.sin(numbered).reshape(-1, width).to(weight)
            for count in _ROWS:
                straight = torch.nn.functional.linear(rows[:count], weight)
                turned = torch.nn.functional.linear(rows[:count].flip(0), weight).flip(0)
                if not torch.equal(straight, turned):
                    raise DiscreetError(
                        f"Among {count} rows, what this machine computes for one depends on its place (matrix of "
                        f"{weight.shape[0]} x {width}), so a document could change what is said of others. "
                        f"{_HELP['cuda' if weight.is_cuda else 'cpu']}"
                    )


def probe_machine() -> str:
    """Check products of public rows in the number type of this machine's models; return a digest of their bits.

    The matrix has the shape of one of the packaged model. No model is loaded.

    Raises:
        DiscreetError: if a row depends on its position.
    """
    import torch

    with torch.inference_mode():
        layer = torch.nn.Linear(576, 1536, bias=False).to(compute_dtype())
        numbers = torch.arange((max(_ROWS) + 1536) * 576, dtype=torch.float64).sin().reshape(-1, 576).to(layer.weight)
        layer.weight.copy_(numbers[max(_ROWS) :])
        check_matrix_products(layer)
        products = [layer(numbers[:count]).float().numpy().tobytes() for count in _ROWS]
    return hashlib.blake2b(b"".join(products), digest_size=16).hexdigest()


# --- what the configuration of a model tells, before anything is loaded -----------------------------------------------
# A configuration tells of three things that make rows depend on each other, or lock-step decoding compute something
# else than the library: experts, layers with another memory than keys and values, and positions that turn otherwise in
# a long sequence.

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


# --- weights ----------------------------------------------------------------------------------------------------------


def read_weights(from_pretrained: Callable[..., Any], name: str, folder: object, **given: Any) -> Any:
    """Return a model with its weights from safetensors, or else from `pytorch_model.bin`, read as numbers alone.

    Args:
        from_pretrained: the function of the transformers library.
        name: the name of the model, for the error.
        folder: its folder or hub name.
        given: further arguments of the function.

    Raises:
        OSError, ValueError: if there are no weights.
        BadData: if pickled weights hold more than numbers.
    """
    os.environ.setdefault("DISABLE_SAFETENSORS_CONVERSION", "1")  # the library would ask the hub to convert them
    try:
        return from_pretrained(folder, use_safetensors=True, **given)
    except OSError as error:
        try:
            return from_pretrained(folder, use_safetensors=False, weights_only=True, **given)
        except OSError:
            raise error from None
        except pickle.UnpicklingError:
            raise BadData(
                f"The weights of '{name}' are pickled (pytorch_model.bin) and hold more than numbers, which could run "
                "code. They were not read. Take the model from its publisher again, or one with safetensors."
            ) from None

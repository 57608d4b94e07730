"""A row stays what it is, wherever it stands among the others, in every bit: when a unit goes, those behind it move up.

Two things break that, and are kept from it here:

- Intel's library, which multiplies in float32, rounds by place with two threads and 5 to 11 rows, unless it is told not
  to before its first use.
- torch deals the numbers of an elementwise step to threads wherever a row ends, and works out the last few of each
  thread's by an exponential (a cosine) that rounds otherwise than the one for eight at a time. Seen with five threads
  and more, and with fewer where a row's width is no multiple of theirs.
"""

import os
from collections.abc import Callable
from inspect import signature
from typing import Any

from discreet.errors import DiscreetError

os.environ.setdefault("MKL_CBWR", "AUTO,STRICT")

_ROWS = (3, 5, 7, 8, 11, 32, 41)
_TOKENS = 199
_ALONE = 32768  # torch leaves fewer numbers than these to one thread
_TOGETHER = 64  # a multiple of how many numbers any processor works out at a time
_ACTIVATIONS = ("Activation", "GELU", "GELUTanh", "SiLU", "Sigmoid", "Tanh", "Mish")  # how their classes' names end
_HELP = {
    "cpu": (
        "Import discreet before anything else computes, or set MKL_CBWR=AUTO,STRICT before Python starts; if neither "
        "helps, answer private questions on another machine."
    ),
    "cuda": "Hide the GPU, so that the processor computes: CUDA_VISIBLE_DEVICES= (empty).",
}


def keep_rows(model: Any) -> None:
    """Have a model compute a row the same wherever it stands, and check on public rows that this machine does.

    Looked at are products with its matrices, activations that are parts of it, and rotations by position. What a model
    calls besides (an exponential of its own on attention scores) is not seen; the packaged models call nothing.

    Raises:
        DiscreetError: on this machine a row depends on its place: what the guarantees rest on does not hold.
    """
    for step in _activations(model):
        step.forward = in_pieces(step.forward)
    for step in _rotaries(model):
        step.forward = row_by_row(step.forward)
    check_products(model)
    check_steps(model)


def in_pieces(activate: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """The same activation, worked out in pieces of whole rows that torch leaves to one thread."""

    def pieces(numbers: Any) -> Any:
        width = numbers.shape[-1]
        rows = numbers.reshape(-1, width)
        # Several rows at once only where none of them ends with numbers that are worked out one by one.
        each = max(1, (_ALONE - 1) // width) if width % _TOGETHER == 0 else 1
        if len(rows) <= each or rows.device.type != "cpu":  # a GPU works out every number alike
            return activate(numbers)
        made = rows.new_empty(rows.shape)
        for first in range(0, len(rows), each):
            made[first : first + each] = activate(rows[first : first + each])
        return made.reshape(numbers.shape)

    return pieces


def row_by_row(turn: Callable[..., tuple[Any, Any]]) -> Callable[..., tuple[Any, Any]]:
    """The same cosines and sines of positions, shape (rows, tokens), worked out for each row by itself."""

    def turned(x: Any, position_ids: Any, *others: Any, **named: Any) -> tuple[Any, Any]:
        import torch

        if position_ids.dim() != 2 or len(position_ids) == 1 or position_ids.device.type != "cpu":
            return turn(x, position_ids, *others, **named)
        made = [turn(x, row, *others, **named) for row in position_ids.split(1)]
        return torch.cat([cosines for cosines, _ in made]), torch.cat([sines for _, sines in made])

    return turned


def _activations(model: Any) -> list[Any]:
    return [part for part in model.modules() if type(part).__name__.endswith(_ACTIVATIONS)]


def _rotaries(model: Any) -> list[Any]:
    """Those that make cosines and sines of positions alone; others are left as they are."""
    named = [part for part in model.modules() if type(part).__name__.endswith("RotaryEmbedding")]
    return [part for part in named if _pair_of(part)]


def _pair_of(rotary: Any) -> bool:
    import torch

    if list(signature(type(rotary).forward).parameters) != ["self", "x", "position_ids"]:
        return False
    with torch.inference_mode():
        device = next((held.device for held in rotary.buffers()), None)
        found = rotary(torch.zeros(1, device=device), torch.zeros(1, 1, dtype=torch.int64, device=device))
    return isinstance(found, tuple) and len(found) == 2


def check_steps(model: Any) -> None:
    """Work out activations and rotations of several rows that are the same, and compare bit for bit.

    Raises:
        DiscreetError: a row depends on its place.
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
            for found in step(some, places):
                _check_alike(found)


def _check_alike(rows: Any) -> None:
    if not bool((rows == rows[:1]).all()):
        raise DiscreetError(
            "Among rows that are the same, what this machine makes of one depends on its place, so a document could "
            f"change what is said of others. {_HELP['cuda' if rows.is_cuda else 'cpu']}"
        )


def check_products(model: Any) -> None:
    """Multiply public rows by matrices of the model's shapes, in two orders, and compare bit for bit.

    Raises:
        DiscreetError: a row depends on its place.
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

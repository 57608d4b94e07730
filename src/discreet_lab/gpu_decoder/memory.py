"""The memory of a batch on a GPU: keys, values and lengths, and the step over them; kept for the next question.

For each layer and head of keys there is one list of slots:

    shared part | prompt of row 0 | ... | prompt of the last row | (room) | new tokens of row 0 | ... of the last row

A recorded step has the addresses of this memory. The lengths are numbers in it, so the step serves every question with
as many rows that fits.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch

from discreet.models.row_check import Shape
from discreet_lab.gpu_decoder.recorded_step import Result

_ROUND = 512


def round_tokens(tokens: int) -> int:
    """Return the number of tokens that a pass computes for so many: the next multiple of 512.

    The library of products chooses its kernel by this number. So few kernels are used, and questions of other lengths
    have room in the same memory.
    """
    return -(-tokens // _ROUND) * _ROUND


class BatchMemory:
    """Slots for keys and values, and lengths.

    Attributes:
        keys, values: shape (layers, heads of keys, slots, size).
        padding: the number of padding tokens of each row, shape (rows,).
        numbers: the tokens of the shared part, those of a prompt, and the appended tokens, shape (3,).
        prompts, steps: the slots before the new tokens, and those of the new tokens of a row.
    """

    def __init__(self, shape: Shape, layers: int, groups: int, size: int, like: torch.Tensor) -> None:
        self.prompts = round_tokens(shape.tokens)
        self.rows, self.steps = shape.rows, max(1, shape.steps)
        slots = self.prompts + self.rows * self.steps
        self.keys, self.values = (like.new_zeros((layers, groups, slots, size)) for _ in range(2))
        self.padding = torch.zeros(self.rows, dtype=torch.int64, device=like.device)
        self.numbers = torch.zeros(3, dtype=torch.int64, device=like.device)
        self._new = self.prompts + self.steps * torch.arange(self.rows, device=like.device)

    def fits(self, shape: Shape) -> bool:
        """Return whether a batch of this shape has room."""
        return self.rows == shape.rows and shape.tokens <= self.prompts and shape.steps <= self.steps

    def set_batch(self, shape: Shape, padding: torch.Tensor) -> None:
        """Set the lengths of a batch."""
        self.padding.copy_(padding)
        self.numbers.copy_(torch.tensor([shape.shared, shape.length, 0]))

    def set_appended(self, appended: int) -> None:
        """Set the number of tokens that were appended to each row."""
        self.numbers[2].fill_(appended)

    def new_positions(self) -> torch.Tensor:
        """Return the position of the new token of each row."""
        return self.numbers.sum() - self.padding

    def new_slots(self) -> torch.Tensor:
        """Return the slot of the new token of each row."""
        return self._new + self.numbers[2]


@dataclass(frozen=True)
class Lane:
    """A memory and the step over it, which maps a token of each row, shape (rows,), to logits and best next tokens.

    The step refers to the memory, and not the other way round: both are freed as soon as the lane is dropped.
    """

    memory: BatchMemory
    step: Callable[[torch.Tensor], Result]

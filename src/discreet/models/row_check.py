"""Check on public rows that a forward pass on a GPU computes each row by itself, for one shape of a batch.

The library of products chooses its kernel by the number of tokens in a batch, so each shape is checked before its first
private batch. Shapes are public, and so is what the check finds.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from discreet.models.protocol import Logits, Prompt, ScoredDecoding

Start = Callable[[Sequence[int], Sequence[Prompt], int], ScoredDecoding]
"""Begins a batch: maps shared tokens, prompts, and the most new tokens."""
STEPS = 2
"""The steps of the check."""
NEAR = 0.15
"""The tolerated rounding error, relative to what differs between the logits of a row. Padding that is not masked makes
0.4 with the packaged model, and no rotation 0.7; rounding in bfloat16 makes 0.03."""


@dataclass(frozen=True)
class Shape:
    """The public shape of a batch: its rows, the tokens of the shared part and of a prompt, and the most new tokens."""

    rows: int
    shared: int
    length: int
    steps: int

    @property
    def tokens(self) -> int:
        """Return the number of tokens before the first new one."""
        return self.shared + self.rows * self.length


def has_independent_rows(start: Start, vocabulary: int, shape: Shape) -> bool:
    """Return whether public rows keep their bits beside an exchanged row, and in other places.

    Places are turned, and moved by one, as a removal moves the rows behind it.
    """
    shared, prompts = public_rows(vocabulary, shape)
    exchanged = [Prompt(tuple(reversed(prompts[0].tokens)), 0), *prompts[1:]]

    def read(rows: Sequence[Prompt]) -> Logits:
        return read_logits(start(shared, rows, STEPS))

    expected = read(prompts)
    return (
        np.array_equal(read(exchanged)[:, 1:], expected[:, 1:])
        and np.array_equal(read(prompts[::-1])[:, ::-1], expected)
        and np.array_equal(read([*prompts[1:], prompts[0]]), np.roll(expected, -1, axis=1))
    )


def agree(found: Logits, expected: Logits) -> bool:
    """Return whether logits are the expected ones, but for rounding.

    The mean of each row is left out: it is large in some models, and the same for most inputs.
    """
    difference = _centre(found) - _centre(expected)
    return bool(np.linalg.norm(difference) <= NEAR * np.linalg.norm(_centre(expected)))


def _centre(logits: Logits) -> Logits:
    centred: Logits = logits - logits.mean(axis=-1, keepdims=True)
    return centred


def public_rows(vocabulary: int, shape: Shape) -> tuple[list[int], list[Prompt]]:
    """Return shared tokens and prompts with padding of several lengths."""
    most = min(vocabulary, 1000)
    prompts = []
    for row in range(shape.rows):
        padding = row * (shape.length - 1) // (2 * shape.rows)
        tokens = [(7 * row + 3 * place + 1) % most for place in range(shape.length)]
        prompts.append(Prompt((0,) * padding + tuple(tokens[padding:]), padding))
    return [(5 * place + 2) % most for place in range(shape.shared)], prompts


def read_logits(decoding: ScoredDecoding) -> Logits:
    """Return the logits after the prompts and after each of some tokens, shape (steps + 1, rows, vocabulary)."""
    logits = [decoding.logits()]
    for token in range(STEPS):
        decoding.append(token + 3)
        logits.append(decoding.logits())
    joined: Logits = np.stack(logits)
    return joined

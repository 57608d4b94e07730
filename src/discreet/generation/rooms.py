"""Texts of about the same length read together: less padding, and each text's shape follows from itself alone."""

from collections import defaultdict
from collections.abc import Iterator, Sequence

STEP = 32
"""Tokens. Lengths are rounded up to a multiple of it."""


def rooms(lengths: Sequence[int], most: int, rows: int) -> Iterator[tuple[int, list[int]]]:
    """Batches of at most `rows` texts, by place, each with the number of tokens that all of its texts are padded to.

    Args:
        lengths: of the texts, in tokens.
        most: to how many tokens a text is cut.
        rows: the most texts of a batch.
    """
    alike: dict[int, list[int]] = defaultdict(list)
    for place, length in enumerate(lengths):
        alike[min(most, max(STEP, -(-length // STEP) * STEP))].append(place)
    for room, places in sorted(alike.items()):
        for first in range(0, len(places), rows):
            yield room, places[first : first + rows]

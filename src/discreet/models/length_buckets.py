"""Batches of texts of similar length: less padding, and the shape of a text depends on that text alone."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from operator import itemgetter
from typing import TypeVar

from discreet.models.prompts import encode_or_empty
from discreet.models.protocol import VotingModel

R = TypeVar("R")

STEP = 32
"""Lengths, in tokens, are rounded up to a multiple of this."""
WINDOW = 512
"""The number of texts that are sorted into buckets together."""


def length_buckets(lengths: Sequence[int], most: int, rows: int) -> Iterator[tuple[int, list[int]]]:
    """Yield batches of at most `rows` texts: the padded length in tokens, and the indices of the texts.

    Args:
        lengths: the lengths of the texts, in tokens.
        most: the length in tokens to which a text is cut.
        rows: the most texts of a batch.
    """
    alike: dict[int, list[int]] = defaultdict(list)
    for place, length in enumerate(lengths):
        alike[min(most, max(STEP, -(-length // STEP) * STEP))].append(place)
    for room, places in sorted(alike.items()):
        for first in range(0, len(places), rows):
            yield room, places[first : first + rows]


def map_in_buckets(
    model: VotingModel,
    texts: Sequence[str],
    most: int,
    rows: int,
    read: Callable[[int, list[list[int]]], Sequence[R]],
) -> Iterator[tuple[int, R]]:
    """Yield the index of each text and the result for it, batch by batch.

    Args:
        model: the model whose tokenizer is used.
        texts: the texts.
        most: the length in tokens to which a text is cut, public.
        rows: the most texts of a batch.
        read: takes the padded length and the tokens of the texts of a batch; returns a result for each text.
    """
    for first in range(0, len(texts), WINDOW):
        tokens = [encode_or_empty(model, text)[:most] for text in texts[first : first + WINDOW]]
        for room, places in length_buckets([len(own) for own in tokens], most, rows):
            results = read(room, [tokens[place] for place in places])
            yield from zip([first + place for place in places], results, strict=True)


def in_order(found: Iterable[tuple[int, R]]) -> list[R]:
    """Return the results in the order of the texts."""
    return [result for _, result in sorted(found, key=itemgetter(0))]

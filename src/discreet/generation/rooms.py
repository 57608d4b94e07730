"""Texts of about the same length read together: less padding, and each text's shape follows from itself alone."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from operator import itemgetter
from typing import TypeVar

from discreet.generation.model import LanguageModel
from discreet.generation.prompts import encoded

R = TypeVar("R")

STEP = 32
"""Tokens. Lengths are rounded up to a multiple of it."""
WINDOW = 512
"""Texts among which those of about the same length are read together."""


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


def read_in_rooms(
    model: LanguageModel,
    texts: Sequence[str],
    most: int,
    rows: int,
    read: Callable[[int, list[list[int]]], Sequence[R]],
) -> Iterator[tuple[int, R]]:
    """What is made of each text, with its place among the texts, as it is read: batch by batch.

    Args:
        model: whose tokens they are.
        texts: the texts.
        most: to how many tokens a text is cut: public.
        rows: the most texts that are read together.
        read: given the room that each text of a batch has, and their tokens, makes something of each of them.
    """
    for first in range(0, len(texts), WINDOW):
        tokens = [encoded(model, text)[:most] for text in texts[first : first + WINDOW]]
        for room, places in rooms([len(own) for own in tokens], most, rows):
            found = read(room, [tokens[place] for place in places])
            yield from zip([first + place for place in places], found, strict=True)


def in_order(found: Iterable[tuple[int, R]]) -> list[R]:
    """What was made of all texts, in their order."""
    return [made for _, made in sorted(found, key=itemgetter(0))]

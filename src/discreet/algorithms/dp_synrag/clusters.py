"""Steps 1 (b) and (c) of DP-SynRAG: soft clusters by released keywords, rare ones first, each around its centre."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.algorithms.dp_synrag.keywords import Ranked
from discreet.algorithms.dp_synrag.parameters import LEVELS, First
from discreet.privacy.filter import PrivacyFilter
from discreet.privacy.mechanisms.noisy_sum import NoisySum
from discreet.privacy.mechanisms.threshold_choice import ThresholdChoice
from discreet.privacy.private import Private

Whole = NDArray[np.int64]
Once = Callable[[str, Callable[[], Any]], Any]
"""What was drawn under a name; drawn now, and kept durably, if nothing was."""


@dataclass(frozen=True)
class TextPiece:
    """A text of a unit, its vector in whole numbers, and its keywords."""

    text: str = field(repr=False)
    vector: Whole = field(repr=False)
    ranked: Ranked = field(repr=False)


@dataclass(frozen=True)
class UnitTexts:
    """All texts of a unit; together they have at most K keywords that count.

    Attributes:
        pieces: its texts.
        most: K.
        name: what it is called in the files of a run: a keyed hash.
    """

    pieces: tuple[TextPiece, ...] = field(repr=False)
    most: int
    name: str = ""

    @property
    def ranked(self) -> list[str]:
        """The K most surprising words of all of its texts, the most surprising first."""
        found: dict[str, float] = {}
        for piece in self.pieces:
            for word, nats in piece.ranked:
                found[word] = max(nats, found.get(word, 0.0))
        return sorted(found, key=lambda word: (-found[word], word))[: self.most]

    @property
    def keywords(self) -> frozenset[str]:
        """The same, as they are counted."""
        return frozenset(self.ranked)

    def about(self, keyword: str) -> TextPiece:
        """Its text that the keyword is most surprising in."""
        told = [(dict(piece.ranked).get(keyword, -1.0), piece.text, place) for place, piece in enumerate(self.pieces)]
        return self.pieces[max(told)[2]]


def rarest_first(counts: Mapping[str, int], most: int) -> list[str]:
    """The `most` largest released keywords, the rarest first: frequent ones would crowd the others out."""
    largest = sorted(counts, key=lambda word: (-counts[word], word))[:most]
    return largest[::-1]


def places(unit: UnitTexts, order: Mapping[str, int], first: First) -> list[int]:
    """The clusters of a unit: those of its rarest keywords first, or of those that surprise most in its own texts."""
    found = [order[word] for word in unit.ranked if word in order]
    return sorted(found) if first == "rare" else found


def near_the_centre(
    members: Private[TextPiece], paid: PrivacyFilter, centre: NoisySum, threshold: ThresholdChoice, once: Once
) -> Private[TextPiece]:
    """The members near a noisy centre: as near as leaves about so many as wanted. `once` keeps what is drawn."""
    drawn: list[int] = once("centre", lambda: paid.release(centre, members.map(lambda p: p.vector)).tolist())
    middle = np.array(drawn, dtype=np.int64)
    length = max(1.0, float(np.linalg.norm(middle)))

    def level(piece: TextPiece) -> int:
        own = max(1.0, float(np.linalg.norm(piece.vector)))
        likeness = int(np.dot(piece.vector, middle)) / own / length
        return next(place for place, least in enumerate(LEVELS) if likeness >= least)

    chosen: int = once("threshold", lambda: paid.release(threshold, members.map(level)))
    return members.keep(lambda piece: level(piece) <= chosen)


def names(order: Sequence[str]) -> dict[str, int]:
    """The number of each cluster."""
    return {word: number for number, word in enumerate(order)}

"""Steps 1 (b) and (c) of DP-SynRAG: soft clusters by released keywords, rare ones first, each around its centre."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from discreet.algorithms.dp_synrag.parameters import LEVELS, First
from discreet.algorithms.synthetic import TextPiece, UnitTexts
from discreet.privacy.filter import PrivacyFilter
from discreet.privacy.mechanisms.noisy_sum import NoisySum
from discreet.privacy.mechanisms.threshold_choice import ThresholdChoice
from discreet.privacy.private import Private

Once = Callable[[str, Callable[[], Any]], Any]
"""What was drawn under a name; drawn now, and kept durably, if nothing was."""


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

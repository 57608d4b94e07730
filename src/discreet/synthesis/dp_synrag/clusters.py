"""Steps 1 (b) and (c) of DP-SynRAG: soft clusters by released keywords, each around its centre."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from discreet.generation.model import ScoringModel
from discreet.generation.torch_backend.length_buckets import in_order
from discreet.privacy.filter import PrivacyFilter
from discreet.privacy.mechanisms.counting import NoisySum
from discreet.privacy.mechanisms.selection import ThresholdChoice
from discreet.privacy.private import Private
from discreet.retrieval.embedding import Embedder, meaning
from discreet.synthesis.base import TextPiece, UnitTexts
from discreet.synthesis.dp_synrag.keywords import ranked_keywords
from discreet.synthesis.dp_synrag.parameters import LEVELS, First

WORD = 16
"""The number of tokens of a keyword that count."""
Once = Callable[[str, Callable[[], Any]], Any]
"""Returns the value that was drawn under a name; draws and keeps it if there is none."""


def rarest_first(counts: Mapping[str, int], most: int) -> list[str]:
    """Return the `most` largest released keywords, the rarest first: frequent ones would displace the others."""
    largest = sorted(counts, key=lambda word: (-counts[word], word))[:most]
    return largest[::-1]


def ordered(counts: Mapping[str, int], most: int, first: First, model: ScoringModel) -> list[str]:
    """Return the `most` largest released keywords, in the order in which units go to clusters. All of it is public.

    The order is the same for all units, so units that share several keywords are in the same clusters.
    """
    rare = rarest_first(counts, most)
    if first == "rare":
        return rare
    nats = [
        dict(found).get(word, 0.0)
        for word, found in zip(rare, in_order(ranked_keywords(model, rare, 1, WORD)), strict=True)
    ]
    return [word for _, _, word in sorted(zip([-n for n in nats], range(len(rare)), rare, strict=True))]


def merged(order: Sequence[str], embedder: Embedder, alike: float) -> list[list[str]]:
    """Group keywords: one joins the first cluster whose first keyword has a similarity of `alike`. Public."""
    vectors = np.asarray(meaning(embedder).embed(list(order)), dtype=np.float64)
    found: list[list[int]] = []
    for number, vector in enumerate(vectors):
        near = [own for own in found if float(vectors[own[0]] @ vector) >= alike]
        if near:
            near[0].append(number)
        else:
            found.append([number])
    return [[order[number] for number in own] for own in found]


def places(unit: UnitTexts, numbers: Mapping[str, int]) -> list[int]:
    """Return the clusters of a unit, in the common order."""
    return sorted({numbers[word] for word in unit.ranked if word in numbers})


def near_the_centre(
    members: Private[TextPiece], paid: PrivacyFilter, centre: NoisySum, threshold: ThresholdChoice, once: Once
) -> Private[TextPiece]:
    """Keep the members near a noisy centre, about as many as wanted. `once` keeps the drawn values."""
    drawn: list[int] = once("centre", lambda: paid.release(centre, members.map(lambda p: p.vector)).tolist())
    middle = np.array(drawn, dtype=np.int64)
    length = max(1.0, float(np.linalg.norm(middle)))

    def level(piece: TextPiece) -> int:
        own = max(1.0, float(np.linalg.norm(piece.vector)))
        likeness = int(np.dot(piece.vector, middle)) / own / length
        return next(place for place, least in enumerate(LEVELS) if likeness >= least)

    chosen: int = once("threshold", lambda: paid.release(threshold, members.map(level)))
    return members.keep(lambda piece: level(piece) <= chosen)


def numbered(words: Sequence[Sequence[str]]) -> dict[str, int]:
    """Return the number of each keyword's cluster."""
    return {word: number for number, own in enumerate(words) for word in own}

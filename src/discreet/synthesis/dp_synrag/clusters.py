"""Steps 1 (b) and (c) of DP-SynRAG: soft clusters by released keywords, each around its centre."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from discreet.generation.model import ScoringModel
from discreet.generation.torch_backend.length_buckets import in_order
from discreet.privacy.filter import PrivacyFilter
from discreet.privacy.mechanisms.noisy_sum import NoisySum
from discreet.privacy.mechanisms.threshold_choice import ThresholdChoice
from discreet.privacy.private import Private
from discreet.retrieval.embedding import Embedder, meaning
from discreet.synthesis.base import TextPiece, UnitTexts
from discreet.synthesis.dp_synrag.keywords import ranked_keywords
from discreet.synthesis.dp_synrag.parameters import LEVELS, First

WORD = 16
"""How many tokens of a keyword count."""
Once = Callable[[str, Callable[[], Any]], Any]
"""What was drawn under a name; drawn now, and kept durably, if nothing was."""


def rarest_first(counts: Mapping[str, int], most: int) -> list[str]:
    """The `most` largest released keywords, the rarest first: frequent ones would crowd the others out."""
    largest = sorted(counts, key=lambda word: (-counts[word], word))[:most]
    return largest[::-1]


def ordered(counts: Mapping[str, int], most: int, first: First, model: ScoringModel) -> list[str]:
    """The `most` largest released keywords, in the order in which units go to their clusters. All of it is public.

    One order for all: units that share several keywords then meet in the same clusters, however few they may be in.
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
    """Keywords by cluster: one joins the first cluster whose first keyword is as similar to it as `alike`. Public."""
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
    """The clusters of a unit, the first ones in the common order first."""
    return sorted({numbers[word] for word in unit.ranked if word in numbers})


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


def numbered(words: Sequence[Sequence[str]]) -> dict[str, int]:
    """The number of each keyword's cluster."""
    return {word: number for number, own in enumerate(words) for word in own}

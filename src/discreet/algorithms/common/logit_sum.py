"""What documents say together, token by token: the part that DP-SynRAG and DP-RAG share.

For each token every document says what it would write next; that is brought into [-c, c] for every token of the
vocabulary, summed with the public model's logits, and a token is sampled (mechanisms/aggregated_logits.py). How an
opinion is brought into bounds is free to choose, as long as it follows from the document and the tokens so far:

- "clip": the logits, clipped. The first of DP-SynRAG.
- "centred": the logits, moved so that the best one is c, and clipped from below. The second of DP-SynRAG.
- "difference": what the document adds to the public model's log-probabilities, clipped (InvisibleInk). Divided by about
  the number of documents (`among`), as there, all of them together move the public model to their mean; undivided they
  overshoot, and unlikely tokens of which they hold a little more than the public model are lifted like the right one.
- "votes" (ours): c (2p - 1), p the document's probability of the token. With the c of a few hundredths that a budget
  affords, clipping keeps little but the sign; a probability tells likely tokens from unlikely ones.
"""

import math
from collections.abc import Sequence
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from discreet.errors import UsageError
from discreet.generation.model import Logits, ScoredDecoding, ScoringModel
from discreet.generation.prompts import Layout, encode_or_empty
from discreet.privacy.mechanisms.aggregated_logits import ONE, Weights
from discreet.privacy.overlap import InEachCluster
from discreet.privacy.partition import ADD_REMOVE_ONE
from discreet.privacy.private import Private

Double = NDArray[np.float64]
Shape = Literal["votes", "centred", "difference", "clip"]
SHAPES: tuple[Shape, ...] = get_args(Shape)
BLOCK = 32
"""Rows that are decoded together, always: a document's logits must not depend on how many others there are."""


class Writers:
    """Documents that write together, one in each share; the public model beside them."""

    def __init__(
        self, model: ScoringModel, laid_out: Layout, texts: Private[str], tokens: int, known: str = ""
    ) -> None:
        """Begin to write.

        Args:
            model: the language model.
            laid_out: the prompt, public but for the document in it.
            texts: the documents.
            tokens: the most that is written at a time.
            known: what the public prompt has in place of a document: released before, or nothing.
        """
        alone = laid_out.prompt(model.encode(known)) if known else laid_out.prompt()
        self._blocks: list[ScoredDecoding] = []

        def begin(found: Sequence[str]) -> list[tuple[int, int]]:
            prompts = [laid_out.prompt(encode_or_empty(model, text)) for text in found]
            # Filled up with the public prompt; there is always a row of it, the last one.
            rows = [*prompts, *[alone] * (BLOCK - len(prompts) % BLOCK)]
            for first in range(0, len(rows), BLOCK):
                self._blocks.append(model.start(laid_out.shared, rows[first : first + BLOCK], tokens))
            return [divmod(place, BLOCK) for place in range(len(prompts))]

        self._places = texts.map_batch(begin)
        self._first = [block.logits() for block in self._blocks]
        self._now = self._first

    def opinions(self, shape: Shape, clip: float, among: int = 1) -> tuple[Double, Private[Weights]]:
        """The public log-probabilities of the next token, and each document's weights (see `weigh`)."""
        public = log_softmax(self._now[-1][-1:])[0]

        def weights(places: Sequence[tuple[int, int]]) -> list[Weights]:
            return [weigh(self._now[block][row], public, shape, clip, among) for block, row in places]

        return public, self._places.map_batch(weights)

    def append(self, token: int) -> None:
        """Go on with a released token."""
        for block in self._blocks:
            block.append(token)
        self._now = [block.logits() for block in self._blocks]

    def begin_again(self) -> None:
        """Back to the beginning, for another text."""
        for block in self._blocks:
            block.truncate(0)
        self._now = self._first


def weigh(logits: Logits, public: Double, shape: Shape, clip: float, among: int = 1) -> Weights:
    """A document's weight of every token, in units of 2^-16, within [-clip, clip].

    Args:
        logits: of the document.
        public: the log-probabilities without it.
        shape: see above.
        clip: the largest weight (c).
        among: "difference" is divided by it, before it is clipped: public.
    """
    with np.errstate(invalid="ignore", over="ignore"):  # a warning would tell of the document
        found = _opinion(logits, public, shape, clip, among)
    whole: Weights = np.round(np.clip(np.nan_to_num(found, nan=-clip), -clip, clip) * ONE).astype(np.int32)
    return whole


def _opinion(logits: Logits, public: Double, shape: Shape, clip: float, among: int) -> Double:
    """The weights before they are brought into bounds."""
    if shape == "votes":
        return np.asarray(clip * (2 * np.exp(log_softmax(logits[None])[0]) - 1))
    if shape == "difference":
        return np.asarray((log_softmax(logits[None])[0] - public) / among)
    if shape == "centred":
        return np.asarray(logits.astype(np.float64) - float(logits.max()) + clip)
    return logits.astype(np.float64)


def check_shape(shape: str) -> None:
    """Refuse a shape that there is not."""
    if shape not in SHAPES:
        raise UsageError(f"There is no shape '{shape}': votes, centred, difference or clip.")


def voices(vocabulary: int, clip: float) -> int:
    """About how many documents must agree for a token that the public model does not expect."""
    return math.ceil(math.log(vocabulary) / (2 * clip))


def heard(vocabulary: int, clip: float) -> str:
    """The same, for a person."""
    return (
        f"a token that the public model does not expect needs about {voices(vocabulary, clip)} units that agree on it"
    )


def drawn(each: InEachCluster) -> list[dict[str, object]]:
    """What is drawn where documents write together, as plain data."""
    return [
        {"what": str(priced), "times": times, "cost": priced.cost(ADD_REMOVE_ONE).describe()}
        for priced, times in each.drawn
    ]


def log_softmax(logits: Logits) -> Double:
    """Of each row by itself."""
    moved = logits - logits.max(axis=1, keepdims=True)
    found = moved - np.log(np.exp(moved).sum(axis=1, keepdims=True))
    return np.asarray(found, dtype=np.float64)

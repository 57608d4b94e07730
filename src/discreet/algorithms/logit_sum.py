"""The sum of documents' logits, token by token: the part that DP-SynRAG and DP-RAG share.

The model gives logits for the next token after each document. For each token of the vocabulary they are brought into
[-c, c] and summed with the public model's logits. A token is then sampled (mechanisms/vectors.py). Any
transform into [-c, c] is valid if it depends only on the document and the earlier tokens:

- "clip": the logits, clipped. The first transform of DP-SynRAG.
- "centred": the logits, shifted so that the largest is c, and clipped from below. The second transform of DP-SynRAG.
- "difference": the change that the document makes to the public model's log-probabilities, clipped (InvisibleInk).
  InvisibleInk divides it by about the number of documents (`among`): all documents together then move the public model
  to their mean. Undivided changes overshoot, and also lift unlikely tokens.
- "votes" (ours): c (2p - 1), where p is the document's probability of the token. A budget affords a c of a few
  hundredths. With so small a c, clipping keeps little more than the sign. A probability still separates likely tokens
  from unlikely ones.
"""

import math
from collections.abc import Sequence
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from discreet.errors import UsageError
from discreet.models.prompts import Layout, encode_or_empty
from discreet.models.protocol import Logits, ScoredDecoding, ScoringModel
from discreet.privacy.mechanisms.vectors import ONE, Weights
from discreet.privacy.partition import ADD_REMOVE_ONE, InEachCluster
from discreet.privacy.private import Private

Double = NDArray[np.float64]
Shape = Literal["votes", "centred", "difference", "clip"]
SHAPES: tuple[Shape, ...] = get_args(Shape)
BLOCK = 32
"""The constant number of rows in a batch. A document's logits must not depend on the number of documents."""


class Writers:
    """Documents that write one text together, one document a row, with the public model in the last row."""

    def __init__(
        self, model: ScoringModel, laid_out: Layout, texts: Private[str], tokens: int, known: str = ""
    ) -> None:
        """Start the decoding.

        Args:
            model: the language model.
            laid_out: the prompt, public except for the document in it.
            texts: the documents.
            tokens: the largest number of tokens of one text.
            known: released text that the public prompt has in place of a document; empty for none.
        """
        alone = laid_out.prompt(model.encode(known)) if known else laid_out.prompt()
        self._blocks: list[ScoredDecoding] = []

        def begin(found: Sequence[str]) -> list[tuple[int, int]]:
            prompts = [laid_out.prompt(encode_or_empty(model, text)) for text in found]
            # Public prompts fill the last block. It always has at least one, in its last row.
            rows = [*prompts, *[alone] * (BLOCK - len(prompts) % BLOCK)]
            for first in range(0, len(rows), BLOCK):
                self._blocks.append(model.start(laid_out.shared, rows[first : first + BLOCK], tokens))
            return [divmod(row, BLOCK) for row in range(len(prompts))]

        self._rows = texts.map_batch(begin)
        self._first = [block.logits() for block in self._blocks]
        self._now = self._first

    def opinions(self, shape: Shape, clip: float, among: int = 1) -> tuple[Double, Private[Weights]]:
        """Return the public log-probabilities of the next token, and each document's weights (see `weigh`)."""
        public = log_softmax(self._now[-1][-1:])[0]

        def weights(rows: Sequence[tuple[int, int]]) -> list[Weights]:
            return [weigh(self._now[block][row], public, shape, clip, among) for block, row in rows]

        return public, self._rows.map_batch(weights)

    def append(self, token: int) -> None:
        """Continue with a released token."""
        for block in self._blocks:
            block.append(token)
        self._now = [block.logits() for block in self._blocks]

    def begin_again(self) -> None:
        """Return to the first token, for another text."""
        for block in self._blocks:
            block.truncate(0)
        self._now = self._first


def weigh(logits: Logits, public: Double, shape: Shape, clip: float, among: int = 1) -> Weights:
    """Return a document's weight of each token, in units of 2^-16, within [-clip, clip].

    Args:
        logits: the logits after the document.
        public: the log-probabilities without the document.
        shape: the transform into the bounds (see the module).
        clip: the largest weight (c).
        among: the public divisor of "difference", applied before clipping.
    """
    with np.errstate(invalid="ignore", over="ignore"):  # a warning would depend on the document
        opinion = _opinion(logits, public, shape, clip, among)
    whole: Weights = np.round(np.clip(np.nan_to_num(opinion, nan=-clip), -clip, clip) * ONE).astype(np.int32)
    return whole


def _opinion(logits: Logits, public: Double, shape: Shape, clip: float, among: int) -> Double:
    """Return the weights before they are brought into bounds."""
    if shape == "votes":
        return np.asarray(clip * (2 * np.exp(log_softmax(logits[None])[0]) - 1))
    if shape == "difference":
        return np.asarray((log_softmax(logits[None])[0] - public) / among)
    if shape == "centred":
        return np.asarray(logits.astype(np.float64) - float(logits.max()) + clip)
    return logits.astype(np.float64)


def check_shape(shape: str) -> None:
    """Refuse an unknown transform.

    Raises:
        UsageError: if no transform has the name.
    """
    if shape not in SHAPES:
        raise UsageError(f"Unknown shape '{shape}'. Choose votes, centred, difference or clip.")


def voices(vocabulary: int, clip: float) -> int:
    """Return about how many documents must agree on a token that the public model does not expect."""
    return math.ceil(math.log(vocabulary) / (2 * clip))


def heard(vocabulary: int, clip: float) -> str:
    """Return the sentence that states `voices` to a custodian."""
    return (
        f"a token that the public model does not expect needs about {voices(vocabulary, clip)} units that agree on it"
    )


def drawn(each: InEachCluster) -> list[dict[str, object]]:
    """Return, as plain data, the mechanisms of documents that write together."""
    return [
        {"what": str(priced), "times": times, "cost": priced.cost(ADD_REMOVE_ONE).describe()}
        for priced, times in each.drawn
    ]


def log_softmax(logits: Logits) -> Double:
    """Return the log-probabilities of each row."""
    moved = logits - logits.max(axis=1, keepdims=True)
    logarithms = moved - np.log(np.exp(moved).sum(axis=1, keepdims=True))
    return np.asarray(logarithms, dtype=np.float64)

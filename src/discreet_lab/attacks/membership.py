"""Membership inference with the attack S2MIA: it decides whether a given person's document is in the vault.

After Li et al. 2025 ("Generating is believing"), as in section IV.C of the paper on DPVoteRAG. The attacker knows a
document, asks with its first half, and compares the answer with the second half. A high similarity indicates a member.
Here a unit is in the vault or out of it with all its documents, and one of its passages is tried. People of the vault
are tried both ways, in two copies (`trial`). With several questions, the model is also asked to continue the passage,
which is cut at other positions. The mean similarity is the score.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.errors import BadData
from discreet.retrieval.embedding import Embedder
from discreet.system.jsonl import read_lines
from discreet_lab.attacks.rates import Auc, Rate, curve, true_positives
from discreet_lab.evaluation.metrics import bleu, ngram_precision, rouge_l

GO_ON = "What does the record say after: {}?"
CUTS = (1 / 4, 3 / 4, 1 / 3, 2 / 3)
"""The positions at which a passage is cut after the first two questions.

These two cut it in the middle, or after its own question.
"""
MOST = 2 + len(CUTS)
"""The largest number of questions about one person."""
MEASURES = ("n-grams", "bleu", "rouge-l", "embedding")
"""The similarities that are tried. The first one is the paper's."""
FALSE_POSITIVES = (0.01, 0.001)
LONGEST, SHORTEST = 120, 8
"""Limits of a passage in words: the longest is a vault's chunk; a shorter one carries too little information."""


@dataclass(frozen=True)
class Suspect:
    """A text that is tried.

    Attributes:
        id: the id of the document.
        member: whether it is in the vault.
        text: the passage.
        asked: the number of its words in the first question; half of them if 0.
    """

    id: str
    member: bool
    text: str = field(repr=False)
    asked: int = 0

    def parts(self, questions: int, form: str = "{}") -> list[tuple[str, str]]:
        """Return `questions` pairs of a question and the reference for its answer. The first one is the paper's.

        Args:
            questions: the number of pairs.
            form: the form of the first question, with {} for the words that are known.
        """
        words = self.text.split()[:LONGEST]
        first = self.asked or len(words) // 2
        cuts = [first, first, *(max(1, int(len(words) * cut)) for cut in CUTS)]
        halves = [(" ".join(words[:cut]), " ".join(words[cut:])) for cut in cuts]
        continued = [(GO_ON.format(begun), rest) for begun, rest in halves[1:]]
        begun, rest = halves[0]
        return [(form.format(begun), rest), *continued][:questions]


@dataclass(frozen=True)
class Membership:
    """How well one measure distinguishes members from others.

    Attributes:
        auc: the area under the curve.
        found: the true positives at each of `FALSE_POSITIVES`.
        points: rates of false and true positives, for a plot.
        ins, outs: the scores of people who are in the vault, and of people who are not.
    """

    auc: Auc
    found: dict[float, Rate]
    points: list[tuple[float, float]] = field(repr=False)
    ins: list[float] = field(repr=False)
    outs: list[float] = field(repr=False)

    @property
    def scores(self) -> int:
        """The number of scores: of people who are in, and of people who are not."""
        return self.auc.ins + self.auc.outs


def read_suspects(path: Path) -> list[Suspect]:
    """Read texts from a file with {"text"} or {"query", "reference"} a line.

    "member" is true for documents in the vault.

    Raises:
        BadData: if a line has another form, or its text is too short to be cut in two.
    """
    try:
        suspects = [_suspect(record, number) for number, record in read_lines(path)]
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise BadData(
            f'{path} cannot be read as documents ({type(error).__name__}). Expected: {{"text": "..."}} or {{"query": '
            f'"...", "reference": "..."}} a line, of at least {SHORTEST} words; "member": true if it is in the vault.'
        ) from None
    if all(suspect.member for suspect in suspects):
        raise BadData(f'{path} has no document outside the vault, to compare members with. Add some without "member".')
    return suspects


def _suspect(record: dict[str, Any], number: int) -> Suspect:
    query = record.get("query", "")
    text = f"{query} {record['reference']}" if query else record["text"]
    words, asked = len(text.split()), len(query.split())
    if words < SHORTEST or asked >= min(words, LONGEST):
        raise ValueError
    return Suspect(str(record.get("id", number)), record.get("member") is True, text, asked)


def likeness(answers: Sequence[str], references: Sequence[str], embedder: Embedder) -> NDArray[np.float64]:
    """Return each answer's similarity to its reference, by each of `MEASURES`, shape (answers, measures)."""
    said = [answer if answer.strip() else "-" for answer in answers]  # an embedder needs a text that is not empty
    near = (embedder.embed(said) * embedder.embed(list(references))).sum(axis=1)
    rows = [
        (*(measure(answer, reference) for measure in (ngram_precision, bleu, rouge_l)), float(alike))
        for answer, reference, alike in zip(answers, references, near, strict=True)
    ]
    return np.asarray(rows, dtype=np.float64).reshape(-1, len(MEASURES))


def measure_membership(scores: ArrayLike, inside: Sequence[Sequence[bool]]) -> Membership:
    """Return how well scores distinguish members from others.

    Args:
        scores: shape (people, copies of the vault).
        inside: for each person, whether each copy has them. Of two copies, each person is in one.
    """
    by_suspect, where = np.asarray(scores, dtype=np.float64), np.asarray(inside, dtype=np.bool_)
    ins, outs = (
        by_suspect[where].tolist(),
        by_suspect[~where].tolist(),
    )  # for two copies both are in the order of people
    auc = Auc.of_pairs(ins, outs) if where.shape[1] == 2 else Auc.of(ins, outs)
    few = {rate: true_positives(ins, outs, rate) for rate in FALSE_POSITIVES}
    return Membership(auc, few, curve(ins, outs), ins, outs)

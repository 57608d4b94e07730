"""Membership inference: whether a given person's document is in the vault.

S2MIA follows Li et al. 2025 ("Generating is believing"), as in section IV.C of the paper on DPVoteRAG. Interrogation
(Naseh et al. 2025, "Riddle me this!") and masks ask several short questions about one document, and combine the
answers.
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.algorithms.text.normalize import keywords
from discreet.errors import BadData, UsageError
from discreet.store.embedding import Embedder
from discreet.system.files import read_lines
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


# --- interrogation ----------------------------------------------------------------------------------------------------


YES, NO = "yes", "no"
RECORD = 'I ask about a record that says "{known}". Does this record also say "{word}"? Answer yes or no.'
MASKED = "Complete the record with the missing word: {before} ____ {after}"
AROUND = 20
"""The number of words on each side of a mask."""
UNKNOWN = 5
"""What an answer takes off that is neither yes nor no, for each right one (Naseh et al., lambda)."""
RIGHT = ("right", "right, less unknown")
"""The scores of `share_right`."""
_WORD = re.compile(r"\w+")

Pairs = list[tuple[str, str]]
"""Questions, each with the answer that a member's document gives."""


def interrogate(suspects: Sequence[Suspect], number: int) -> list[Pairs]:
    """Return the questions about each person by yes and no in turn: the known words are the second half of the text."""
    halves = [_halves(suspect) for suspect in suspects]
    having = _having(suspects)
    own = [_rarest(keywords(asked) - keywords(known), having) for asked, known in halves]
    results = []
    for place, (suspect, (_, known)) in enumerate(zip(suspects, halves, strict=True)):
        others = [word for turn in range(1, len(own)) for word in own[(place + turn) % len(own)][:2]]
        false = [word for word in dict.fromkeys(others) if word not in keywords(suspect.text)]
        asked = [both for pair in zip(own[place], false, strict=False) for both in zip(pair, (YES, NO), strict=True)]
        results.append([(RECORD.format(known=known, word=word), answer) for word, answer in asked])
    return _first(results, number)


def mask(suspects: Sequence[Suspect], number: int) -> list[Pairs]:
    """Return the questions about each person for so many of its rarest words, each of which stands in it once."""
    having, results = _having(suspects), []
    for suspect in suspects:
        words = suspect.text.split()[:LONGEST]
        times = Counter(key for word in words for key in keywords(word))
        places = {key: place for place, word in enumerate(words) for key in keywords(word) if times[key] == 1}
        results.append([(_masked(words, places[word]), word) for word in _rarest(places, having)])
    return _first(results, number)


def share_right(answers: Sequence[str], references: Sequence[str]) -> NDArray[np.float64]:
    """Return for each answer whether it says its reference, and the same less `UNKNOWN` if it says neither yes nor no.

    Of a word, the second is the first. Shape (answers, 2).
    """
    rows = []
    for answer, reference in zip(answers, references, strict=True):
        words = _WORD.findall(answer.casefold())
        told = [word for word in words if word in (YES, NO)][:1] if reference in (YES, NO) else keywords(answer)
        right = float(reference in told)
        rows.append((right, right - UNKNOWN * (reference in (YES, NO) and not told)))
    return np.asarray(rows, dtype=np.float64).reshape(-1, 2)


def read_by_rule(prompt: str, _: int) -> str:
    """Return what a reader without error says to these questions of the record in a prompt: the strongest attack."""
    before, _sep, question = prompt.rpartition("Question:")
    record = before.rpartition("Answer:")[2].partition("Record:")[2]
    if asked := re.search(r'say "([^"]+)"\?', question):
        return "Yes." if asked.group(1) in keywords(record) else "No."
    known, _sep, after = question.partition("missing word: ")[2].partition(" ____ ")
    beside = (re.escape(" ".join(words.split()[part])) for words, part in ((known, slice(-2, None)), (after, slice(1))))
    match = re.search(r"{} (\S+) {}".format(*beside), record) if known else None
    return match.group(1) if match else "unknown"


def _halves(suspect: Suspect) -> tuple[str, str]:
    words = suspect.text.split()[:LONGEST]
    middle = suspect.asked or len(words) // 2
    return " ".join(words[:middle]), " ".join(words[middle:])


def _having(suspects: Sequence[Suspect]) -> Counter[str]:
    """Return in how many people's texts each word stands."""
    return Counter(word for suspect in suspects for word in keywords(suspect.text))


def _rarest(words: Iterable[str], having: Counter[str]) -> list[str]:
    return sorted(words, key=lambda word: (having[word], -len(word), word))


def _masked(words: Sequence[str], place: int) -> str:
    before, after = words[max(0, place - AROUND) : place], words[place + 1 : place + 1 + AROUND]
    return MASKED.format(before=" ".join(before), after=" ".join(after))


def _first(found: Sequence[Pairs], number: int) -> list[Pairs]:
    """Return the first questions about each person.

    Raises:
        UsageError: if the text of a person has words for fewer.
    """
    if number > (most := min(map(len, found))):
        raise UsageError(f"The text of some person has words for {most} questions, not for {number}. Ask fewer.")
    return [pairs[:number] for pairs in found]

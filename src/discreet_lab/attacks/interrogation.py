"""Attacks with several short questions about one document, whose answers are combined: interrogation and masks.

Interrogation (Naseh et al. 2025, "Riddle me this!") asks for facts of a document by yes or no, with the words that make
the system find it. It is the attack with many questions of the later version of the paper on MuRAG (arXiv 2511.07637,
section 4.2), which scores the share of right answers; Naseh et al. take off 5 for one that is neither. Masks (Liu et
al. 2025, "Mask-based membership inference") ask for words that were taken out of the document; the score is the share
that comes back. In both papers a large model writes the questions. Here rules do: half of the words that are asked for
stand in the document, and the others in those of other people; and each mask is a question of its own.
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from discreet.algorithms.text.normalize import keywords
from discreet.errors import UsageError
from discreet_lab.attacks.membership import LONGEST, Suspect

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

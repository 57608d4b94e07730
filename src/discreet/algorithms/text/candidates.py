"""Public candidates for a vote: their canonical forms, and the candidate that an answer names.

Both are functions of the question, of public answers and of one voter's own answer. So a voter still has one vote,
which no other voter moves (privacy-spec, part 10.5).
"""

import re
from collections.abc import Callable, Iterable, Sequence
from difflib import SequenceMatcher

from discreet.algorithms.text.normalize import choice, words_of
from discreet.algorithms.text.yes_no_claim import content

ALIKE = 0.8
"""The least likeness of a vote to a candidate that it is taken for: small models misspell rare names."""


def candidates_of(proposed: Iterable[str], form: Callable[[str], str], question: str, most: int) -> tuple[str, ...]:
    """Return the canonical forms of proposed answers, each once, in their order, and at most `most`.

    Answers without content are left out, and so are those whose words all stand in the question.

    Args:
        proposed: public answers.
        form: returns the canonical form of an answer, as for votes.
        question: the question.
        most: the largest number of candidates.
    """
    asked = frozenset(words_of(question))
    forms = (form(answer) for answer in proposed)
    return tuple(dict.fromkeys(found for found in forms if found and not asked.issuperset(words_of(found))))[:most]


def named_candidate(vote: str, answer: str, candidates: tuple[str, ...], question: str) -> str:
    """Return the candidate that a voter's answer names, or nearly spells; its own vote if there is none.

    Args:
        vote: the canonical form of the answer.
        answer: the answer of one voter.
        candidates: canonical forms of public answers.
        question: the question.
    """
    if not candidates or vote in candidates:
        return vote
    number = choice(answer, candidates, question)
    if number is not None:
        return candidates[number]
    likeness = [SequenceMatcher(None, vote, candidate, autojunk=False).ratio() for candidate in candidates]
    best = max(likeness)
    return candidates[likeness.index(best)] if vote and best >= ALIKE else vote


def without_choices(question: str, choices: Sequence[str]) -> str:
    """Return a question without the public choices that it names; the question itself if it names fewer than two.

    "Is X treated with A or with B?" is decided by the documents about X, and many others may be about A or B.
    """
    left, named = question, 0
    for one in sorted(choices, key=len, reverse=True):
        left, found = re.subn(rf"(?<!\w){re.escape(one)}(?!\w)", " ", left, flags=re.IGNORECASE)
        named += found > 0
    return " ".join(left.split()) if named > 1 and content(left) else question

"""Public candidates for a vote: their canonical forms, and the candidate that an answer names.

Both are functions of the question, of public answers and of one voter's own answer. So a voter still has one vote,
which no other voter moves (privacy-spec, part 10.5).
"""

from collections.abc import Callable, Iterable

from discreet.algorithms.text.normalize import choice, words_of


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
    """Return the candidate that a voter's answer names; its own vote if it names none.

    Args:
        vote: the canonical form of the answer.
        answer: the answer of one voter.
        candidates: canonical forms of public answers.
        question: the question.
    """
    if not candidates or vote in candidates:
        return vote
    number = choice(answer, candidates, question)
    return vote if number is None else candidates[number]

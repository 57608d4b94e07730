"""Yes/no questions as a choice among three public answers: yes, no, not said; if the algorithm can choose.

"Is X treated with A?" is decided by the documents about X, and many others are about A. So the documents that fit "What
is the treatment for X?" are searched.
"""

from collections.abc import Sequence

from discreet.algorithms.common.algorithm import Algorithm
from discreet.algorithms.common.grounded_votes import NO, YES
from discreet.algorithms.text.candidates import without_choices
from discreet.algorithms.text.yes_no_claim import claim_of
from discreet.query.question_kinds import recognise

NOT_SAID = "not said"
CHOICES = (YES, NO, NOT_SAID)


def with_choices(algorithm: Algorithm, question: str) -> Algorithm:
    """Return the algorithm for `question`: with the choices yes, no and not said if it is a yes/no question.

    An algorithm that cannot choose, or that has choices, a prefix or a fallback, is returned unchanged.
    """
    return algorithm.with_choices(CHOICES, NOT_SAID) if recognise(question).name == "yes-no" else algorithm


def searched(question: str, choices: Sequence[str]) -> str:
    """Return the text that documents are compared with: public, a function of the question and the public choices.

    It is the open question of a yes/no question that is such a choice, and a question between other choices without
    them. Without choices it is the question, as in the papers.
    """
    if tuple(choices) == CHOICES:
        return claim_of(question).open or question
    return without_choices(question, choices)

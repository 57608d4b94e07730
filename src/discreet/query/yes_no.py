"""Yes/no questions as a choice among three public answers: yes, no, not said; if the algorithm can choose."""

from discreet.algorithms.common.algorithm import Algorithm
from discreet.algorithms.common.grounded_votes import NO, YES
from discreet.query.question_kinds import recognise

NOT_SAID = "not said"
CHOICES = (YES, NO, NOT_SAID)


def with_choices(algorithm: Algorithm, question: str) -> Algorithm:
    """Return the algorithm for `question`: with the choices yes, no and not said if it is a yes/no question.

    An algorithm that cannot choose, or that has choices, a prefix or a fallback, is returned unchanged.
    """
    return algorithm.with_choices(CHOICES, NOT_SAID) if recognise(question).name == "yes-no" else algorithm

"""A yes/no question is a choice among three public answers, where the algorithm can choose: yes, no, not said."""

from discreet.algorithms.common.algorithm import Algorithm
from discreet.algorithms.common.grounded_votes import NO, YES
from discreet.query.question_kinds import recognise

NOT_SAID = "not said"
CHOICES = (YES, NO, NOT_SAID)


def with_choices(algorithm: Algorithm, question: str) -> Algorithm:
    """Return the algorithm as it answers `question`: with the choices yes, no and not said if it asks for yes or no.

    An algorithm that cannot choose, or was given choices, a prefix or a fallback, does not change.
    """
    return algorithm.with_choices(CHOICES, NOT_SAID) if recognise(question).name == "yes-no" else algorithm

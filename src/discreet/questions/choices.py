"""Questions that name their answers: yes or no, or one of several things. Each is a vote among public choices."""

import re
from collections.abc import Sequence

from discreet.algorithms.common.algorithm import Algorithm
from discreet.algorithms.common.grounded_votes import NO, YES
from discreet.algorithms.text.normalize import claim_of, plain_question, without_choices
from discreet.questions.sentences import sentence_of

NOT_SAID = "not said"
CHOICES = (YES, NO, NOT_SAID)
_YES_NO = re.compile(
    r"(?:is|are|was|were|am|do|does|did|has|have|had|can|could|will|would|shall|should|may|might|must)(?:n't)? \w",
    re.IGNORECASE,
)
_NOT_YES_NO = re.compile(
    r"^(?:can|could|would|will|do|have) you (?!think)|^(?:is|are) there (?:any|some)(?:thing|one|body)\b|"
    r"\bor\b|\b(?:what|how|why)\b",
    re.IGNORECASE,
)


def is_yes_no(question: str) -> bool:
    """Return whether yes or no answers a question. A choice between two things is no yes/no question."""
    plain = plain_question(question)
    last, asks = sentence_of(plain), not plain.rstrip().endswith((".", "!"))
    return asks and bool(_YES_NO.match(last)) and not _NOT_YES_NO.search(last)


_PREPOSITION = r"(?:with|by|of|to|as|on|in|for|using|from|at|against)"
_THING = r"(?:an? |the |either )?(?P<{0}>[\w'.-]+(?: [\w'.-]+)?)"
_EITHER = re.compile(
    rf"(?:is|are|was|were|do|does|did|should|can)\b[^,:]*\b{_PREPOSITION} {_THING.format('a')},? or "
    rf"(?:{_PREPOSITION} )?{_THING.format('b')}",
    re.IGNORECASE,
)
_AFTER_ALL = re.compile(
    r"(?:which|what|who)\b[^,:]+[,:] (?P<some>(?:[^,:]{1,40}, )*[^,:]{1,40}?),? or (?P<last>[^,:]{1,40})", re.IGNORECASE
)


def named_choices(question: str) -> tuple[str, ...]:
    """Return the answers that a question names; none if it names none for certain.

    "Is it treated with tea or with oil?", "Which helps against gout: tea, oil or rest?"
    """
    plain = sentence_of(question)
    if found := _EITHER.fullmatch(plain):
        named = [found["a"], found["b"]]
    elif found := _AFTER_ALL.fullmatch(plain):
        parts = [*found["some"].split(", "), found["last"]]
        named = [re.sub(rf"^(?:{_PREPOSITION} )?(?:an?|the) ", "", one.strip(), flags=re.IGNORECASE) for one in parts]
    else:
        return ()
    alone = all(0 < len(one.split()) < 4 and not _NOT_YES_NO.search(one) for one in named)
    return tuple(named) if alone and len(set(map(str.casefold, named))) == len(named) else ()


def with_choices(algorithm: Algorithm, question: str) -> Algorithm:
    """Return the algorithm for `question`: with the choices yes, no and not said if it is a yes/no question.

    An algorithm that cannot choose, or that has choices, a prefix or a fallback, is returned unchanged.
    """
    return algorithm.with_choices(CHOICES, NOT_SAID) if is_yes_no(question) else algorithm


def searched(question: str, choices: Sequence[str]) -> str:
    """Return the text that documents are compared with: public, a function of the question and the public choices.

    It is the open question of a yes/no question that is such a choice, and a question between other choices without
    them. Without choices it is the question, as in the papers.
    """
    if tuple(choices) == CHOICES:
        return claim_of(question).open or question
    return without_choices(question, choices)

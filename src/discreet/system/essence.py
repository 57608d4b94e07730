"""What makes two questions the same: their words that have a meaning."""

import re

# Words that do not change the meaning of a question.
_EMPTY = frozenset(
    "a an the is are was were be do does did can could would will shall please tell me us you i my of for to in on at "
    "it its this that there what what's whats".split()
)


def essence(question: str) -> tuple[str, ...]:
    """Return the words of a question that have a meaning, in order, without their case."""
    return tuple(word for word in re.findall(r"[\w']+", question.casefold()) if word not in _EMPTY)

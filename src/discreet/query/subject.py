"""Whether a question names anything that documents could speak of. "Hello", "help" and "What can I ask?" do not."""

import re

_NOTHING = frozenset(
    """
    a about all an any anything are ask at be by can could data database do document documents does everything file
    files find for from get give go good greetings have hello help here hey hi how i in information inside is it kind
    kinds know let like list many me more morning much my need note notes of ok okay on or please question questions
    record records say see show some something start tell test testing text texts thank thanks that the them there
    these they thing things this those to us vault want we what when where which who whom whose why with would yes you
    your
    """.split()
)
_TALK = frozenset(
    "ask data database document documents file files greetings hello help hey hi note notes question questions record "
    "records thank thanks vault you".split()
)
"""Words of which one must be there: a greeting, or the vault itself. "Why?" is asked as before."""


def names_nothing(question: str) -> bool:
    """Return whether a question has only question words, and a greeting or a word for the documents themselves."""
    words = re.findall(r"\w+", question.casefold().replace("\u2019", "'"))
    return bool(_TALK.intersection(words)) and all(word in _NOTHING for word in words)

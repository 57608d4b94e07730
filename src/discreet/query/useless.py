"""Public rules that find released answers without information. They read the question and the released text alone.

A released text is public, so the rules cost nothing. In doubt, an answer is useful.
"""

import re
from collections.abc import Sequence

from discreet.algorithms.text.normalize import ARTICLES, LABELS, LINKS, words_of

_POLAR = frozenset(("yes", "no"))
_YES_NO = frozenset(
    "is are was were am do does did can could will would should has have had may might must shall".split()
)
# Words that carry no answer by themselves, for any question.
_EMPTY = (
    ARTICLES
    | LABELS
    | LINKS
    | _YES_NO
    | frozenset(
        """
        not no yes nor none nothing unknown unclear unsure known said stated given mentioned specified
        provided available there here be being and or but so as if of for in on at to from with by among
        within about than into per both text note summary information detail description report say state
        mention describe summarize summarise contain provide include refer use i you we who what which when
        where why how following based according regarding
        """.split()
    )
)
_YEAR = re.compile(r"\s*(?:(?:in|since|until|by) )?(?:which|what) year\b(?! of)", re.IGNORECASE)
# The words of `_EMPTY` that may answer "A or B?".
_ALTERNATIVES = ARTICLES | frozenset(("both", "none"))


def useless(question: str, text: str, released: Sequence[str] = (), choices: Sequence[str] = ()) -> str:
    """Return the reason why a released answer has no information; an empty text if it may have some.

    Args:
        question: the question.
        text: the released answer.
        released: the short answer or the keywords in it.
        choices: the public choices of the answer. A choice always has information.
    """
    asked = words_of(question)
    if choices:
        return ""
    either = "or" in asked  # the answer to "A or B?" is a word of the question
    said = [words_of(one) for one in (text, *released)]
    if asked and asked[0] in _YES_NO and any(_decides(words) for words in said):
        return ""
    forms = {form for word in asked for form in _forms(word)}
    empty = _EMPTY - _ALTERNATIVES if either else _EMPTY
    new = [word for words in said for word in words if not _forms(word) & empty]
    if not new:
        return "it says nothing"
    if _YEAR.match(question) and not any(letter.isdigit() for one in (text, *released) for letter in one):
        return "it names no year"
    if not either and all(_forms(word) & forms for word in new):
        return "it only repeats the question"
    return ""


def _decides(words: Sequence[str]) -> bool:
    """Return whether an answer begins with yes or no, and does not repeat these words alone."""
    return bool(words) and words[0] in _POLAR and (len(words) == 1 or not set(words) <= _POLAR)


def _forms(word: str) -> frozenset[str]:
    """Return a word and its possible stems."""
    stems = [word]
    for ending in ("s", "es", "d", "ed", "ing", "'s"):
        if word.endswith(ending) and len(word) - len(ending) > 2:
            stems.append(word[: -len(ending)])
    return frozenset(stems)

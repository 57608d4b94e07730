"""The plain yes/no question inside a polite or a doubtful one, from its text alone.

"Can you tell me if X is treated with A?", "X is treated with A, right?" and "Is it true that X is treated with A?" all
ask "Is X treated with A?" In doubt, a question is unchanged.
"""

import re
from functools import lru_cache

_PLEASE = r"(?:please |kindly )?"
_TELL = (
    rf"(?:{_PLEASE}(?:(?:can|could|would|will) you )?{_PLEASE}(?:tell (?:me|us)|say|check|confirm|find out|see|look up)"
    r"|(?:i|we)(?:'d| would) like to know|(?:i|we) (?:want|need) to know|i wonder|do you (?:happen to )?know)"
)
_TRUE = r"(?:true|right|correct|so|the case)"
_NOTES = r"(?:(?:the|our|these|my|all) )?(?:notes|documents|records|letters|files|texts|data)"
_THINK = r"(?:i (?:think|thought|believe|guess|assume|heard|read)|we (?:think|believe)|it seems)(?: that)?"
_RIGHT = rf"(?:(?:is|was) (?:that|this|it) {_TRUE}|am i (?:right|correct)|right|correct)"
_TAG = rf"(?:{_RIGHT}|(?:is|are|do|does)(?:n't)? (?:it|they))"
_STATED = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"{_TELL} (?:if|whether) (?P<said>.+)",
        rf"(?:is it {_TRUE}|am i (?:right|correct)(?: in (?:thinking|saying))?) that (?P<said>.+)",
        rf"do(?:es)? {_NOTES} (?:say|state|show|mention) that (?P<said>.+)",
        rf"{_THINK} (?P<said>[^.?!]+)[.,;] {_RIGHT}",
        rf"(?P<said>[^.?!]+), {_TAG}",
    )
)
"""Forms that have a statement in them."""
_WHAT = re.compile(
    r"(?:would|is|are|was|were|will) (?P<value>.+?) (?:be )?what (?P<who>(?:the |our )?(?:patients|people) with .+?) "
    r"(?:get|receive|take|are given)",
    re.IGNORECASE,
)
_BE = re.compile(r"(?P<who>.+?) (?P<be>is|are|was|were|can|could|should|may|will) (?P<rest>.+)", re.IGNORECASE)
_VERB = re.compile(
    r"(?P<who>(?:(?!\bha(?:s|ve|d)\b).)+?) "
    r"(?P<verb>help|treat|cure|heal|relieve|cause|get|receive|take|include|come)(?P<one>s?) (?P<rest>.+)",
    re.IGNORECASE,
)
_HAVE = re.compile(r"(?P<who>.+?) ha(?P<one>s|ve) (?!(?:been|had|not) )(?P<rest>.+)", re.IGNORECASE)


@lru_cache(maxsize=256)
def plain_question(question: str) -> str:
    """Return the yes/no question that a text asks, without what is around it; the text itself if it has no such form.

    Args:
        question: the text of a question, of any kind.
    """
    text = " ".join(question.replace("\u2019", "'").split()).rstrip(" ?.!")
    for form in _STATED:
        if (found := form.fullmatch(text)) and (asked := _asked(found["said"])):
            return f"{asked}?"
    if what := _WHAT.fullmatch(text):
        return f"Are {what['who']} given {what['value']}?"
    return question


def _asked(said: str) -> str:
    """Return the question of a statement, "Is X treated" for "X is treated"; "" if its verb is unknown."""
    if found := _BE.fullmatch(said):
        return f"{found['be'].capitalize()} {found['who']} {found['rest']}"
    if found := _VERB.fullmatch(said):
        return f"{'Does' if found['one'] else 'Do'} {found['who']} {found['verb']} {found['rest']}"
    if found := _HAVE.fullmatch(said):
        return f"{'Does' if found['one'] == 's' else 'Do'} {found['who']} have {found['rest']}"
    return ""

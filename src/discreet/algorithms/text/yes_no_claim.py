"""A yes/no question as a claim about a subject and a value, from its text alone.

"Is cold tea used to treat Thunder Heart?" claims the value "cold tea" for the subject "Thunder Heart". A claim about a
treatment has an open question, too: "What is the treatment for Thunder Heart?" Other claims have none. The forms are
those of English questions about diseases. A question of another form has no subject, and all its words are the value.

The claim may be wrapped in a polite or a doubtful question: "Can you tell me if X is treated with A?", "X is treated
with A, right?" and "Is it true that X is treated with A?" all ask "Is X treated with A?" In doubt, a question is
unchanged.
"""

import re
from dataclasses import dataclass
from functools import lru_cache

from discreet.algorithms.text.keywords import STOP_WORDS
from discreet.algorithms.text.normalize import LABELS, words_of

_PATIENTS = r"(?:the )?(?:patients|people|those|persons|children|adults|cases) with"
_BE = r"(?:is|are|was|were|can|could|should|may)(?:n't)?"
_DO = r"(?:do|does|did|can|could|will|may|might|has|have)(?:n't)?"
_OFTEN = r"(?:(?:be|usually|often|sometimes|typically|normally|commonly|ever|also) ){0,3}"
_REMEDY = r"(?:treatment|therapy|remedy|cure|medicine|medication|drug)s?"
_TREATING = rf"(?:to (?:treat|cure|heal)|(?:for|in) treating|(?:as|in) (?:an? |the )?{_REMEDY} (?:for|of)|against)"
_GIVEN = r"(?:used|given|prescribed|recommended|taken|indicated|effective|helpful|good|administered)"
_HELP = r"(?:treat|cure|heal|relieve|help against|help with|help|work against)"
_DOCTORS = r"(?:(?:the |our )?doctors|we|they|you)"
_TREATMENTS = (
    rf"{_BE} (?P<value>.+?) {_OFTEN}{_GIVEN} (?:{_TREATING}|for) (?P<subject>.+)",
    rf"{_BE} (?P<value>.+?) {_OFTEN}(?:an? |the |one )?(?:\w+ )??{_REMEDY} (?:for|of|against|in) "
    r"(?P<subject>.+?)(?: cases| patients)?",
    rf"{_BE} (?P<subject>.+?) {_OFTEN}(?:treated|cured|healed|managed) (?:with|by|using|through) (?P<value>.+)",
    rf"{_DO} (?P<value>.+?) {_OFTEN}{_HELP} (?P<subject>.+)",
    rf"{_BE} {_PATIENTS} (?P<subject>.+?) {_OFTEN}(?:treated with|given|prescribed) (?P<value>.+)",
    rf"{_DO} {_DOCTORS} {_OFTEN}(?:prescribe|give|recommend|use) (?P<value>.+?) (?:for|{_TREATING}) (?P<subject>.+)",
    rf"{_DO} {_DOCTORS} {_OFTEN}(?:treat|cure|manage) (?P<subject>.+?) (?:with|by|using) (?P<value>.+)",
)
_SIGN = r"(?:symptom|sign|complaint|feature|effect)s?"
_HAVE = r"(?:have|get|feel|report|suffer from|complain (?:of|about)|experience|show|notice|develop|receive|take)"
_CAUSE = r"(?:cause|causes|bring|produce|lead to|come with|include|involve|result in|have)"
_OTHERS = (
    rf"{_BE} (?P<value>.+?) {_OFTEN}(?:an? |the |one |among the )?(?:\w+ )??{_SIGN} (?:of|in|for) (?P<subject>.+)",
    rf"{_DO} {_PATIENTS} (?P<subject>.+?) {_OFTEN}{_HAVE} (?P<value>.+)",
    rf"{_DO} (?P<subject>.+?) {_OFTEN}{_CAUSE} (?P<value>.+)",
)
_RECEIVED = re.compile(r"\b(?:get|receive|take)\b")
_FRAME = frozenset("patient people note document record use mention symptom sign common usual".split())
NEGATIONS = frozenset(
    "no not never without nor denies denied excludes excluded isn't aren't wasn't doesn't don't".split()
)


@dataclass(frozen=True)
class Claim:
    """The claim of a yes/no question.

    Attributes:
        subject: the words of the subject; empty if the question has no known form.
        value: the words that are claimed of the subject; all words of the question if it has no known form.
        open: the open question for the value, if it asks for a treatment; empty if the documents alone decide.
        received: whether the value may be a treatment that a patient received.
        without: whether the value itself has a negation: "cuts that do not bleed".
        negated: whether the question denies its claim: "Is tea not used to treat ...?" Voters abstain on such a
            question.
    """

    subject: tuple[str, ...]
    value: tuple[str, ...]
    open: str = ""
    received: bool = False
    without: bool = False
    negated: bool = False


def claim_of(question: str) -> Claim:
    """Return the claim of a yes/no question."""
    text = " ".join(plain_question(question).replace("\u2019", "'").split()).rstrip(" ?.!")
    asked = re.split(r"(?<=[.?!]) ", text)[-1]
    for treats, patterns in ((True, _TREATMENTS), (False, _OTHERS)):
        for pattern in patterns:
            found = re.fullmatch(pattern, asked, re.IGNORECASE)
            subject, value = (content(found[name]) for name in ("subject", "value")) if found else (None, None)
            if found and subject and value:
                open_ = f"What is the treatment for {found['subject']}?" if treats else ""
                received = treats or bool(_RECEIVED.search(asked))
                without = _denies(words_of(found["value"])[1:-1])
                inside = [*words_of(found["subject"])[1:-1], *words_of(found["value"])[1:-1]]
                negated = _denies(words_of(asked)[1:]) > _denies(inside)
                return Claim(subject, value, open_, received, without > 0, negated)
    return Claim((), content(text), negated=_denies(words_of(asked)[1:]) > 0)


def _denies(words: list[str]) -> int:
    """Return the number of negations among the words."""
    return sum(word in NEGATIONS for word in words)


def content(text: str) -> tuple[str, ...]:
    """Return the content words of a phrase, without their endings, each once."""
    kept = (word for word in words_of(text) if word not in STOP_WORDS and word not in LABELS)
    bare = (stem(part) for word in kept for part in word.split("-"))
    return tuple(dict.fromkeys(word for word in bare if word not in _FRAME))


def stem(word: str) -> str:
    """Return a word without its ending."""
    for ending in ("ments", "ment", "ings", "ing", "ed", "es", "s"):
        if word.endswith(ending) and not word.endswith("ss") and len(word) - len(ending) > 2:
            word = word[: -len(ending)]
            break
    return word.rstrip("e") if len(word) > 3 else word


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
_WRAPPED_BE = re.compile(r"(?P<who>.+?) (?P<be>is|are|was|were|can|could|should|may|will) (?P<rest>.+)", re.IGNORECASE)
_VERB = re.compile(
    r"(?P<who>(?:(?!\bha(?:s|ve|d)\b).)+?) "
    r"(?P<verb>help|treat|cure|heal|relieve|cause|get|receive|take|include|come)(?P<one>s?) (?P<rest>.+)",
    re.IGNORECASE,
)
_WRAPPED_HAVE = re.compile(r"(?P<who>.+?) ha(?P<one>s|ve) (?!(?:been|had|not) )(?P<rest>.+)", re.IGNORECASE)


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
    if found := _WRAPPED_BE.fullmatch(said):
        return f"{found['be'].capitalize()} {found['who']} {found['rest']}"
    if found := _VERB.fullmatch(said):
        return f"{'Does' if found['one'] else 'Do'} {found['who']} {found['verb']} {found['rest']}"
    if found := _WRAPPED_HAVE.fullmatch(said):
        return f"{'Does' if found['one'] == 's' else 'Do'} {found['who']} have {found['rest']}"
    return ""

"""Who is counted, and what holds of them: "patients with Winter Hand were given cold tea"; counts and shares of it.

A sentence is read from the outside to the inside. What frames it goes first ("how many", "what share of"). Then a
statement about units is left. Tests of fields are marks by then. What no frame takes stays in a phrase, so that no word
is lost. The other kinds of statistics are read with it.
"""

import re
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal

from discreet.questions.marks import MARKED
from discreet.questions.sentences import FLAGS, Nouns, entry, pattern, phrase

AND = "\n"
"""Stands between parts that hold together: each of them is whole."""


Kind = Literal["count", "share", "difference", "compare", "trend", "typical", "list", "summary"]
"""The kinds of statistics."""


@dataclass(frozen=True)
class Slots:
    """The parts of a question, in its own words.

    Attributes:
        kind: the kind of the statistic.
        of: what is counted; a part that must not hold begins with "not ".
        among: who is counted; "" for all.
        groups: what a difference or a comparison compares.
        attribute: what is listed or measured.
        by: "month", "quarter" or "year" of a trend.
        what: "mean", "median" or "quartiles" of a typical number.
        most: how many values are listed; 0 if the question does not say.
        language: the language of the phrases; English if empty.
    """

    kind: Kind
    of: str = ""
    among: str = ""
    groups: tuple[str, ...] = ()
    attribute: str = ""
    by: str = ""
    what: str = ""
    most: int = 0
    language: str = ""

    @property
    def parts(self) -> tuple[str, ...]:
        """All its phrases."""
        return (self.of, self.among, *self.groups, self.attribute)


_DETERMINED = pattern("statements.determined")
_ALL_THE = pattern("statements.all_the")
_LEADS = pattern("statements.leads")
_LIKELY, _TO_DO = pattern("statements.likely"), re.compile(r"\bto (?=\w+)", FLAGS)


_WITH = entry("statements.with")
_CONNECT = entry("statements.connect")
_PASSIVE_FIRST = pattern("statements.passive_first")
_DROPPED = re.compile(rf"^(?:{_WITH}|in(?! (?:[a-z]+ )?\d{{4}}\b))\s+", FLAGS)
AUXILIARY = frozenset(entry("statements.auxiliary").split())
VERBS = frozenset(entry("statements.verbs").split())
_ADVERBS = frozenset("also ever still then later already usually often actually".split())
_RELATIVE = frozenset("who that which whom whose and or but".split())
_NO_VERB = _RELATIVE | frozenset(entry("statements.no_verb").split())
_AFTER_PAST = frozenset("a an the their his her its with for of from in by to on against at after within early".split())
_HELPERS = "|".join(sorted({*AUXILIARY, *_ADVERBS, *entry("statements.helpers").split()}, key=len, reverse=True))
_LEAD = re.compile(rf"(?:(?:{_HELPERS})\b\s*)*", FLAGS)
_NOT = re.compile(r"\b(?:not|never|cannot)\b|n't\b|\bcan't\b", FLAGS)
_LIGHT = pattern("statements.light")
"""Verbs that add nothing to the thing that they are about."""
_NO = re.compile(r"(?:(?:with |having )?no|neither|lack(?:s|ed|ing)?|without|free of)\s+(?:an? |any )?", FLAGS)
_THERE = pattern("statements.there")


def statement(text: str, nouns: Nouns) -> Slots | None:
    """Return what a statement about units says, and who narrows them; None if it names no units first."""
    found = _head(nouns).match(text)
    if found is None:
        return None
    narrow = found["noun"] if re.fullmatch(nouns.narrow, found["noun"], FLAGS) else ""
    rest = found["rest"].strip()
    while (shorter := _THERE.sub("", rest)) != rest:
        rest = shorter
    qualifier, predicate = _split(rest)
    named = " ".join(filter(None, (phrase(found["mod"] or ""), narrow)))
    who = joined(named, *map(_of_qualifier, qualifier.split(AND)))
    return Slots("count", holds(predicate), among=who) if predicate else Slots("count", who)


@lru_cache(32)
def _head(nouns: Nouns) -> re.Pattern[str]:
    of_them = r"(?:all|the|of|my|our|your|these|those|different|distinct|unique|every|any|individual|single|many)"
    no_mark = (
        "with|in|of|for|among|that|who|and|or|per|each|by|to|from|as|than|is|are|was|were|do|does|did|have|has|had|how|"
        "what|which|about|on"
    )
    word = rf"(?!{of_them}\b|(?:{no_mark})\b)[\w-]+"
    return re.compile(
        rf"(?:{of_them}\s+)*(?P<mod>(?:{word}\s+){{0,2}}?)(?P<noun>{nouns.counted})\b(?![-'/]\w)(?P<rest>.*)", FLAGS
    )


def _split(rest: str) -> tuple[str, str]:
    """Return the part before the main verb, and the part from it on; each can be empty."""
    first, marked = "", re.match(rf"((?:in {MARKED} ?)+)(?!(?:and|or)\b|,)", rest)
    if marked:
        first, rest = marked[1].strip(), rest[marked.end() :]
    who, verb = _split_words(rest) if rest else ("", "")
    return AND.join(filter(None, (first, who))), verb


def _split_words(rest: str) -> tuple[str, str]:
    words = rest.split(" ")
    relative = words[0].casefold() in ("who", "that", "which", "whose")
    treated = _PASSIVE_FIRST.match(rest)
    if not relative and not treated and not re.match(rf"{_CONNECT}\b", rest, FLAGS):
        return "", rest
    start = 1 if relative else 2
    if relative:
        while start < len(words) and re.fullmatch(_HELPERS, words[start], FLAGS):
            start += 1
        start += 1
    at = _main_verb(words, start)
    if treated and not at:
        return "", rest
    while at > 1 and words[at - 1].casefold() in _ADVERBS:
        at -= 1
    who = next((i for i, word in enumerate(words) if i > 1 and word.casefold() in ("who", "that", "which")), 0)
    held = " ".join(words[who + 1 :])
    if not at and not relative and who and (words[who].casefold() == "who" or _LEAD.sub("", held, count=1) != held):
        return " ".join(words[:who]), held
    return (" ".join(words[:at]), " ".join(words[at:])) if at else (rest, "")


def _main_verb(words: list[str], start: int) -> int:
    """Return the index of the main verb, or 0."""
    low = [word.casefold().strip(",") for word in words]
    free = [i for i in range(start, len(low)) if low[i - 1] not in _NO_VERB]
    auxiliaries = [i for i in free if low[i] in AUXILIARY]
    verbs = [i for i in free if low[i] in VERBS]
    past = [i for i in free if low[i].endswith("ed") and (i + 1 == len(low) or low[i + 1] in _AFTER_PAST)]
    return next(iter(auxiliaries or verbs or past), 0)


def _of_qualifier(qualifier: str) -> str:
    """Return a population: "Winter Hand" for "with Winter Hand"; a denial stays in it."""
    if none := _NO.match(qualifier):
        return f"not {phrase(qualifier[none.end() :])}"
    if relative := re.match(r"(?:who|that|which|whose)\s+", qualifier, FLAGS):
        return holds(qualifier[relative.end() :])
    return phrase(_DROPPED.sub("", qualifier))


def holds(predicate: str) -> str:
    """Return what a predicate says: "had no fever" gives "not fever"."""
    lead = _LEAD.match(predicate)
    begin = lead.end() if lead else 0
    denied, rest = bool(_NOT.search(predicate[:begin])), predicate[begin:]
    rest = re.sub(r"^been\s+", "", (_LIGHT.sub("", rest, count=1) if _LIGHT.match(rest) else "") or rest, flags=FLAGS)
    if none := _NO.match(rest):
        rest, denied = rest[none.end() :], not denied
    rest = re.sub(r"\bnor\b", "or", phrase(_DROPPED.sub("", rest) if none is None else rest))
    return f"not {rest}" if denied and rest else rest


def group(text: str, nouns: Nouns) -> str:
    """Return the phrase of a group: "Winter Hand" for "in patients with Winter Hand", "women" for "women"."""
    text = re.sub(rf"^(?:among|in|for|with|at|of|by|to|from|on)\s+(?!{MARKED})", "", text.strip(), flags=FLAGS)
    found = statement(text, nouns)
    return (joined(found.among, found.of) if found else "") or _of_qualifier(text)


# --- counts and shares ------------------------------------------------------------------------------------------------

SHARE = entry("statements.share")
_COUNT_LEAD = entry("statements.count_lead")
_SHARE_LEAD = entry("statements.share_lead")
FRAME_WORDS = entry("statements.frame_words")
_FRAME = re.compile(rf"(?:{FRAME_WORDS}\b[\s,:.-]*)*", FLAGS)
"""Words before what is asked for, which say nothing of it."""
AMONG = entry("statements.among")
NOTED = entry("statements.noted")
_CLOSING = pattern("statements.closing")
_VERB_WORDS = "|".join(sorted(AUXILIARY | VERBS, key=len, reverse=True))
_PLAIN_VERBS = "|".join(sorted({"have", *(one for one in VERBS if not one.endswith("s") or one == "miss")}))
_VERB_FIRST = re.compile(rf"(?:{_VERB_WORDS}|\w+ed)\b", FLAGS)
_BY_NAME = re.compile(rf"(?P<who>(?!(?:{_VERB_WORDS}) )[\w-]+s) (?P<holds>(?:{_VERB_WORDS})\b.*)", FLAGS)
"""Units by another name: "diabetics have ulcers"."""


def counted(kind: Kind, text: str, nouns: Nouns) -> Slots | None:
    """Return the slots of a count or a share: of what stands after its lead, or before it if nothing does."""
    lead = re.search(_COUNT_LEAD if kind == "count" else f"{_SHARE_LEAD}|{_COUNT_LEAD}", text, FLAGS)
    if lead is None:
        return stated(kind, text, nouns) if kind == "share" or statement(text, nouns) else None
    before, after = text[: lead.start()].strip(" ,:-"), text[lead.end() :].strip(" ,:-")
    if after and not _FRAME.fullmatch(before):
        return None
    return stated(kind, without_closing(after or before, nouns), nouns)


def joined(*parts: str) -> str:
    """Return parts that hold together."""
    return AND.join(filter(None, parts))


def without_closing(text: str, nouns: Nouns) -> str:
    """Return a text without words that close it and say nothing."""
    text = _DETERMINED.sub("", text)
    while (shorter := _CLOSING.sub("", text)) != text and shorter:
        text = shorter
    return text


def stated(kind: Kind, text: str, nouns: Nouns) -> Slots | None:
    """Return the slots of a statement, in one of its orders. A test before its verb is of its subject."""
    text = re.sub(rf"^(?=in {MARKED} (?:is|are|was|were|has|have|had|do|does|did)\b)", f"{nouns.plural} ", text)
    lead = re.sub(r"^(?:is|are|was|were|do|does|did|has|have|had|the|it) (?=\w+ )", "", text, flags=FLAGS)
    held = statement(text, nouns) or statement(lead, nouns) or condition_first(lead, nouns)
    if held is None and (named := _BY_NAME.fullmatch(text)):
        held = Slots(kind, holds(named["holds"]), among=named["who"])
    if held is None and _VERB_FIRST.match(text):
        held = statement(f"{nouns.plural} {text}", nouns)
    if held is None and (of := holds(lead)):
        held = Slots(kind, of)
    return held and replace(held, kind=kind)


def condition_first(text: str, nouns: Nouns) -> Slots | None:
    """Return the slots of "fever among patients with Winter Hand"."""
    text, noted = re.subn(rf" (?:been )?{NOTED}(?= {AMONG} )", "", text, count=1, flags=FLAGS)
    text = re.sub(rf" (?:been )?{NOTED} (?:to|by)(?= )", " among", text, count=1, flags=FLAGS)
    for found in re.finditer(rf"(?<=\w),? {AMONG} ", text, FLAGS):  # the first may be inside: "pain in the chest"
        who = text[found.end() :]
        named = noted or statement(re.sub(r"^(?:an?|all|the|our|those|any)\s+", "", who, flags=FLAGS), nouns)
        if named or re.match(MARKED, who):
            of = holds(text[: found.start()])
            return Slots("count", of, among=whom(who, nouns)) if of else None
    return None


def whom(text: str, nouns: Nouns) -> str:
    """Return the population that a phrase names; "" for all units."""
    bare = _ALL_THE.sub("", text.strip(" ,"))
    return "" if re.fullmatch(nouns.people, bare, FLAGS) else group(bare, nouns)


def share(text: str, nouns: Nouns) -> Slots | None:
    """Return the slots of a share."""
    if leads := _LEADS.fullmatch(text):
        return Slots("share", phrase(leads["what"]), among=whom(leads["who"], nouns))
    if likely := _LIKELY.fullmatch(text):
        held = statement(with_verb(_TO_DO.sub("do ", likely["rest"], count=1)), nouns)
        if held and held.of and held.among:
            return replace(held, kind="share")
    return counted("share", text, nouns)


def with_verb(rest: str) -> str:
    """Return a statement whose verb is marked as such: "do patients with X recover" has its helper in front."""
    return (
        rest if " do " in rest.casefold() else re.sub(rf" (?=(?:{_PLAIN_VERBS})\b)", " do ", rest, count=1, flags=FLAGS)
    )

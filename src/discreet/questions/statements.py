"""Who is counted, and what holds of them: "patients with Winter Hand were given cold tea"."""

import re
from dataclasses import dataclass
from functools import lru_cache

from discreet.questions.marks import MARKED
from discreet.questions.sentences import FLAGS, Nouns, phrase

AND = "\n"
"""Stands between parts that hold together: each of them is whole."""


@dataclass(frozen=True)
class Statement:
    """A statement about units.

    Attributes:
        who: what narrows the units, before the verb.
        holds: what holds of them.
        denied: whether it must not hold.
        said: whether the statement has a verb; without, `holds` is empty.
    """

    who: str = ""
    holds: str = ""
    denied: bool = False
    said: bool = True


_CONNECT = (
    r"(?:with|having|in|on|from|of|at|under|over|above|below|aged|between|living in|suffering from|treated with|"
    r"diagnosed with|admitted (?:with|for|to)|older than|younger than|given|taking|using|born|without|lacking|about|"
    r"complaining (?:of|about)|affected by|seeking|receiving|represented by|insured with|presenting with|exhibiting)"
)
_PASSIVE_FIRST = re.compile(
    r"(?:treated|seen|admitted|referred|represented|advised|insured|employed|hired|infected|affected) (?:by|in|at|"
    r"for|to)\s",
    FLAGS,
)
_DROPPED = re.compile(
    r"(?:with|having|in(?! (?:[a-z]+ )?\d{4}\b)|from|of|at|about|suffering from|diagnosed with|complaining (?:of|"
    r"about)|"
    r"treated with|admitted (?:with|for|to)|given|taking|using|living in|affected by|seeking|receiving|exhibiting|"
    r"presenting with)\s+",
    FLAGS,
)
_WITHOUT = re.compile(r"(?:without|lacking|with no|having no|free of)\s+(?:an? |any )?", FLAGS)
AUXILIARY = frozenset(
    "have has had haven't hasn't hadn't were was are is weren't wasn't aren't isn't did do does don't doesn't didn't "
    "got get gets can could will would must not never".split()
)
VERBS = frozenset(
    "receive receives received mention mentions mentioned contain contains complain complains complained report "
    "reports "
    "reported suffer suffers suffered show shows showed develop develops developed experience experiences take took "
    "use "
    "uses need needs want wants died die recovered recover recovers lost won paid pay sued sold bought fell went came "
    "made felt feel feels left smoke smokes smoked vape vapes defaulted default return returned ask asks asked lack "
    "lacks "
    "lacked live work prefer own hold signed sign drink drinks regain regained say says said think thinks gave give "
    "wear "
    "wears drive drives miss misses refuse refused sleep sleeps withhold withheld cancel cancelled resign resigned sue "
    "settle settled appeal appealed wait waited stay stayed call called describe describes described note noted".split()
)
_SEEN = re.compile(
    r"\s+(?:that |which |who |do |did |have |had ){0,2}(?:we|i) (?:(?:have|had) )?(?:seen|see|treated|have|had)$", FLAGS
)
_ADVERBS = frozenset("also ever still then later already usually often actually".split())
_RELATIVE = frozenset("who that which whom whose and or but".split())
_NO_VERB = _RELATIVE | frozenset(
    "a an the no my our their his her of with when while if on in at to for from by about and or".split()
)
_AFTER_PAST = frozenset("a an the their his her its with for of from in by to on against at after within early".split())
_HELPERS = (
    r"(?:have|has|had|do|does|did|is|are|was|were|be|been|being|can|could|will|would|may|might|to|ever|also|already|"
    r"actually|currently|usually|often|typically|normally|really|then|not|never|both|"
    r"(?:have|has|had|do|does|did|is|are|was|were|could|would)n't|can't|cannot|won't)"
)
_LEAD = re.compile(rf"(?:{_HELPERS}\b\s*)*", FLAGS)
_NOT = re.compile(r"\b(?:not|never|cannot)\b|n't\b|\bcan't\b", FLAGS)
_LIGHT = re.compile(
    r"(?:(?:receiv(?:e|es|ed)|gets?|got|gotten|(?:tak(?:e|es|en)|took)(?! (?:out|part|over|up)\b)|suffer(?:s|ed)? "
    r"(?:from|of)|"
    r"complain(?:s|ed)? (?:of|about)|mention(?:s|ed)?(?: an?)?|report(?:s|ed)?|show(?:s|ed)?|develop(?:s|ed)?|"
    r"experienced?s?|"
    r"contain(?:s|ed)?|involv(?:e|es|ed)|concern(?:s|ed)?|describ(?:e|es|ed)|exhibit(?:s|ed)?|not(?:e|es|ed)|uses?|"
    r"used|"
    r"(?:talk|wrote|write|writes)(?:s|ed)? (?:something )?about|refer(?:s|red)? to|say something about|given|"
    r"prescribed|"
    r"offered|treated (?:with|for|by means of|using)|diagnosed (?:with|as)|admitted (?:with|for)|put on|affected by|"
    r"infected with|found to have|having|had|suffering from|complaining (?:of|about)|own(?:s|ed)?|hold|seen with|"
    r"(?:sought|seek|ask(?:ed)? for) (?:legal )?(?:advice|help) on|"
    r"there(?: are| were)?|(?:came|come)(?: in| here| to us) with|present(?:s|ed)? with)\b\s*)",
    FLAGS,
)
"""Verbs that add nothing to the thing that they are about."""
_NO = re.compile(r"(?:no|neither|lack(?:s|ed)?|without|free of)\s+(?:an? |any )?", FLAGS)
_THERE = re.compile(
    r"^(?:there(?: are| were)?|(?:are|were|is) there|out of (?:all )?(?:those|the ones)|(?:do|did|have) (?:we|i) "
    r"(?:have|see|seen|treat)|"
    r"in (?:the|my|our|this|these) (?:notes|documents|records|data|vault|corpus|collection|files|system))\b\s*|"
    r"^(?:are|were|have been|did we have|do we have|do i have)$|(?<=\w) (?:are|were|have been) there$|^, ",
    FLAGS,
)


def statement(text: str, nouns: Nouns) -> Statement | None:
    """Return the statement about units that a text makes, or None if it names no units first."""
    found = _head(nouns).match(text)
    if found is None:
        return None
    before = phrase(found["mod"] or "")
    narrow = found["noun"] if re.fullmatch(nouns.narrow, found["noun"], FLAGS) else ""
    rest = _SEEN.sub("", found["rest"].strip())
    while (shorter := _THERE.sub("", rest)) != rest:
        rest = shorter
    qualifier, predicate = _split(rest)
    named = " ".join(filter(None, (before, narrow)))
    who = AND.join(filter(None, (named, _narrowing(qualifier))))
    if predicate:
        held, denied = holds(predicate)
        return Statement(who, held, denied)
    if named:
        return Statement(holds=who)
    if AND in qualifier:
        return Statement(holds=_narrowing(qualifier))
    held, denied = _of_qualifier(qualifier)
    return Statement("", held, denied, said=bool(qualifier))


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
    inner = _in_clauses(low)
    free = [
        i for i in range(start, len(low)) if low[i - 1] not in _NO_VERB and i not in inner and not _is_name(words[i])
    ]
    auxiliaries = [i for i in free if low[i] in AUXILIARY]
    verbs = [i for i in free if low[i] in VERBS]
    past = [i for i in free if low[i].endswith("ed") and (i + 1 == len(low) or low[i + 1] in _AFTER_PAST)]
    return next(iter(auxiliaries or verbs or past), 0)


def _in_clauses(low: list[str]) -> set[int]:
    """Return the indices of the verbs of inner clauses: those of "do not bleed" in "cuts that do not bleed"."""
    inner = set[int]()
    for at in (i + 1 for i, word in enumerate(low) if i and word in ("that", "which")):
        end = at
        while end < len(low) and low[end] in AUXILIARY | _ADVERBS:
            end += 1
        inner |= set(range(at, end + 1))
    return inner


def _is_name(word: str) -> bool:
    return word[:1].isupper() and not word.isupper()


def _narrowing(qualifier: str) -> str:
    """Return a population: "Winter Hand" for "with Winter Hand"; a denial stays in it."""
    found = []
    for one in filter(None, qualifier.split(AND)):
        held, denied = _of_qualifier(one)
        found.append(f"not {held}" if denied else held)
    return AND.join(found)


def _of_qualifier(qualifier: str) -> tuple[str, bool]:
    if _WITHOUT.match(qualifier):
        return phrase(_WITHOUT.sub("", qualifier, count=1)), True
    relative = re.match(r"(?:who|that|which|whose)\s+", qualifier, FLAGS)
    if relative:
        return holds(qualifier[relative.end() :])
    return phrase(_DROPPED.sub("", qualifier, count=1) if _DROPPED.match(qualifier) else qualifier), False


def holds(predicate: str) -> tuple[str, bool]:
    """Return what a predicate says, and whether it is denied: "had no fever" gives ("fever", True)."""
    lead = _LEAD.match(predicate)
    begin = lead.end() if lead else 0
    denied = bool(_NOT.search(predicate[:begin]))
    rest = predicate[begin:]
    if not rest:
        return "", denied
    rest = _LIGHT.sub("", rest, count=1) if _LIGHT.match(rest) and _LIGHT.sub("", rest, count=1) else rest
    rest = re.sub(r"^been\s+", "", rest, flags=FLAGS)
    rest = re.sub(r"^to be (?=\w)", "", rest, flags=FLAGS)
    if none := _NO.match(rest):
        rest, denied = rest[none.end() :], not denied
    elif dropped := _DROPPED.match(rest):
        rest = rest[dropped.end() :]
    return re.sub(r"\bnor\b", "or", phrase(rest)), denied


def group(text: str, nouns: Nouns) -> str:
    """Return the phrase of a group: "Winter Hand" for "in patients with Winter Hand", "women" for "women"."""
    text = re.sub(r"^(?:among|in|for|with|at|of|by|to|from|on)\s+(?!\u16d7)", "", text.strip(), flags=FLAGS)
    found = statement(text, nouns)
    if found is None or not found.said:
        held, denied = _of_qualifier(text)
        return f"not {held}" if denied else held
    if found.who:
        return AND.join(filter(None, (found.who, f"not {found.holds}" if found.denied else found.holds)))
    return f"not {found.holds}" if found.denied else found.holds

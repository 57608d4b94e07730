"""Who is counted, and what holds of them: "patients with Winter Hand were given cold tea"."""

import re
from dataclasses import dataclass
from functools import lru_cache

from discreet.query.requests.phrases import FLAGS, Nouns, phrase


@dataclass(frozen=True)
class Holding:
    """A statement about units.

    Attributes:
        population: what narrows the units, before the verb.
        condition: what holds of them.
        negated: whether it must not hold.
        said: whether the statement has a verb; without, the condition is empty.
    """

    population: str
    condition: str
    negated: bool
    said: bool


_CONNECT = (
    r"(?:with|having|in|on|from|of|at|under|over|above|below|aged|between|living in|suffering from|treated with|"
    r"diagnosed with|admitted (?:with|for|to)|older than|younger than|given|taking|using|born|without|lacking)"
)
_TREATED = re.compile(
    r"(?:treated|seen|admitted|referred|represented|advised|insured|employed|hired|infected|"
    r"affected) (?:by|in|at|for|to)\s",
    FLAGS,
)
_DROPPED = re.compile(
    r"(?:with|having|in(?! (?:[a-z]+ )?\d{4}\b)|on|from|of|at|about|suffering from|treated with|diagnosed with|"
    r"admitted (?:with|for|to)|given|taking|"
    r"using|living in)\s+",
    FLAGS,
)
_IN_A_PERIOD = re.compile(r"(?:in|during|before|after|between|until) (?:[a-z]+ )?\d{4}\b", FLAGS)
_WITHOUT = re.compile(r"(?:without|lacking|with no|having no)\s+", FLAGS)
_AUXILIARY = frozenset(
    "have has had haven't hasn't hadn't were was are is weren't wasn't aren't isn't did do does don't doesn't didn't "
    "got get gets can could will would must not never".split()
)
_VERBS = frozenset(
    "receive receives received mention mentions mentioned contain contains complain complains complained "
    "report reports reported suffer suffers suffered show shows showed develop develops developed "
    "experience experiences take took use uses need needs want wants died die recovered recover lost won "
    "paid pay sued sold bought fell went came made felt left smoke smokes defaulted default return "
    "returned ask asks asked lack lacks lacked live work prefer own hold signed sign".split()
)
_SEEN = re.compile(
    r"\s+(?:that |which |who |do |did |have |had ){0,2}(?:we|i) (?:(?:have|had) )?(?:seen|see|treated|have|had)$", FLAGS
)
_ADVERBS = frozenset("also ever still then later already usually often".split())
_RELATIVE = frozenset("who that which whom whose and or but".split())
_NO_VERB = _RELATIVE | frozenset("a an the no my our their his her of with when while if".split())
_AFTER_PAST = frozenset("a an the their his her its with for of from in by to on against at after within early".split())
_HELPERS = (
    r"(?:have|has|had|do|does|did|is|are|was|were|be|been|being|can|could|will|would|may|might|to|ever|also|already|"
    r"actually|still|currently|usually|often|typically|normally|sometimes|really|then|not|never|both|"
    r"(?:have|has|had|do|does|did|is|are|was|were|could|would)n't|can't|cannot|won't)"
)
_LEAD = re.compile(rf"(?:{_HELPERS}\b\s*)*", FLAGS)
_NOT = re.compile(r"\b(?:not|never|cannot)\b|n't\b|\bcan't\b", FLAGS)
_EMPTY_VERB = re.compile(
    r"(?:(?:receiv(?:e|es|ed)|gets?|got|gotten|(?:tak(?:e|es|en)|took)(?! (?:out|part|over|up)\b)|suffer(?:s|"
    r"ed)? (?:from|of)|"
    r"complain(?:s|ed)? (?:of|about)|mention(?:s|ed)?|report(?:s|ed)?|show(?:s|ed)?|develop(?:s|ed)?|experienced?s?|"
    r"contain(?:s|ed)?|uses?|used|talk(?:s|ed)? about|refer(?:s|red)? to|say something about|given|prescribed|offered|"
    r"treated (?:with|by means of|using)|diagnosed (?:with|as)|admitted (?:with|for)|put on|affected by|"
    r"infected with|found to have|having|had|suffering from|complaining (?:of|about)|on|own(?:s|ed)?|hold|"
    r"there(?: are| were)?|(?:came|come)(?: in| here| to us) with|present(?:s|ed)? with)\b\s*)",
    FLAGS,
)
_NO = re.compile(r"(?:no|neither|lack(?:s|ed)?|without|free of)\s+", FLAGS)


def statement(text: str, nouns: Nouns) -> Holding | None:
    """Return the statement about units that a text makes, or None if it names no units first."""
    found = _head(nouns).match(text)
    if found is None:
        return None
    before = phrase(found["mod"] or "")
    narrow = re.fullmatch(nouns.narrow, found["noun"], FLAGS)
    rest = re.sub(r"^\s*(?:there\b|are there\b|were there\b|is there\b)\s*", " ", found["rest"], flags=FLAGS).strip()
    rest = re.sub(r"^(?:are|were|have been|did we have|do we have|do i have)$", "", rest, flags=FLAGS)
    rest = re.sub(r"(?<=\w) (?:are|were|have been) there$", "", _SEEN.sub("", rest), flags=FLAGS)
    rest = re.sub(r"^(?:out of|of|among) (?:all )?(?:those|the ones)\s+", "", rest, flags=FLAGS)
    rest = re.sub(r"^(?:do|did) (?:we|i) (?:have|see|treat)\s+", "", rest, flags=FLAGS)
    rest = re.sub(r"^(?:do|did|are|were|have) (?:we|i)\s+", "", rest, flags=FLAGS)
    rest = re.sub(r"^in (?:the|my|our|this) (?:notes|documents|records|data|vault|corpus)\s+", "", rest, flags=FLAGS)
    qualifier, predicate = _split(rest)
    kept = " ".join(part for part in (before, found["noun"] if narrow or qualifier else "") if part)
    if kept and not qualifier and not predicate and (before or narrow):
        return Holding("", kept, negated=False, said=True)
    if before or narrow:
        population = f"{kept} {qualifier}".strip() if predicate and qualifier else kept
    else:
        population = _narrowing(qualifier) if predicate else ""
    if predicate:
        condition, negated = holds(predicate)
        if population and _IN_A_PERIOD.match(condition):
            return Holding("", f"{population} {condition}", negated, said=True)
        return Holding(population, condition, negated, said=True)
    condition, negated = _of_qualifier(qualifier)
    return Holding(population, condition, negated, said=bool(qualifier))


@lru_cache(32)
def _head(nouns: Nouns) -> re.Pattern[str]:
    of_them = r"(?:all|the|of|my|our|your|these|those|different|distinct|every|any)"
    no_mark = (
        "with|in|of|for|among|that|who|and|or|per|each|by|to|from|as|than|is|are|was|were|do|does|did|have|has|had"
    )
    word = rf"(?!{of_them}\b|(?:{no_mark})\b)[\w-]+"
    return re.compile(
        rf"(?:{of_them}\s+)*(?P<mod>(?:{word}\s+){{0,2}}?)(?P<noun>{nouns.counted})\b(?![-'/]\w)(?P<rest>.*)", FLAGS
    )


def _split(rest: str) -> tuple[str, str]:
    """Return the part before the main verb, and the part from it on; each can be empty."""
    words = rest.split(" ")
    relative = words[0].casefold() in ("who", "that", "which", "whose")
    treated = _TREATED.match(rest)
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
    who = next((i for i, word in enumerate(words) if i > 1 and word.casefold() == "who"), 0)
    if not at and not relative and who:
        return " ".join(words[:who]), " ".join(words[who + 1 :])
    return (" ".join(words[:at]), " ".join(words[at:])) if at else (rest, "")


def _main_verb(words: list[str], start: int) -> int:
    """Return the index of the main verb, or 0."""
    low = [word.casefold().strip(",") for word in words]
    inner = _in_clauses(low)
    free = [
        i for i in range(start, len(low)) if low[i - 1] not in _NO_VERB and i not in inner and not _is_name(words[i])
    ]
    auxiliaries = [i for i in free if low[i] in _AUXILIARY]
    verbs = [i for i in free if low[i] in _VERBS]
    past = [i for i in free if low[i].endswith("ed") and (i + 1 == len(low) or low[i + 1] in _AFTER_PAST)]
    return next(iter(auxiliaries or verbs or past), 0)


def _in_clauses(low: list[str]) -> set[int]:
    """Return the indices of the verbs of inner clauses: those of "do not bleed" in "cuts that do not bleed"."""
    inner = set[int]()
    for at in (i + 1 for i, word in enumerate(low) if i and word in ("that", "which")):
        end = at
        while end < len(low) and low[end] in _AUXILIARY | _ADVERBS:
            end += 1
        inner |= set(range(at, end + 1))
    return inner


def _is_name(word: str) -> bool:
    return word[:1].isupper() and not word.isupper()


def _narrowing(qualifier: str) -> str:
    """Return a population: "Winter Hand" for "with Winter Hand"; a denial stays in it."""
    if _WITHOUT.match(qualifier):
        return f"without {phrase(_WITHOUT.sub('', qualifier, count=1))}"
    relative = re.match(r"(?:who|that|which)\s+", qualifier, FLAGS)
    if relative:
        inner, negated = holds(qualifier[relative.end() :])
        return f"not {inner}" if negated else inner
    return phrase(_DROPPED.sub("", qualifier, count=1) if _DROPPED.match(qualifier) else qualifier)


def _of_qualifier(qualifier: str) -> tuple[str, bool]:
    if _WITHOUT.match(qualifier):
        return phrase(_WITHOUT.sub("", qualifier, count=1)), True
    relative = re.match(r"(?:who|that|which)\s+", qualifier, FLAGS)
    return holds(qualifier[relative.end() :]) if relative else (_narrowing(qualifier), False)


def holds(predicate: str) -> tuple[str, bool]:
    """Return the condition of a predicate, and whether it is denied: "had no fever" gives ("fever", True)."""
    lead = _LEAD.match(predicate)
    begin = lead.end() if lead else 0
    negated = bool(_NOT.search(predicate[:begin]))
    rest = predicate[begin:]
    if begin == len(predicate) or not rest:
        return "", negated
    rest = _EMPTY_VERB.sub("", rest, count=1) if _EMPTY_VERB.match(rest) and _EMPTY_VERB.sub("", rest, 1) else rest
    rest = re.sub(r"^been\s+", "", rest, flags=FLAGS)
    if none := _NO.match(rest):
        rest, negated = rest[none.end() :], not negated
    elif dropped := _DROPPED.match(rest):
        rest = rest[dropped.end() :]
    return re.sub(r"\bnor\b", "or", phrase(rest)), negated


def group(text: str, nouns: Nouns) -> str:
    """Return the phrase of a group: "Winter Hand" for "in patients with Winter Hand", "women" for "women"."""
    text = re.sub(r"^(?:among|in|for|with|at|of|by|to|from|on)\s+", "", text.strip(), flags=FLAGS)
    found = statement(text, nouns)
    if found is None or not found.said:
        return phrase(text)
    if found.population:
        return phrase(text)
    return f"without {found.condition}" if found.negated else found.condition

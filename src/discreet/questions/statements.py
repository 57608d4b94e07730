"""The slots of a question: who is counted, and what holds of them; and what is compared, listed, measured, or followed.

A sentence is read from the outside to the inside. What frames it goes first ("how many", "what share of"). Then a
statement about units is left. Tests of fields are marks by then. What no frame takes stays in a phrase, so that no word
is lost. The kinds of statistics are forms of it, in `words.toml`, and each part of a form is read as a statement.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import Literal

from discreet.questions.marks import MARKED
from discreet.questions.sentences import FLAGS, Nouns, Section, entry, is_plural, pattern, phrase, refusal, strip, table

_STATEMENTS = Section("statements")
_UNDERSTANDING = Section("understanding")
_LISTS = Section("lists")
_COMPARISONS = Section("comparisons")

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


_TO_DO = re.compile(r"\bto (?=\w+)", FLAGS)
_WITH = entry("statements.with")
_CONNECT = entry("statements.connect")
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
_NO = re.compile(r"(?:(?:with |having )?no|neither|lack(?:s|ed|ing)?|without|free of)\s+(?:an? |any )?", FLAGS)


def statement(text: str, nouns: Nouns) -> Slots | None:
    """Return what a statement about units says, and who narrows them; None if it names no units first."""
    found = _head(nouns).match(text)
    if found is None:
        return None
    narrow = found["noun"] if re.fullmatch(nouns.narrow, found["noun"], FLAGS) else ""
    qualifier, predicate = _split(strip(_STATEMENTS.there, found["rest"].strip()))
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
    return joined(first, who), verb


def _split_words(rest: str) -> tuple[str, str]:
    words = rest.split(" ")
    relative = words[0].casefold() in ("who", "that", "which", "whose")
    treated = _STATEMENTS.passive_first.match(rest)
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
    rest = re.sub(
        r"^been\s+",
        "",
        (_STATEMENTS.light.sub("", rest, count=1) if _STATEMENTS.light.match(rest) else "") or rest,
        flags=FLAGS,
    )
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
    if not _FRAME.fullmatch(before):  # "patients with fever: how many are there?"
        after = strip(_STATEMENTS.closing, f" {after}").strip()
        return None if after else stated(kind, without_closing(before), nouns)
    return stated(kind, without_closing(after or before), nouns)


def joined(*parts: str) -> str:
    """Return parts that hold together."""
    return AND.join(filter(None, parts))


def without_closing(text: str) -> str:
    """Return a text without words that close it and say nothing."""
    return strip(_STATEMENTS.closing, _STATEMENTS.determined.sub("", text))


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
    bare = _STATEMENTS.all_the.sub("", text.strip(" ,"))
    return "" if re.fullmatch(nouns.people, bare, FLAGS) else group(bare, nouns)


def share(text: str, nouns: Nouns) -> Slots | None:
    """Return the slots of a share."""
    if leads := _STATEMENTS.leads.fullmatch(text):
        return Slots("share", phrase(leads["what"]), among=whom(leads["who"], nouns))
    if likely := _STATEMENTS.likely.fullmatch(text):
        held = statement(with_verb(_TO_DO.sub("do ", likely["rest"], count=1)), nouns)
        if held and held.of and held.among:
            return replace(held, kind="share")
    return counted("share", text, nouns)


def with_verb(rest: str) -> str:
    """Return a statement whose verb is marked as such: "do patients with X recover" has its helper in front."""
    return (
        rest if " do " in rest.casefold() else re.sub(rf" (?=(?:{_PLAIN_VERBS})\b)", " do ", rest, count=1, flags=FLAGS)
    )


# --- lists, and typical numbers ---------------------------------------------------------------------------------------

_LIST_CLOSING = re.compile(rf"(?: {entry('lists.list_verbs')})+$", FLAGS)
_NUMBER_FRAME, _ACTION, _NOISE = pattern("lists.frame_of_number"), entry("lists.action"), entry("lists.noise")
_ACTIONS, _WHAT = table("lists.actions"), table("lists.what")
_MEASURES = {name: re.compile(one, FLAGS) for name, one in table("lists.measures").items()}
_NUMBERS = {word: int(number) for number, said in table("lists.numbers").items() for word in said.split("|")}
VAGUE, ALL_SAY = pattern("lists.vague"), pattern("lists.all_say")
"""What a question asks for if it does not know what the book calls it; what begins a summary of what all say."""


def _head_and_who(text: str, nouns: Nouns) -> tuple[str, str]:
    """Return what is listed or measured, and of whom: "drugs do patients with gout take" gives ("drugs", "gout")."""
    text = _LISTS.kinds_of.sub("", text)
    reasons = _LISTS.reasons.fullmatch(text)
    if reasons and not (statement(reasons["thing"], nouns) or re.match(MARKED, reasons["thing"])):
        return reasons["what"], whom(reasons["who"] or "", nouns)
    stop = _LISTS.stop.search(text)
    if stop is None:
        return phrase(text), ""
    head, who = phrase(text[: stop.start()]), _LISTS.leads.sub("", text[stop.start() :].strip(" ,"))
    who = _LIST_CLOSING.sub("", who).strip()
    held = statement(who, nouns)
    if held and held.among and len(held.of.split()) == 1:  # the verb of what is listed, or a test that it would lose
        return head, held.among
    first = None if held else condition_first(who, nouns)
    return head, joined(first.of, first.among) if first else whom(who, nouns)


def split_groups(text: str, names: Sequence[str]) -> tuple[str, str]:
    """Return a question without its groups, and what these are by: "complaints by ward" gives ("complaints", "ward").

    Args:
        text: the question.
        names: the words for what may be grouped by, beside months, quarters and years.

    Raises:
        CannotAnswer: if it is by two things.
    """
    some = "|".join(("month", "quarter", "year", *map(re.escape, sorted(names, key=len, reverse=True))))
    found = re.search(entry("lists.groups").replace("NAMES", some), text, FLAGS)
    if found is None:
        return text, ""
    if found["more"]:
        raise refusal("two-things.by_two")
    rest = " ".join(f"{text[: found.start()]} {text[found.end() :]}".split()).replace(" ,", ",")
    return rest, (found["by"] or "month").casefold()


def list_values(text: str, nouns: Nouns) -> Slots | None:
    """Return the slots of "What do patients complain about most?" and "the 5 most common symptoms of Zonkitis"."""
    text = _LISTS.rank.sub("", text)
    for attribute, verb in _ACTIONS.items():
        if found := re.fullmatch(_ACTION.replace("VERB", verb), text, FLAGS):
            among = joined(whom(found["who"], nouns), phrase(found["more"] or ""))
            return Slots("list", among=among, attribute=attribute)
    lead = _LISTS.list_lead.match(text)
    rest = " ".join(_LISTS.often.sub("", text[lead.end() :] if lead else text).split())
    number = next((lead[one].casefold() for one in "nkm" if lead[one]), "") if lead else ""
    attribute, who = _head_and_who(rest, nouns)
    if not attribute or len(attribute.split()) > (6 if _LISTS.reasons.match(attribute) else 4):
        return None
    if not is_plural(re.split(" (?:of|for) ", attribute)[0]):
        attribute = re.sub("([^aeiou])ys$", r"\1ies", re.sub("iss$", "es", f"{attribute}s"))
    single = lead is not None and _LISTS.single.match(lead[0]) is not None
    most = int(number) if number.isdecimal() else _NUMBERS.get(number, int(single))
    return Slots("list", among=who, attribute=attribute, most=most)


def typical(text: str, nouns: Nouns) -> Slots | None:
    """Return the slots of a typical number; the median if the question names none."""
    named = ((one.start(), name) for name, said in _WHAT.items() if (one := re.search(rf"\b(?:{said})\b", text, FLAGS)))
    what = min(named, default=(0, "median"))[1]
    plain = re.sub(_NOISE.replace("WHAT", "|".join(_WHAT.values())), "", text, flags=FLAGS)
    plain = _NUMBER_FRAME.sub("", " ".join(plain.split()).strip(" ,-"))
    for name, measure in _MEASURES.items():
        if found := measure.fullmatch(plain):
            attribute, who = name, whom(found[found.lastgroup] if found.lastgroup else "", nouns)
            break
    else:
        attribute, who = _head_and_who(plain, nouns)
    if not attribute or len(attribute.split()) > 4:
        return None
    return Slots("typical", among=who, attribute=nouns.field(attribute) or attribute, what=what)


# --- differences and comparisons --------------------------------------------------------------------------------------
# A form of `words.toml` finds the two sides, and what is said of them: of groups of units it is a comparison of how
# often one thing holds; else it is the difference of two counts.

_FORMS = tuple(re.compile(one, FLAGS) for one in table("comparisons.forms").values())
"""The first one that fits has the sides, `a` and `b` or `some`, and `of` or `said`: what is compared."""
_NO_THING, _OF_UNITS = entry("comparisons.no_thing"), entry("comparisons.of_units")
_LESS = re.compile(r"\b(?:fewer|less|rarer|lower|smaller)\b", FLAGS)
_BETWEEN = (r"\s*,\s*(?:(?:and|or)\s+)?|\s+(?:and|or|versus|vs)\s+", r"\s+(?:to|against)\s+", r"\s+with\s+")
_EACH_VALUE = re.compile(rf"[\s,:]*\bacross((?: in {MARKED})+) apart\b[\s,:]*")


def compare(text: str, nouns: Nouns) -> Slots | None:
    """Return the slots of a comparison: of two counts, or of how often one thing holds in several groups."""
    if each := _EACH_VALUE.search(text):
        return _by_value(text, each, nouns)
    text = _COMPARISONS.asked.sub("", _COMPARISONS.then.sub(r"\1 than", _COMPARISONS.tail.sub("", text).strip(" ,")))
    for form in _FORMS:
        if (found := form.fullmatch(text)) and (slots := _compared(found, nouns)):
            return slots
    return None


def _by_value(text: str, each: re.Match[str], nouns: Nouns) -> Slots | None:
    """Return the slots of "fever by ward": a comparison of a field's values; a list of these if nothing is said."""
    if re.match(rf"(?:and|&|by)\b(?! in {MARKED})", text[each.end() :], FLAGS):
        raise refusal("two-things.by")
    rest = _COMPARISONS.by.sub("", f"{text[: each.start()]} {text[each.end() :]}".strip(" ,:"))
    found = counted("share", rest, nouns) or counted("count", rest, nouns) or stated("share", rest, nouns)
    if found is None:
        return None
    values, who = tuple(re.findall(MARKED, each[1])), f"{found.of} {found.among}".strip()
    if not re.sub(rf"\b(?:in|and|{nouns.people})\b|{MARKED}|[ ,]", "", who, flags=FLAGS):
        return Slots("list", attribute=values[0], among=who)  # tests alone
    return _in_groups(found.of or found.among, values, found.among if found.of else "")


def _compared(found: re.Match[str], nouns: Nouns) -> Slots | None:
    """Return the slots of the parts of a form."""
    parts = found.groupdict("")
    sides = _several(parts["some"]) if "some" in parts else (parts.get("a", ""), parts["b"])
    less = "b" in parts and _LESS.search(found.string[: found.start("b")]) is not None
    of = parts.get("thing") or parts.get("of") or parts.get("first", "")
    if "said" in parts:  # "do women have fever more often than men?"
        held = statement(with_verb(parts["said"]), nouns)
        if held is None or not (held.among and held.of):
            return _pair((_COMPARISONS.seen.sub("", parts["said"]), parts["b"]), nouns, less=less)
        if not re.search(rf"\b{nouns.counted}\b|{_OF_UNITS}", parts["b"], FLAGS):
            return _pair((held.of, parts["b"]), nouns, held.among, less=less)
        return _in_groups(held.of, _groups((held.among, parts["b"]), nouns))
    what = holds(without_closing(_COMPARISONS.seen.sub("", of)))
    if re.fullmatch(_NO_THING.replace("COUNTED", nouns.counted), what, FLAGS):
        return _pair(sides, nouns, less=less)
    if "thing" not in parts and (held := statement(what, nouns)):
        return _pair(sides, nouns, held.among) if "first" in parts else None
    return _in_groups(what, _groups(sides, nouns))


def _in_groups(of: str, groups: tuple[str, ...], among: str = "") -> Slots | None:
    of = _COMPARISONS.rate.sub("", of)
    return Slots("compare", of, among, groups) if of and len(groups) > 1 and all(groups) else None


def _groups(sides: Sequence[str], nouns: Nouns) -> tuple[str, ...]:
    """Return the groups of the sides; one that is all others is those of which the first does not hold."""
    named = [group(_COMPARISONS.side.sub("", one.strip()), nouns) for one in sides]
    return tuple(f"not {named[0]}" if _COMPARISONS.others.fullmatch(one.strip()) else one for one in named)


def _pair(sides: Sequence[str], nouns: Nouns, among: str = "", *, less: bool = False) -> Slots | None:
    """Return the difference of two counts, with what both share as the population."""
    if len(sides) != 2:
        return None
    (a, shared), (b, own) = (_side(one, nouns) for one in sides)
    a, b = _COMPARISONS.side.sub("", a), _COMPARISONS.side.sub("", b)
    if not a or not b or a == b:
        return None
    if all(re.search(MARKED, one) for one in sides) or (shared and own and shared != own):
        # Of two groups by tests, what is said of one alone is meant of both: `understanding` parts it.
        a, b, shared, own = joined(a, shared), joined(b, own), "", ""
    return Slots("difference", among=joined(among, shared or own), groups=(b, a) if less else (a, b))


def _side(text: str, nouns: Nouns) -> tuple[str, str]:
    """Return one side of a difference: the thing, and what else narrows the units."""
    text = _COMPARISONS.number.sub("", text.strip(" ,"))
    text = _COMPARISONS.noted.sub("", text) or text
    held = statement(with_verb(text), nouns) or condition_first(text, nouns)
    if held is None:
        return holds(_COMPARISONS.bare.sub("", text)), ""
    thing, *more = [*filter(None, (*held.of.split(AND), *held.among.split(AND)))] or [""]
    return thing, AND.join(more)


def _several(text: str) -> tuple[str, ...]:
    parts = ([part for part in re.split(one, text, flags=FLAGS) if part.strip()] for one in _BETWEEN)
    return tuple(next((some for some in parts if len(some) > 1), ()))


# --- the slots of a kind ----------------------------------------------------------------------------------------------

_A_YEAR = re.compile(r" an? (?P<by>month|quarter|year)$", FLAGS)
_NAMED = {"yr": "year", "mont": "month", "quar": "quarter", "year": "year", "annu": "year"}
_AT_ENDS = re.compile(rf"^in (?P<first>{MARKED})\b[ ,]*|[ ,]*\bin (?P<last>{MARKED})$")


def slots_of(text: str, kind: Kind, nouns: Nouns) -> Slots | None:
    """Return the slots of a sentence that is of a kind; None if it has another form.

    Args:
        text: the sentence, without polite words, with its tests as marks.
        kind: the kind that is asked for.
        nouns: the words for units.
    """
    by, found = "", _UNDERSTANDING.period.search(text) or _UNDERSTANDING.adjective.search(text)
    if found := found or (_A_YEAR.search(text) if kind == "trend" else None):
        by = _NAMED[next(filter(None, found.groups()))[:4].casefold()]
        text = " ".join(f"{text[: found.start()]} {text[found.end() :]}".split()).strip(" ,:")
    if _EACH_VALUE.search(text):
        if by or kind in ("typical", "summary") or _UNDERSTANDING.course.search(text):
            raise refusal("two-things.groups")
        kind = "compare"
    read = partial(_trend, timed=True) if by and kind in ("count", "share", "trend") else _READ[kind]
    front = _UNDERSTANDING.front.fullmatch(text) if kind not in ("trend", "summary") else None
    if front and (slots := read(front["rest"], nouns)):
        slots = replace(slots, among=joined(whom(front["who"] or front["mark"], nouns), slots.among))
    else:
        slots = read(text, nouns)
    return slots and replace(slots, by=by)


def _trend(text: str, nouns: Nouns, *, timed: bool = False) -> Slots | None:
    bare = _UNDERSTANDING.course.sub("", text).strip(" ,:")
    timed, marks = timed or bare != text.strip(" ,:"), []
    while found := _AT_ENDS.search(bare):  # periods stand before or after what they are of
        marks.append(found["first"] or found["last"])
        bare = f"{bare[: found.start()]}{bare[found.end() :]}".strip(" ,")
    lead = _UNDERSTANDING.asked.match(bare)
    asked = lead[0] if lead else ""
    what = bare[len(asked) :]
    changed = strip(_UNDERSTANDING.changes, what)
    if not (changed != what or timed or marks or _UNDERSTANDING.shown.search(asked)):
        return None
    what = _UNDERSTANDING.cases.sub("", without_closing(changed))
    slots = counted("share", what, nouns) or stated("trend", what, nouns) if what else Slots("trend")
    if slots is None:
        return None
    of = "" if _UNDERSTANDING.all_units.fullmatch(slots.of) else slots.of
    return replace(slots, kind="trend", of=of, among=joined(slots.among, *marks))


def _summary(text: str, nouns: Nouns) -> Slots:
    return Slots("summary", among=whom(_UNDERSTANDING.summed.sub("", _UNDERSTANDING.summary.sub("", text)), nouns))


_READ: dict[Kind, Callable[[str, Nouns], Slots | None]] = {
    "count": partial(counted, "count"),
    "share": share,
    "compare": compare,
    "trend": _trend,
    "typical": typical,
    "list": list_values,
    "summary": _summary,
}

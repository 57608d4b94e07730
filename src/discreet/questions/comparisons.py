"""Differences and comparisons: "How many more people have A than B?", "Is A more common with B than with C?".

A form of `words.toml` finds the two sides, and what is said of them: of groups of units it is a comparison of how often
one thing holds; else it is the difference of two counts.
"""

import re
from collections.abc import Sequence

from discreet.errors import CannotAnswer
from discreet.questions.marks import MARKED
from discreet.questions.sentences import FLAGS, Nouns, entry, pattern, table
from discreet.questions.statements import (
    AND,
    Slots,
    condition_first,
    counted,
    group,
    holds,
    joined,
    stated,
    statement,
    with_verb,
    without_closing,
)

_FORMS = tuple(re.compile(one, FLAGS) for one in table("comparisons.forms").values())
"""The first one that fits has the sides, `a` and `b` or `some`, and `of` or `said`: what is compared."""
_THEN, _TAIL, _ASKED, _BY = (pattern(f"comparisons.{one}") for one in ("then", "tail", "asked", "by"))
_SEEN, _RATE, _NUMBER, _NOTED = (pattern(f"comparisons.{one}") for one in ("seen", "rate", "number", "noted"))
_SIDE, _BARE, _OTHERS = (pattern(f"comparisons.{one}") for one in ("side", "bare", "others"))
_NO_THING, _OF_UNITS = entry("comparisons.no_thing"), entry("comparisons.of_units")
_LESS = re.compile(r"\b(?:fewer|less|rarer|lower|smaller)\b", FLAGS)
_BETWEEN = (r"\s*,\s*(?:(?:and|or)\s+)?|\s+(?:and|or|versus|vs)\s+", r"\s+(?:to|against)\s+", r"\s+with\s+")
EACH_VALUE = re.compile(rf"[\s,:]*\bacross((?: in {MARKED})+) apart\b[\s,:]*")


def compare(text: str, nouns: Nouns) -> Slots | None:
    """Return the slots of a comparison: of two counts, or of how often one thing holds in several groups."""
    if each := EACH_VALUE.search(text):
        return _by_value(text, each, nouns)
    text = _ASKED.sub("", _THEN.sub(r"\1 than", _TAIL.sub("", text).strip(" ,")))
    for form in _FORMS:
        if (found := form.fullmatch(text)) and (slots := _compared(found, nouns)):
            return slots
    return None


def _by_value(text: str, each: re.Match[str], nouns: Nouns) -> Slots | None:
    """Return the slots of "fever by ward": a comparison of a field's values; a list of these if nothing is said."""
    if re.match(rf"(?:and|&|by)\b(?! in {MARKED})", text[each.end() :], FLAGS):
        raise CannotAnswer("two-things", "Groups are of one field, and it asks by another one, too. Ask by one.")
    rest = _BY.sub("", f"{text[: each.start()]} {text[each.end() :]}".strip(" ,:"))
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
            return _pair((_SEEN.sub("", parts["said"]), parts["b"]), nouns, less=less)
        if not re.search(rf"\b{nouns.counted}\b|{_OF_UNITS}", parts["b"], FLAGS):
            return _pair((held.of, parts["b"]), nouns, held.among, less=less)
        return _in_groups(held.of, _groups((held.among, parts["b"]), nouns))
    what = holds(without_closing(_SEEN.sub("", of), nouns))
    if re.fullmatch(_NO_THING.replace("COUNTED", nouns.counted), what, FLAGS):
        return _pair(sides, nouns, less=less)
    if "thing" not in parts and (held := statement(what, nouns)):
        return _pair(sides, nouns, held.among) if "first" in parts else None
    return _in_groups(what, _groups(sides, nouns))


def _in_groups(of: str, groups: tuple[str, ...], among: str = "") -> Slots | None:
    of = _RATE.sub("", of)
    return Slots("compare", of, among, groups) if of and len(groups) > 1 and all(groups) else None


def _groups(sides: Sequence[str], nouns: Nouns) -> tuple[str, ...]:
    """Return the groups of the sides; one that is all others is those of which the first does not hold."""
    first, *others = (group(_SIDE.sub("", one.strip()), nouns) for one in (*sides, "")[: max(1, len(sides))])
    return (first, *(f"not {first}" if _OTHERS.fullmatch(one.strip()) else one for one in others))


def _pair(sides: Sequence[str], nouns: Nouns, among: str = "", *, less: bool = False) -> Slots | None:
    """Return the difference of two counts, with what both share as the population."""
    if len(sides) != 2:
        return None
    (a, shared), (b, own) = (_side(one, nouns) for one in sides)
    a, b = _SIDE.sub("", a), _SIDE.sub("", b)
    if not a or not b or a == b:
        return None
    if all(re.search(MARKED, one) for one in sides) or (shared and own and shared != own):
        # Of two groups by tests, what is said of one alone is meant of both: `understanding` parts it.
        a, b, shared, own = joined(a, shared), joined(b, own), "", ""
    return Slots("difference", among=joined(among, shared or own), groups=(b, a) if less else (a, b))


def _side(text: str, nouns: Nouns) -> tuple[str, str]:
    """Return one side of a difference: the thing, and what else narrows the units."""
    text = _NUMBER.sub("", text.strip(" ,"))
    text = _NOTED.sub("", text) or text
    held = statement(with_verb(text), nouns) or condition_first(text, nouns)
    if held is None:
        return holds(_BARE.sub("", text)), ""
    thing, *more = filter(None, (*held.of.split(AND), *held.among.split(AND)))
    return thing, AND.join(more)


def _several(text: str) -> tuple[str, ...]:
    parts = ([part for part in re.split(one, text, flags=FLAGS) if part.strip()] for one in _BETWEEN)
    return tuple(next((some for some in parts if len(some) > 1), ()))

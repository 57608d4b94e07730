"""Differences and comparisons: "How many more people have A than B?", "Is A more common with B than with C?".

One reading finds the two sides, and what is said of them: where a side is a group of units, it is a comparison of how
often one thing holds; else it is the difference of two counts.
"""

import re

from discreet.errors import CannotAnswer
from discreet.questions.marks import MARKED
from discreet.questions.sentences import FLAGS, Nouns, entry, pattern
from discreet.questions.statements import (
    AMONG,
    AND,
    NOTED,
    SHARE,
    Slots,
    Statement,
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

_MORE = entry("comparisons.more")
_THAN = entry("comparisons.than")
_ASKED = pattern("comparisons.asked")
_TAIL = pattern("comparisons.tail")
_SEEN_OFTEN = entry("comparisons.seen_often")
_OPEN = pattern("comparisons.open")
_COMPARED = pattern("comparisons.compared")
_DIFFERS = pattern("comparisons.differs")
_BETWEEN = pattern("comparisons.between")
EACH_VALUE = re.compile(rf"[\s,:]*\bacross((?: in {MARKED})+) apart\b[\s,:]*")
_LESS = re.compile(r"\b(?:fewer|less|rarer|lower|smaller)\b", FLAGS)


_TAIL_GROUPS = pattern("comparisons.tail_groups")
_INSIDE = pattern("comparisons.inside")
_BY_GROUPS = pattern("comparisons.by_groups")
_AWAY = pattern("comparisons.away")


def compare(text: str, nouns: Nouns) -> Slots | None:
    """Return the slots of a comparison: of two counts, or of how often one thing holds in several groups."""
    if each := EACH_VALUE.search(text):
        if re.match(rf"(?:and|&|by)\b(?! in {MARKED})", text[each.end() :], FLAGS):
            raise CannotAnswer("two-things", "Groups are of one field, and it asks by another one, too. Ask by one.")
        rest = f"{text[: each.start()]} {text[each.end() :]}".strip(" ,:")
        rest = re.sub(r"^(?:compare|break down|split|show|give)(?: me)? ", "", rest, flags=FLAGS)
        found = counted("share", rest, nouns) or counted("count", rest, nouns) or stated("share", rest, nouns)
        who = f"{found.of} {found.among}".strip() if found and not found.denied else "?"
        if not re.sub(rf"\b(?:in|and|{nouns.people})\b|{MARKED}|[ ,]", "", who, flags=FLAGS):  # tests alone
            return Slots("list", attribute=re.findall(MARKED, each[1])[0], among=who)
        return found and _in_groups(
            found.of or found.among,
            tuple(re.findall(MARKED, each[1])),
            found.among if found.of else "",
            denied=found.denied,
        )
    text = _TAIL.sub("", text).strip(" ,")
    text = re.sub(rf"\b({_MORE}(?: \w+){{0,4}}?) then\b", r"\1 than", text, flags=FLAGS)
    return _listed_groups(text, nouns) or _than(text, nouns)


def _in_groups(of: str, groups: tuple[str, ...], among: str = "", *, denied: bool = False) -> Slots | None:
    of = re.sub(rf"^(?:the )?(?:{SHARE}|numbers?|rates?) (?:of|with) (?:an? )?| rates?$", "", of, flags=FLAGS)
    return Slots("compare", of, denied, among, groups) if of and len(groups) > 1 and all(groups) else None


def _listed_groups(text: str, nouns: Nouns) -> Slots | None:
    """Return the slots of "compare X in A and B" and "which is commoner, A or B?"."""
    if differs := _DIFFERS.fullmatch(text):
        of, named = differs["of"] or differs["what"], differs["rest"] or differs["between"]
        return _in_groups(holds(without_closing(of, nouns))[0], _groups(named, nouns))
    if between := _BETWEEN.fullmatch(text):
        return _pair(between["a"], between["b"], nouns)
    if lead := _COMPARED.match(text):
        rest = text[lead.end() :]
        if by := _BY_GROUPS.fullmatch(rest):
            return _in_groups(holds(by["of"])[0], _groups(by["groups"], nouns))
        inside = _INSIDE.fullmatch(rest)
        if inside and not statement(inside["of"], nouns):
            return _in_groups(holds(inside["of"])[0], _groups(inside["groups"], nouns))
        parts = _several(rest)
        return _pair(*parts, nouns) if len(parts) == 2 else None
    tail = _TAIL_GROUPS.fullmatch(text)
    if tail and not re.search(_THAN, text, FLAGS):
        head = _OPEN.sub("", tail["head"])
        return _between_groups(head, tail["groups"], nouns, asks=head != tail["head"])
    return None


def _between_groups(head: str, listed: str, nouns: Nouns, *, asks: bool) -> Slots | None:
    """Return the slots of a head with a comparative, and the things that are compared."""
    head = _ASKED.sub("", head)
    cut = re.search(rf"\b{_MORE}\b", head, FLAGS)
    before, after = (head[: cut.start()].strip(), head[cut.end() :].strip()) if cut else (head, "")
    what = after or re.sub(_SEEN_OFTEN, "", f" {before}", flags=FLAGS).strip()
    things = _several(listed)
    of, denied = holds(what)
    if not of or re.fullmatch(
        rf"s|by|by more of .*|comes? up|{nouns.counted}|our {nouns.counted}|of (?:our |the )?{nouns.counted}|there|"
        rf"we|seen|{NOTED}",
        of,
        FLAGS,
    ):
        return _pair(things[0], things[1], nouns) if len(things) == 2 else None
    if held := statement(of, nouns):
        return _pair(*things, nouns, among=held.who) if len(things) == 2 else None
    return _in_groups(of, _groups(listed, nouns), denied=denied)


def _than(text: str, nouns: Nouns) -> Slots | None:
    """Return the slots of "Is X more common in A than in B?" and "Do more people have A than B?"."""
    sides = re.split(_THAN, text, maxsplit=1, flags=FLAGS)
    if len(sides) < 2:
        return None
    left, right = _ASKED.sub("", sides[0]), sides[1].strip()
    if away := _AWAY.fullmatch(right):  # "likelier than men to report X"
        right, left = away["who"], f"{left} to {away['of']}"
    less = bool(_LESS.search(sides[0]))
    cut = re.search(rf"\b{_MORE}\b", left, FLAGS)
    if cut is None:
        inside = re.fullmatch(rf"(?P<of>.+?):? (?:{AMONG} |, ?|: ?)(?P<a>.+)", left, FLAGS)
        named = re.fullmatch(r"(?P<b>.+?)(?::|,| -| by| in terms of| on| regarding) (?P<of>.+)", right, FLAGS)
        if inside and not statement(left, nouns) and not re.search(r"\b(?:outnumber|exceed)", text, FLAGS):
            of = holds(without_closing(inside["of"], nouns))[0]
            return _in_groups(of, (group(inside["a"], nouns), group(_bare_side(right), nouns)))
        if named:
            return _in_groups(holds(named["of"])[0], (group(left, nouns), group(_bare_side(named["b"]), nouns)))
        return _pair(left, right, nouns)
    before, after = left[: cut.start()].strip(), left[cut.end() :].strip()
    shown = re.sub(_SEEN_OFTEN, "", f" {before}", flags=FLAGS).strip()
    if before and re.match(rf"(?:{AMONG}|after|during|before|by|to be found in|seen in|found in)\s", after, FLAGS):
        of, denied = holds(shown)
        return _in_groups(of, _against(group(after, nouns), group(_bare_side(right), nouns)), denied=denied)
    if before and after:  # "are men more likely to have X", "do women have more X"
        of, denied = holds(re.sub(r"^(?:likely )?to (?:be )?", "", after, flags=FLAGS))
        return _in_groups(of, _against(group(before, nouns), group(_bare_side(right), nouns)), denied=denied)
    if before:
        held = statement(with_verb(before), nouns)
        if held and held.who and held.holds:
            other = group(_bare_side(right), nouns)
            if not re.search(rf"\b{nouns.counted}\b|\b(?:those|ones|with|without|in|who|others)\b", right, FLAGS):
                return Slots("difference", among=held.who, groups=(other, held.holds) if less else (held.holds, other))
            return _in_groups(held.holds, _against(held.who, other), denied=held.denied)
        return _pair(shown, right, nouns, less=less)
    return _pair(after, right, nouns, less=less)


_SIDE = r"those|the ones|ones|it is|they are|is|are|do|does|did|both|between|that|who|after|people"


def _bare_side(text: str) -> str:
    return re.sub(rf"^(?:(?:{_SIDE}) )+(?=\S)", "", text.strip(), flags=FLAGS)


def _groups(text: str, nouns: Nouns) -> tuple[str, ...]:
    named = [group(_bare_side(one), nouns) for one in _several(text)]
    return _against(*named) if len(named) > 1 else ()


_OTHERS = pattern("comparisons.others")


def _against(first: str, *others: str) -> tuple[str, ...]:
    """Return groups; one that is all others is those of which the first does not hold."""
    return (first, *(f"not {first}" if _OTHERS.fullmatch(one.strip()) else one for one in others))


def _pair(first: str, second: str, nouns: Nouns, among: str = "", *, less: bool = False) -> Slots | None:
    """Return the difference of two counts, with what both share as the population."""
    (a, shared), (b, own) = _side(first, nouns), _side(second, nouns)
    if not a or not b or a == b:
        return None
    a, b = _bare_side(a), _bare_side(b)
    if (re.search(MARKED, first) and re.search(MARKED, second)) or (shared and own and shared != own):
        # Of two groups by tests, what is said of one alone is meant of both: `understanding` parts it.
        a, b, shared, own = joined(a, shared), joined(b, own), "", ""
    return Slots("difference", among=joined(among, shared or own), groups=(b, a) if less else (a, b))


def _side(text: str, nouns: Nouns) -> tuple[str, str]:
    """Return one side of a difference: the thing, and what else narrows the units."""
    text = re.sub(r"^(?:more )?(?:the )?(?:(?:numbers? |counts? )(?:of |with )?)?", "", text.strip(" ,"), flags=FLAGS)
    text = re.sub(rf"(?: (?:been )?(?:{NOTED}|brought up))+(?=$| in )", "", text, flags=FLAGS) or text
    held = statement(with_verb(text), nouns)
    if held is None and not re.match(rf"(?:in )?{MARKED}$", text):
        first = condition_first("count", text, nouns)
        held = Statement(first.among, first.of) if first else None
    if held is not None:
        said = f"not {held.holds}" if held.denied else held.holds
        parts = [one for one in (*held.who.split(AND), *said.split(AND)) if one]
        thing = said.split(AND)[0] if said else (parts[0] if parts else "")
        parts.remove(thing) if thing in parts else None
        return thing, AND.join(parts)
    bare = re.sub(
        rf"^(?:(?:{_SIDE}|with|have|had|has|of|for|about|in|among|from|an?|the) )+(?=\S)", "", text, flags=FLAGS
    )
    said, denied = holds(bare)
    return f"not {said}" if denied else said, ""


_PAIR = r"\s*,\s*(?:(?:and|or)\s+)?|\s+(?:and|or|versus|vs)\s+"


def _several(text: str) -> tuple[str, ...]:
    for between in (_PAIR, r"\s+(?:to|against)\s+", r"\s+with\s+"):
        parts = [part for part in re.split(between, text, flags=FLAGS) if part.strip()]
        if len(parts) > 1:
            return tuple(parts)
    return ()

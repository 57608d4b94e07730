"""Lists of values, and typical numbers: "top 5 symptoms of gout", "the average age of patients with gout"."""

import re
from collections.abc import Sequence

from discreet.errors import CannotAnswer
from discreet.questions.marks import MARKED
from discreet.questions.sentences import FLAGS, Nouns, entry, is_plural, pattern, phrase, table
from discreet.questions.statements import Slots, condition_first, joined, statement, whom

_RANK, _LEAD, _SINGLE, _OFTEN = (pattern(f"lists.{one}") for one in ("rank", "list_lead", "single", "often"))
_KINDS_OF, _STOP, _LEADS, _REASONS = (pattern(f"lists.{one}") for one in ("kinds_of", "stop", "leads", "reasons"))
_CLOSING = re.compile(rf"(?: {entry('lists.list_verbs')})+$", FLAGS)
_FRAME, _ACTION, _NOISE = pattern("lists.frame_of_number"), entry("lists.action"), entry("lists.noise")
_ACTIONS, _WHAT = table("lists.actions"), table("lists.what")
_MEASURES = {name: re.compile(one, FLAGS) for name, one in table("lists.measures").items()}
_NUMBERS = {word: int(number) for number, said in table("lists.numbers").items() for word in said.split("|")}
VAGUE, ALL_SAY = pattern("lists.vague"), pattern("lists.all_say")
"""What a question asks for if it does not know what the book calls it; what begins a summary of what all say."""


def _head_and_who(text: str, nouns: Nouns) -> tuple[str, str]:
    """Return what is listed or measured, and of whom: "drugs do patients with gout take" gives ("drugs", "gout")."""
    text = _KINDS_OF.sub("", text)
    reasons = _REASONS.fullmatch(text)
    if reasons and not (statement(reasons["thing"], nouns) or re.match(MARKED, reasons["thing"])):
        return reasons["what"], whom(reasons["who"] or "", nouns)
    stop = _STOP.search(text)
    if stop is None:
        return phrase(text), ""
    head, who = phrase(text[: stop.start()]), _LEADS.sub("", text[stop.start() :].strip(" ,"))
    who = _CLOSING.sub("", who).strip()
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
        raise CannotAnswer("two-things", "It is by two things. Ask for the groups of one at a time.")
    rest = " ".join(f"{text[: found.start()]} {text[found.end() :]}".split()).replace(" ,", ",")
    return rest, (found["by"] or "month").casefold()


def list_values(text: str, nouns: Nouns) -> Slots | None:
    """Return the slots of "What do patients complain about most?" and "the 5 most common symptoms of Zonkitis"."""
    text = _RANK.sub("", text)
    for attribute, verb in _ACTIONS.items():
        if found := re.fullmatch(_ACTION.replace("VERB", verb), text, FLAGS):
            return Slots(
                "list", among=joined(whom(found["who"], nouns), phrase(found["more"] or "")), attribute=attribute
            )
    lead = _LEAD.match(text)
    rest = " ".join(_OFTEN.sub("", text[lead.end() :] if lead else text).split())
    number = next((lead[one].casefold() for one in "nkm" if lead[one]), "") if lead else ""
    attribute, who = _head_and_who(rest, nouns)
    if not attribute or len(attribute.split()) > (6 if _REASONS.match(attribute) else 4):
        return None
    if not is_plural(re.split(" (?:of|for) ", attribute)[0]):
        attribute = re.sub("([^aeiou])ys$", r"\1ies", re.sub("iss$", "es", f"{attribute}s"))
    single = lead is not None and _SINGLE.match(lead[0]) is not None
    most = int(number) if number.isdecimal() else _NUMBERS.get(number, int(single))
    return Slots("list", among=who, attribute=attribute, most=most)


def typical(text: str, nouns: Nouns) -> Slots | None:
    """Return the slots of a typical number; the median if the question names none."""
    named = ((one.start(), name) for name, said in _WHAT.items() if (one := re.search(rf"\b(?:{said})\b", text, FLAGS)))
    what = min(named, default=(0, "median"))[1]
    plain = " ".join(re.sub(_NOISE.replace("WHAT", "|".join(_WHAT.values())), "", text, flags=FLAGS).split()).strip(
        " ,-"
    )
    plain = _FRAME.sub("", plain)
    for name, measure in _MEASURES.items():
        if found := measure.fullmatch(plain):
            attribute, who = name, whom(found[found.lastgroup] if found.lastgroup else "", nouns)
            break
    else:
        attribute, who = _head_and_who(plain, nouns)
    if not attribute or len(attribute.split()) > 4:
        return None
    return Slots("typical", among=who, attribute=nouns.field(attribute) or attribute, what=what)

"""Lists of values, and typical numbers: "top 5 symptoms of gout", "the average age of patients with gout"."""

import re
from collections.abc import Sequence

from discreet.errors import CannotAnswer
from discreet.questions.marks import MARKED
from discreet.questions.sentences import FLAGS, Nouns, entry, is_plural, pattern, phrase, table
from discreet.questions.statements import AMONG, Slots, condition_first, joined, statement, whom

_NUMBERS = "one two three four five six seven eight nine ten eleven twelve".split()
_VALUES = {name: number for number, name in enumerate(_NUMBERS, 1)} | {"fifteen": 15, "twenty": 20, "dozen": 12}
_RANK = entry("lists.rank")
_LIST_LEAD = pattern("lists.list_lead")
_OF = entry("lists.of")
_LIST_VERBS = entry("lists.list_verbs")
_STOP = re.compile(rf" (?:{_OF}|{_LIST_VERBS}|that|which|why|who|whom|when)\b", FLAGS)
_REASONS = pattern("lists.reasons")


_KINDS_OF = pattern("lists.kinds_of")
_FRAME_OF_NUMBER = pattern("lists.frame_of_number")


def _head_and_who(text: str, nouns: Nouns) -> tuple[str, str]:
    """Return what is listed or measured, and of whom: "drugs do patients with gout take" gives ("drugs", "gout")."""
    text = _KINDS_OF.sub("", text)
    stop = _STOP.search(text)
    if stop is None:
        return phrase(text), ""
    head, tail = phrase(text[: stop.start()]), text[stop.start() :].strip()
    inner = re.match(rf"(?:of|for|behind|after) (?P<what>.+?)(?: {AMONG} (?P<who>.+))?$", tail, FLAGS)
    if inner and _REASONS.search(head) and not (statement(inner["what"], nouns) or re.match(MARKED, inner["what"])):
        of_a_thing = re.match(r"(?:reasons?|causes?|grounds)", head, FLAGS)
        if of_a_thing or inner["who"]:
            return f"{head} {tail.split(' ')[0]} {inner['what']}", whom(inner["who"], nouns) if inner["who"] else ""
    leads = rf"^(?:(?:(?!in {MARKED}){_OF}|{_LIST_VERBS}|that|which|why|who(?= (?:is|are))|the|our|an?)\b\s*)+"
    who = re.sub(leads, "", tail, flags=FLAGS)
    who = re.sub(rf"(?: {_LIST_VERBS})+$", "", who, flags=FLAGS).strip()
    if re.fullmatch(rf"{_LIST_VERBS}|survey|data|notes|records", who, FLAGS):
        return head, ""
    held = statement(who, nouns)
    if held and held.who and held.holds and len(held.holds.split()) == 1 and not held.denied:
        return head, held.who
    first = None if held else condition_first("list", who, nouns)
    if first:
        return head, joined(first.of, first.among)
    return head, whom(who, nouns)


_ACTIONS = table("lists.actions")


VAGUE = re.compile(r"\b(?:topic|theme|problem|issue|finding|concern|reason)s?\b(?! (?:with|of|for)\b)", FLAGS)
"""What a question asks for if it does not know what the book calls it."""


SUMMED = re.compile(r"(?:summari[sz]e|sum up) what (?!(?:do|does|did|are|is|was|were)\b)", FLAGS)
"""What begins a summary of what all do: "summarise what patients complain about"."""


def split_groups(text: str, names: Sequence[str]) -> tuple[str, str]:
    """Return a question without its groups, and what these are by: "complaints by ward" gives ("complaints", "ward").

    Args:
        text: the question.
        names: the words for what may be grouped by, beside months, quarters and years.

    Raises:
        CannotAnswer: if it is by two things.
    """
    said = "|".join(re.escape(one) for one in sorted(names, key=len, reverse=True))
    joins = r"by|per|for (?:each|every)|in (?:each|every)|each|every|(?:across|between)(?: (?:the|all))?"
    some, end = rf"(?:month|quarter|year{'|' if said else ''}{said})", r"s?(?![\w-])"
    by = (
        rf"[\s,]*\b(?:(?:split|broken down|grouped|shown|separately) )?(?:{joins}) (?P<by>{some}){end}"
        rf"(?P<more>(?:,| and|, and) (?:(?:{joins}) )?{some}{end})?"
    )
    found = re.search(by, text, FLAGS) or re.search(r"[\s,]*\bover (?P<by>time)\b", text, FLAGS)
    if found is None:
        return text, ""
    if found.groupdict().get("more"):
        raise CannotAnswer("two-things", "It is by two things. Ask for the groups of one at a time.")
    rest = " ".join(f"{text[: found.start()]} {text[found.end() :]}".split()).replace(" ,", ",")
    return rest, found["by"].casefold().replace("time", "month")


def list_values(text: str, nouns: Nouns) -> Slots | None:
    """Return the slots of a list."""
    plain = re.sub(_RANK, "", text, flags=FLAGS)
    return _action(plain, nouns) or _named(plain, nouns)


def _action(text: str, nouns: Nouns) -> Slots | None:
    """Return the list of "What do patients complain about most?"."""
    for attribute, verb in _ACTIONS.items():
        found = re.fullmatch(
            r"what (?:(?:things|kinds of things) )?(?:do|did|are|were|does) (?P<who>.+?) (?:(?:most|usually|"
            rf"typically|mostly|often|frequently|commonly) )*(?:{verb})"
            rf"(?P<rest>(?: (?:for|against|with|in|on) .+)?)(?: (?:the )?most(?: (?:often|frequently|commonly))?)?",
            text,
            FLAGS,
        )
        if found:
            population = whom(found["who"], nouns)
            more = found["rest"].strip().split(" ", 1)
            return Slots(
                "list", among=joined(population, phrase(more[1]) if len(more) > 1 else ""), attribute=attribute
            )
    return None


def _named(text: str, nouns: Nouns) -> Slots | None:
    """Return the list of "the 5 most common symptoms of Zonkitis" and "Which drugs do patients with Zonkitis take?"."""
    lead = _LIST_LEAD.match(text)
    rest = text[lead.end() :] if lead else text
    number = next((lead[one] for one in ("n", "k", "m") if lead[one]), "") if lead else ""
    single = bool(
        lead
        and re.match(r"(?:what|which)(?:'s| is| was) ", text, FLAGS)
        and re.search(r"\bmost\b|commonest", lead[0], FLAGS)
    )
    rest = re.sub(r" (?:most (?:often|frequently|commonly)|most)(?=\s|$)", "", rest, flags=FLAGS)
    attribute, who = _head_and_who(" ".join(rest.split()), nouns)
    if not attribute or len(attribute.split()) > 4 + 2 * bool(_REASONS.match(attribute.split(" ")[0])):
        return None
    if not is_plural(attribute.split(" of ")[0].split(" for ")[0]):
        attribute = _plural(attribute)
    most = int(number) if number.isdecimal() else _VALUES.get(number.casefold(), 1 if single else 0)
    return Slots("list", among=who, attribute=attribute, most=most)


def _plural(word: str) -> str:
    if word.casefold().endswith("is"):
        return f"{word[:-2]}es"
    return f"{word[:-1]}ies" if re.search(r"[^aeiou]y$", word, FLAGS) else f"{word}s"


# --- typical numbers --------------------------------------------------------------------------------------------------

_WHAT = dict.fromkeys(("average", "mean", "avg", "on average"), "mean")
_WHAT |= dict.fromkeys(("quartiles", "interquartile range", "range", "spread", "distribution"), "quartiles")
_WHAT |= dict.fromkeys(("median", "typical", "usual"), "median")
_OLD = table("lists.old")


_MEASURES = table("lists.measures")


def typical(text: str, nouns: Nouns) -> Slots | None:
    """Return the slots of a typical number; the median if the question names none."""
    words = "|".join(sorted(_WHAT, key=len, reverse=True))
    named = re.search(rf"\b(?P<what>{words}|distributed|middle half)\b", text, FLAGS)
    what = _WHAT.get(named["what"].casefold(), "quartiles") if named else "median"
    plain = re.sub(
        rf"[\s,:-]*\b(?:{words}|distributed|typically|usually|normally|generally|in general|as a rule|roughly|"
        r"approximately|values?|score|normal|lies?|falls?|tend to be|tend to|give us|overall)\b",
        "",
        text,
        flags=FLAGS,
    )
    plain = " ".join(plain.split()).strip(" ,-")
    plain = _FRAME_OF_NUMBER.sub("", plain)
    how = re.fullmatch(
        (
            rf"(?P<how>{'|'.join(_OLD)}) (?:(?:is|are|were|was) )?(?:the |an? |our )*(?P<who>.+?)(?: (?:is|are|were|"
            r"was))?"
        ),
        plain,
        FLAGS,
    )
    if how:
        return Slots("typical", among=whom(how["who"], nouns), attribute=_OLD[how["how"].casefold()], what=what)
    for verb, name in _MEASURES.items():
        if found := re.fullmatch(rf"(?P<who>.+?) {verb}(?: for .+)?", plain, FLAGS):
            return Slots("typical", among=whom(found["who"], nouns), attribute=name, what=what)
    plain = re.sub(r"^length (?:of )?(?:the )?(?:hospital )?stay", "length_of_stay", plain, flags=FLAGS)
    attribute, who = _head_and_who(plain, nouns)
    attribute = nouns.field(attribute) or attribute.replace("length_of_stay", "length of stay")
    if not attribute or len(attribute.split()) > 4:
        return None
    if "," in attribute:
        attribute, who = (one.strip() for one in attribute.split(",", 1))
    return Slots("typical", among=who, attribute=nouns.field(attribute) or attribute, what=what)

"""The slots of an English question of a known kind: the dispatch by kind, trends and summaries."""

import re
from collections.abc import Callable
from dataclasses import replace

from discreet.questions.comparisons import EACH_VALUE, compare
from discreet.questions.counts import AMONG, Kind, Slots, count, counted, share, stated, whom, without_closing
from discreet.questions.lists import list_values, typical
from discreet.questions.marks import MARKED
from discreet.questions.sentences import FLAGS, Nouns
from discreet.questions.statements import AND


def slots_of(text: str, kind: Kind, nouns: Nouns) -> Slots | None:
    """Return the slots of a sentence that is of a kind; None if it has another form.

    Args:
        text: the sentence, without polite words, with its tests as marks.
        kind: the kind that is asked for.
        nouns: the words for units.
    """
    text, by = _without_period(text)
    if kind == "trend" and not by:
        text, by = _without_period(re.sub(r" an? (?=(?:month|quarter|year)$)", " per ", text, flags=FLAGS))
    if EACH_VALUE.search(text) and (kind in ("count", "share", "list") or (kind == "trend" and not by)):
        kind = "compare"
    found = _trend(text, nouns, timed=True) if by and kind in ("count", "share", "trend") else _READ[kind](text, nouns)
    return found and replace(found, by=by or found.by)


# --- trends -----------------------------------------------------------------------------------------------------------

_EACH = (
    r"(?:by|per|each|every|for each|in each|for every|in every|broken down by|split by|grouped by|over the|across the)"
)
_PERIOD = re.compile(
    rf"(?:^|[\s,]+)(?:{_EACH}\s+(?:the |single |calendar )*(?P<by>month|quarter|yr|year)s?|from (?P<to>month|quarter|"
    r"year) to (?P=to)|(?P<on>month|quarter|year)[ -](?:by|over|on|after)[ -]"
    rf"(?P=on)|(?P<ly>monthly|quarterly|yearly|annually))(?: (?:basis|to|by) ?(?:month|quarter|year)?)?(?=$|[\s,:?])",
    FLAGS,
)
_ADJECTIVE = re.compile(
    r"(?:^|(?<=\s))(?P<ly>monthly|quarterly|yearly|annual)\s+(?=\w+)|^(?:on a|by) (?P<by>month|quarter|year)ly basis",
    FLAGS,
)
_NAMED = {"yr": "year", "mont": "month", "quar": "quarter", "year": "year", "annu": "year"}
_COURSE = re.compile(
    r"(?:[\s,]+(?:over (?:the course of )?(?:time|the (?:months|quarters|years))|in recent times|(?:and )?how (?:has|"
    r"did) (?:it|that|this) "
    r"(?:change|changed|develop|developed)))+",
    FLAGS,
)
_CHANGE = (
    r"(?:been |become |became |getting |gotten |got |gone |going )*(?:(?:more|less)(?: and (?:more|less))? (?:common|"
    r"frequent|often|"
    r"prevalent|widespread|frequently|likely)|rarer|commoner|increas(?:ed?|ing)|decreas(?:ed?|ing)|grow(?:n|ing)?|grew|"
    r"ris(?:e|en|ing)|rose|fall(?:en|ing)?|fell|declin(?:ed?|ing)|dropp?(?:ed|ing)?|chang(?:ed?|ing)|develop(?:ed|"
    r"ing)?|evolv(?:ed?|ing)|"
    r"var(?:y|ied)|moved?|look(?:s|ed)?(?: like)?|up|down|on the (?:rise|increase|decline|way up|way down)|up or "
    r"down|shift(?:ed)?|"
    r"spread(?:ing)?|worse|better|trend(?:ed|ing)?)(?: or (?:up|down|decreas\w+|fall\w*|declin\w+|drop\w*|less "
    r"\w+))?(?: (?:now|today|lately|recently))?"
)
_HELP = r"(?:has|have|had|did|does|do|is|are|was|were)"
_TREND = tuple(
    re.compile(one, FLAGS)
    for one in (
        rf"(?:how |in what way )?{_HELP} (?P<what>.+?) {_CHANGE}(?P<who> {AMONG} .+)?",
        rf"how (?:did |do |does |has |have )?(?P<what>.+?) (?:{_HELP} )?{_CHANGE}",
        r"(?:are|were) there (?:more|fewer|less) (?P<what>.+?) (?:now|lately|recently)?(?: than (?:before|last year|"
        r"in the past|a year ago|earlier))?",
        rf"{_HELP} (?:we|you) (?:seeing |see |seen |have |had |getting )+(?:more and more |fewer and fewer |more |"
        r"fewer |less )(?P<what>.+)",
        r"(?:has|have|had) there been (?:an? )?(?:\w+ )?(?:increase|decrease|rise|decline|fall|drop|growth|change|"
        r"more|fewer|trend)(?: (?:in|of))? (?P<what>.+)",
        r"(?:what did |what (?:do|does) |how did |how do |how does )(?P<what>.+?) (?:look like|go|move)",
        r"(?:.*?\b)?(?:trends?|course|development|evolution|curve|time ?line|time series|trajectory|history|chart|"
        r"graph|plot|figures|breakdown) (?:of|in|for) (?P<what>.+)",
        r"(?:(?:show|plot|chart|graph|give|track|draw|follow|trend|let)\b(?: me| us)?(?: see)? |i need |i want "
        r")+(?P<what>.+)",
        r"(?:when (?:were|was|are|is) there (?:many|the most|most) )(?P<what>.+)",
        r"(?:(?:what(?:'s| is) |show(?: me)? ))?(?:the )?(?P<what>.+?) (?:trend|time ?line|over time|curve)",
        r"(?P<what>.+)",
    )
)
_NUMBERS_OF = re.compile(
    r"^(?:the |an? |new )*"
    r"(?:numbers?|counts?|figures|mentions|share|percentage|rate|frequency|cases|reports) (?:of|for|"
    r"with) ",
    FLAGS,
)
_ALL_UNITS = re.compile(
    r"(?:visits?|admissions|appointments|consultations|records|came|visited|seen|came in|were seen|registered)$", FLAGS
)


def _without_period(text: str) -> tuple[str, str]:
    """Return a text without its "by month", and the period."""
    found = _PERIOD.search(text) or _ADJECTIVE.search(text)
    if found is None:
        return text, ""
    word = next(one for one in found.groups() if one)
    rest = " ".join(f"{text[: found.start()]} {text[found.end() :]}".split()).strip(" ,:")
    return rest, _NAMED[word[:4].casefold()]


def _trend(text: str, nouns: Nouns, *, timed: bool = False) -> Slots | None:
    timed = timed or _COURSE.search(text) is not None
    years = re.search(r"\bover the (month|quarter|year)s\b", text, FLAGS)
    text = _COURSE.sub("", text).strip(" ,:")
    text, marks = _parted_marks(text)
    for pattern in _TREND:
        if (found := pattern.fullmatch(text)) is None or (pattern is _TREND[-1] and not (timed or marks)):
            continue
        what = without_closing(f"{found['what']}{found.groupdict().get('who') or ''}", nouns)
        what = re.sub(
            r" (?:mentions|cases|reports|complaints|numbers|figures)$", "", _NUMBERS_OF.sub("", what), flags=FLAGS
        )
        if not what or re.fullmatch(
            rf"(?:{nouns.counted}|{_ALL_UNITS.pattern}|(?:{nouns.counted}) (?:{_ALL_UNITS.pattern}))", what, FLAGS
        ):
            slots: Slots | None = Slots("trend")
        else:
            slots = counted("trend", what, nouns) or counted("share", what, nouns) or stated("trend", what, nouns)
        if slots is not None:
            if _ALL_UNITS.fullmatch(slots.of):
                slots = replace(slots, of="", denied=False)
            by = years[1].casefold() if years else slots.by
            return replace(slots, kind="trend", by=by, among=AND.join(filter(None, (slots.among, *marks))))
    return None


def _parted_marks(text: str) -> tuple[str, list[str]]:
    """Return a text without the marks at its ends, and these: periods stand before or after what they are of."""
    marks: list[str] = []
    while found := re.search(rf"^in ({MARKED})\b[ ,]*|[ ,]*\bin ({MARKED})$", text):
        marks.append(found[1] or found[2])
        text = f"{text[: found.start()]}{text[found.end() :]}".strip(" ,")
    return text, marks


# --- summaries --------------------------------------------------------------------------------------------------------

_SUMMARY = re.compile(
    r"^(?:(?>(?:summari[sz]e|sum up|give|write|show|describe|tell|overview|summary|digest|recap|gist|profile|picture|"
    r"state of things|what(?:'s)?|do|does|"
    r"can|could|be|found|is|are|known|we|you|i|i'd|know|everything|anything|all|more|me|us|an?|the|short|"
    r"brief(?:ly)?|quick|general|outline|provide|like|kind|"
    r"kinds|sort|typical|characteri[sz]es?|how|of|on|about|say|says|said|that|there|should|for|in|my|our|these|in "
    r"general|main points|notes|"
    r"documents|records|letters|e?-?mails|files|reports|texts|vault|data|collection|feedback|reviews|comments|survey|"
    r"responses|content|contents)\b)[\s,:]*)+",
    FLAGS,
)
_SUMMED = re.compile(
    (
        r"(?:^| )(?:have in common|present|say|write about|talk about|report|in general|overall|look like|take|mean|"
        r"about)+$"
    ),
    FLAGS,
)


def _summary(text: str, nouns: Nouns) -> Slots | None:
    core = _SUMMARY.sub("", text)
    while (shorter := _SUMMED.sub("", core)) != core:
        core = shorter
    return Slots("summary", among=whom(core, nouns) if core else "")


_READ: dict[Kind, Callable[[str, Nouns], Slots | None]] = {
    "count": count,
    "share": share,
    "difference": compare,
    "compare": compare,
    "trend": _trend,
    "typical": typical,
    "list": list_values,
    "summary": _summary,
}

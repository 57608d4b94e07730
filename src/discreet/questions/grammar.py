"""The parts of an English question for a statistic of a known kind: slots, in the words of the question.

A sentence is read from the outside to the inside. What frames it goes first ("how many", "what share of", "top 5"). Then
a statement about units is left: who is counted, and what holds of them (`statements`). Tests of fields are marks by
then. What a frame does not take stays in a phrase, so that no word is lost.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Literal

from discreet.questions.marks import MARKED
from discreet.questions.sentences import FLAGS, Nouns, is_plural, phrase
from discreet.questions.statements import AND, AUXILIARY, VERBS, Statement, group, holds, statement

Kind = Literal["count", "share", "difference", "compare", "trend", "typical", "list", "summary"]
"""The kinds of statistics."""


@dataclass(frozen=True)
class Slots:
    """The parts of a question, in its own words.

    Attributes:
        kind: the kind of the statistic.
        of: what is counted.
        denied: whether it must not hold.
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
    denied: bool = False
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
    found = _trend(text, nouns, timed=True) if by and kind in ("count", "share", "trend") else _READ[kind](text, nouns)
    return found and replace(found, by=by or found.by)


# --- who, and what ----------------------------------------------------------------------------------------------------

_IS = r"(?:(?:what|which)(?:'s| is| are| was| were)? |how (?:large|high|big|great|small|low) (?:an? |is |are |was |were )?)"
_SHARE = r"(?:share|percentages?|per ?cent(?:age)?|proportion|fraction|part|portion|ratio|rate|prevalence|incidence|(?:relative )?frequency|probability|likelihood)"
_COUNT_LEAD = (
    r"how many(?: of)?\b|\b(?:the )?(?:total |overall |approximate |exact )*(?:number|count|tally|amount) of\b"
    r"|^(?:count|tally)(?: up)?(?: how many| all)?\b|^(?:n|no|nr|#) of\b|^#|^total(?= \w+ (?:with|who))"
    r"|(?:how (?:large|big) (?:is|are|was|were) |\bsize of )the (?:group|set|population|number)(?: of)?\b"
)
_SHARE_LEAD = (
    rf"\b(?:the |a |an )?(?:overall )?{_SHARE} (?:of|for|with)\b|\bhow many per ?cent(?: of)?\b|\bone in how many\b"
    rf"|\b(?:what|which|how large an?|how big an?) {_SHARE}(?: of)?\b"
    r"|\bhow (?:common|frequent|prevalent|widespread|rare|usual)(?:ly)?(?: is| are| was| were| has been)?(?: it that)?\b"
    r"|\bhow (?:often|frequently|commonly|likely)(?: is it that)?\b"
)
_FRAME_WORDS = (
    r"(?:what(?:'s|'re)?|which|how|show|give|tell|list|find|report|figure|is|are|was|were|there|for|the|a|an|me|us|please|i|i'd|we|"
    r"want|need|would|like|to|see|know|known|get|so|any|idea|in|with|of|by|from|roughly|approximately|about|exactly|"
    r"just|and|then|can|"
    r"you|could|do|have|has|count|calculate|compute|estimate|determine|provide|way|it|be|helpful|learn|work out|out|"
    r"tell|large|"
    r"big|high|hello|hi|hey|thanks|actually|state|let|say|check|look up|number|total|plot|chart|graph|draw|display|"
    r"present|as|"
    r"come|quick|question|our|my|all|one|interested|wondering|help|find out|on|at|around|within)"
)
_FRAME = re.compile(rf"(?:{_FRAME_WORDS}\b[\s,:.-]*)*", FLAGS)
"""Words before what is asked for, which say nothing of it."""
_FRONT = re.compile(
    r"(?:looking (?:only )?at|(?:out )?of|among(?:st)?|in|for|with|within|considering|from|across|regarding) "
    r"(?P<who>.+)",
    FLAGS,
)
_AMONG = r"(?:among|amongst|in|for|with|across|within|of|on)"
_CLOSING = re.compile(
    r"\s+(?:(?:are|were|is|was) there|do we have|do you have|have we (?:seen|had)|did we (?:see|have)|are (?:known|"
    r"there)|"
    r"we (?:have|had|saw)|exist|on record|on file|(?:are|were|is|was|have been|has been) (?:recorded|registered|seen|"
    r"reported|documented|mentioned|noted|observed|found|diagnosed|described|discussed)|occur(?:s|red)?|happen(?:s|"
    r"ed)?|"
    r"appears?|appeared|come up|comes up|came up|arise|arises|mentioned|reported|recorded|seen|documented|noted|"
    r"(?:is|are) it|"
    r"(?:in|from) (?:the|our|my|all|these) (?:notes|records|documents|files|data|vault))$",
    FLAGS,
)
_NOTED = (
    r"(?:mention(?:s|ed)?|diagnosed|occurs?|occur(?:red)?|appears?|happens?|happen(?:ed)?|reported|recorded|"
    r"prescribed|seen|"
    r"observed|found|documented|noted|come up|came up|arises?|described|discussed|given|used|administered|applied)"
)
_VERB_WORDS = "|".join(sorted(AUXILIARY | VERBS, key=len, reverse=True))
_VERB_FIRST = re.compile(
    r"(?:do|does|did|have|has|had|are|is|were|was|got|get|gets|take|takes|took|need|needed|report|reported|mention|"
    r"mentioned|suffer|suffered|complain|complained|show|showed|develop|developed|experience|experienced|receive|"
    r"received|smoke|smokes|smoked|use|used|lost|won|died|paid|went|came|asked|never|also|still|can|could|will|would|"
    r"in M\b|\w+ed)\b",
    FLAGS,
)


def _counted(kind: Kind, text: str, nouns: Nouns) -> Slots | None:
    """Return the slots of a count or a share: the words before its lead, and those after it."""
    if last := re.fullmatch(r"(?P<rest>.+?), (?:among|of|in|for|just|only) (?P<who>.+)", text, FLAGS):
        found = statement(last["who"], nouns) and _counted(kind, re.sub(r"\bof them\b ?", "", last["rest"]), nouns)
        if found:
            return replace(found, among=_joined(found.among, whom(last["who"], nouns)))
    lead = re.search(_COUNT_LEAD if kind == "count" else f"{_SHARE_LEAD}|{_COUNT_LEAD}", text, FLAGS)
    if lead is None:
        return _statement(kind, text, nouns) if kind == "share" or statement(text, nouns) else None
    before, after = text[: lead.start()].strip(" ,:-"), text[lead.end() :].strip(" ,:-")
    found = _statement(kind, _plain(after, nouns), nouns) if after else None
    if not after:  # "patients with fever: how many?"
        return _statement(kind, _plain(before, nouns), nouns)
    if _FRAME.fullmatch(before):
        return found
    front = _FRONT.fullmatch(before)
    if found is None or (front is None and statement(before, nouns) is None):
        return None
    who = front["who"] if front else before
    if found.among or found.of:
        return replace(found, among=_joined(whom(who, nouns), found.among))
    return replace(found, of=whom(who, nouns))


def _joined(first: str, second: str) -> str:
    return AND.join(filter(None, (first, second)))


def _plain(text: str, nouns: Nouns) -> str:
    """Return a text without words that close it and say nothing."""
    text = re.sub(
        r"^(?:all |our |the |my |these |those (?!who|with|that|in|on)|your |of )+(?=\w)", "", text, flags=FLAGS
    )
    while (shorter := _CLOSING.sub("", text)) != text and shorter:
        text = shorter
    return text


def _statement(kind: Kind, text: str, nouns: Nouns) -> Slots | None:
    """Return the slots of a statement, in one of its orders."""
    lead = re.sub(r"^(?:is|are|was|were|do|does|did|has|have|had|the|it) (?=\w+ )", "", text, flags=FLAGS)
    for one in (text, lead):
        passive = _passive(one, nouns)
        held = passive or statement(one, nouns)
        if held is not None and (held.said or not held.holds):
            return Slots(kind, held.holds, held.denied, held.who)
    first = _condition_first(kind, lead, nouns)
    if first is not None:
        return first
    named = re.fullmatch(rf"(?P<who>[\w-]+s) (?P<holds>(?:{_VERB_WORDS})\b.+|(?:{_VERB_WORDS}))", text, FLAGS)
    if named and not re.match(
        rf"(?:{_VERB_WORDS})$", named["who"], FLAGS
    ):  # units by another name: "diabetics have ulcers"
        condition, denied = holds(named["holds"])
        return Slots(kind, condition, denied, named["who"])
    if _VERB_FIRST.match(text):
        held = statement(f"{nouns.plural} {text}", nouns)
        if held is not None:
            return Slots(kind, held.holds, held.denied, held.who)
    condition, denied = holds(lead)
    return Slots(kind, condition, denied) if condition else None


def _passive(text: str, nouns: Nouns) -> Statement | None:
    """Return the holding of "notes is fever mentioned": the condition stands between verb and participle."""
    inside = re.fullmatch(
        rf"{nouns.counted}(?P<who>(?: (?:with|of|in) .+?)?) (?:is|are|was|were|does|do|did|has|have) (?P<what>.+?) "
        rf"(?:been )?{_NOTED}(?: (?:to|in|at all))?",
        text,
        FLAGS,
    )
    if not inside or re.match(r"(?:been|being|not|never|\w+ly)$", inside["what"], FLAGS):
        return None
    negated = bool(re.search(r"\s(?:not|never)$", inside["what"], FLAGS))
    what = re.sub(r"\s(?:not|never|ever|been)$", "", inside["what"], flags=FLAGS)
    who = group(f"{nouns.plural}{inside['who']}", nouns) if inside["who"] else ""
    return Statement(who, phrase(what), negated)


def _condition_first(kind: Kind, text: str, nouns: Nouns) -> Slots | None:
    """Return the slots of "fever among patients with Winter Hand"."""
    noted = re.sub(rf" (?:been )?{_NOTED}(?= {_AMONG} )", "", text, count=1, flags=FLAGS)
    for found in re.finditer(rf"(?<=\w) {_AMONG} ", noted, FLAGS):  # the first may be inside: "pain in the chest"
        who = noted[found.end() :]
        if statement(re.sub(r"^(?:an?|all|the|our|those|any)\s+", "", who, flags=FLAGS), nouns) or re.match(
            MARKED, who
        ):
            condition, denied = holds(re.sub(r"^(?:an?|the) ", "", noted[: found.start()], flags=FLAGS))
            return Slots(kind, condition, denied, whom(who, nouns)) if condition else None
    return None


def whom(text: str, nouns: Nouns) -> str:
    """Return the population that a phrase names; "" for all units."""
    bare = re.sub(
        r"^(?:(?:all|the|my|our|your|of|these|those|an?|any|every|\d+)\s+)+", "", text.strip(" ,"), flags=FLAGS
    )
    bare = re.sub(r"^(?:of |in |among )", "", bare, flags=FLAGS)
    return "" if re.fullmatch(nouns.people, bare, FLAGS) else group(bare, nouns)


def _count(text: str, nouns: Nouns) -> Slots | None:
    return _counted("count", text, nouns)


def _share(text: str, nouns: Nouns) -> Slots | None:
    leads = re.fullmatch(
        r"how (?:often|frequently|commonly) (?:does|do|did) (?P<who>.+?) (?:lead to|cause|come with|result in|bring) "
        r"(?P<what>.+)",
        text,
        FLAGS,
    )
    if leads:
        return Slots("share", phrase(leads["what"]), among=whom(leads["who"], nouns))
    often = re.fullmatch(
        rf"how (?:often|frequently|commonly) (?:is|are|was|were|do|does|did|has|have) (?P<what>.+?) (?:been )?{_NOTED}"
        rf"(?P<who> {_AMONG} .+)?",
        text,
        FLAGS,
    )
    if often and not statement(often["what"], nouns):
        who = whom(often["who"].strip().split(" ", 1)[1], nouns) if often["who"] else ""
        return Slots("share", phrase(often["what"]), among=who)
    likely = re.fullmatch(
        r"how (?:often|likely|frequently|commonly) (?:is|are|do|does|did|was|were) (?P<rest>.+)", text, FLAGS
    )
    if likely:
        rest = re.sub(r"^(?:an?|the|it for|it that) ", "", likely["rest"], flags=FLAGS)
        held = statement(with_verb(re.sub(r"\bto (?=\w+)", "do ", rest, count=1, flags=FLAGS)), nouns)
        if held and held.holds:
            return Slots("share", held.holds, held.denied, held.who)
    found = _counted("share", text, nouns)
    return found if found and (found.of or found.among) else None


_PLAIN_VERB = r"(?:get|have|develop|receive|suffer|complain|report|mention|show|experience|feel|die|recover|return|"
_PLAIN_VERB += r"fall|default|lose|win|settle|need|ask|sue|miss|cancel|leave|take|use|stay|go|come|pay|smoke|want|say)"


def with_verb(rest: str) -> str:
    """Return a statement whose verb is marked as such: "do patients with X recover" has its helper in front."""
    return rest if " do " in rest.casefold() else re.sub(rf" (?={_PLAIN_VERB}\b)", " do ", rest, count=1, flags=FLAGS)


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
        rf"(?:how |in what way )?{_HELP} (?P<what>.+?) {_CHANGE}(?P<who> {_AMONG} .+)?",
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
    r"^(?:the |an? )*(?:numbers?|counts?|figures|mentions|share|percentage|rate|frequency|cases|reports) (?:of|for|"
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
        what = _plain(f"{found['what']}{found.groupdict().get('who') or ''}", nouns)
        what = re.sub(
            r" (?:mentions|cases|reports|complaints|numbers|figures)$", "", _NUMBERS_OF.sub("", what), flags=FLAGS
        )
        if not what or re.fullmatch(
            rf"(?:{nouns.counted}|{_ALL_UNITS.pattern}|(?:{nouns.counted}) (?:{_ALL_UNITS.pattern}))", what, FLAGS
        ):
            counted: Slots | None = Slots("trend")
        else:
            counted = (
                _counted("trend", what, nouns) or _counted("share", what, nouns) or _statement("trend", what, nouns)
            )
        if counted is not None:
            if _ALL_UNITS.fullmatch(counted.of):
                counted = replace(counted, of="", denied=False)
            by = years[1].casefold() if years else counted.by
            return replace(counted, kind="trend", by=by, among=AND.join(filter(None, (counted.among, *marks))))
    return None


def _parted_marks(text: str) -> tuple[str, list[str]]:
    """Return a text without the marks at its ends, and these: periods stand before or after what they are of."""
    marks: list[str] = []
    while found := re.search(rf"^in ({MARKED})\b[ ,]*|[ ,]*\bin ({MARKED})$", text):
        marks.append(found[1] or found[2])
        text = f"{text[: found.start()]}{text[found.end() :]}".strip(" ,")
    return text, marks


# --- differences and comparisons --------------------------------------------------------------------------------------

_MORE = (
    r"(?:(?:just )?as (?:often|common|frequent|frequently)(?= )|any |much |far |even |significantly |a lot "
    r")?(?:(?:more|less)(?: (?:common(?:ly)?|frequent(?:ly)?|often|likely|prevalent|"
    r"widespread|usual|strongly|of an? (?:problem|issue)))?|(?:an? )?(?:bigger|smaller|larger) (?:problem|issue|"
    r"concern)|mor|commoner|rarer|likelier|fewer|higher|lower|greater|larger|smaller|bigger|over-?represented)"
)
_THAN = (
    r"\s*,?\s*\b(?:than|(?<=often )as|(?<=common )as|(?<=frequent )as|versus|vs|(?:as )?compared (?:with|to)|as "
    r"opposed to|rather than|outnumbers?|outnumbered|exceeds?|against)\s+"
)
_ASKED = re.compile(
    r"^(?:(?:iz|is it true that|how mcuh|do you know|by how (?:many|much)|how (?:much|many)|is|are|was|were|do|does|"
    r"did|has|have|had|there|we|i|you|whether|if|it|the case that|"
    rf"see|{_SHARE} of|(?:number|numbers|count) of|the|there been|(?:so|or|and|just))\b[\s,:]*)+",
    FLAGS,
)
_TAIL = re.compile(
    r"(?:,? (?:and )?by how (?:many|much)(?: \w+)?|,? and what is the difference|[:,]? ?which (?:one )?(?:is|are) "
    r"(?:it|more|there more of)|, right|"
    r" (?:do|does|did|are|is|have|had|has)|, and how (?:large|big) is the difference|: (?:what is )?the difference)$",
    FLAGS,
)
_SEEN_OFTEN = (
    rf"(?: (?:been )?(?:{_NOTED}|occur|happen|appear|come up|show up|affect(?:ed)?|done|mentioned|reported|found|"
    r"there))+$"
)
_OPEN = re.compile(
    r"^(?:which \w+ (?:has|have|mentions?|shows?|reports?) (?:the )?|"
    r"(?:which|what|who)(?: (?:of|one of) (?:the two|these|those|the following|the))?(?: (?:group|groups|ones?|of "
    r"these))?\b\s*|"
    r"(?:in|for|with|among) which(?: of the)?(?: \w+)?\b\s*)",
    FLAGS,
)
_COMPARED = re.compile(
    r"(?:please )?(?:compare|contrast|comparison of|comparing|a comparison of)\s+(?:how (?:common|frequent|often|"
    rf"likely) |the )?(?:{_SHARE} of |numbers? of |counts? of )?",
    FLAGS,
)
_DIFFERS = re.compile(
    rf"(?:how (?:much )?)?(?:does|do|did|is|are|has|have) (?:the )?(?:{_SHARE} (?:of|with) )?(?P<of>.+?) (?:differ|"
    r"vary|different|compare)(?:s|ed)?(?: at all)? (?:between|among|in|across|for|from|with) (?P<rest>.+)|"
    rf"(?:.*?\b)?(?:differences?|gap) in (?:the )?(?:{_SHARE} of )?(?P<what>.+?) between (?P<between>.+)",
    FLAGS,
)
_BETWEEN = re.compile(
    r"(?:.*?\b)?(?:difference|gap)(?: in (?:the )?numbers?| in counts?)? (?:between|in) (?:the )?(?:numbers? |"
    r"counts? )?(?:of )?(?P<a>.+?) (?:and|vs|versus) (?:the )?(?:numbers? |counts? )?(?:of )?(?P<b>.+)",
    FLAGS,
)
_EACH_VALUE = re.compile(rf"[\s,:]*\bacross((?: in {MARKED})+)[\s,:]*")
_LESS = re.compile(r"\b(?:fewer|less|rarer|lower|smaller)\b", FLAGS)


def _versus(text: str, nouns: Nouns) -> Slots | None:
    """Return the slots of a comparison: of two counts, or of how often one thing holds in several groups."""
    if each := _EACH_VALUE.search(text):
        rest = f"{text[: each.start()]} {text[each.end() :]}".strip(" ,:")
        rest = re.sub(r"^(?:compare|break down|split|show|give)(?: me)? ", "", rest, flags=FLAGS)
        found = _counted("share", rest, nouns) or _counted("count", rest, nouns) or _statement("share", rest, nouns)
        return found and _in_groups(
            found.of or found.among,
            tuple(re.findall(MARKED, each[1])),
            found.among if found.of else "",
            denied=found.denied,
        )
    among = ""
    if front := re.match(
        rf"(?:(?:among|amongst|in|for|of|with|within) (?P<who>[^,]+), (?!or |and )|in (?P<mark>{MARKED})[ "
        r",]+)(?P<rest>(?:which|what|is|are|do|does|did|was|were|have|has|who|how|by)\b.+)",
        text,
        FLAGS,
    ):
        among, text = whom(front["who"] or front["mark"], nouns), front["rest"]
    text = _TAIL.sub("", text).strip(" ,")
    text = re.sub(rf"\b({_MORE}(?: \w+){{0,4}}?) then\b", r"\1 than", text, flags=FLAGS)
    found = _listed_groups(text, nouns) or _than(text, nouns)
    return found and replace(found, among=_joined(among, found.among))


def _in_groups(of: str, groups: tuple[str, ...], among: str = "", *, denied: bool = False) -> Slots | None:
    of = re.sub(rf"^(?:the )?(?:{_SHARE}|numbers?|rates?) (?:of|with) (?:an? )?", "", of, flags=FLAGS)
    return Slots("compare", of, denied, among, groups) if of and len(groups) > 1 and all(groups) else None


def _listed_groups(text: str, nouns: Nouns) -> Slots | None:
    """Return the slots of "compare X in A and B" and "which is commoner, A or B?"."""
    if differs := _DIFFERS.fullmatch(text):
        of, named = differs["of"] or differs["what"], differs["rest"] or differs["between"]
        return _in_groups(holds(_plain(of, nouns))[0], _groups(named, nouns))
    if between := _BETWEEN.fullmatch(text):
        return _pair(between["a"], between["b"], nouns)
    if lead := _COMPARED.match(text):
        rest = text[lead.end() :]
        if by := re.fullmatch(
            r"(?P<groups>.+?) (?:by|on|with respect to|with regard to|in terms of|regarding|: who|: which) (?P<of>.+)",
            rest,
            FLAGS,
        ):
            return _in_groups(holds(by["of"])[0], _groups(by["groups"], nouns))
        inside = re.fullmatch(
            rf"(?P<of>.+?)(?: (?:is|are|occurs?))? (?:between|across|before|{_AMONG}) (?P<groups>.+? (?:and|versus|"
            r"vs|with|to|against) .+)",
            rest,
            FLAGS,
        )
        if inside and not statement(inside["of"], nouns):
            return _in_groups(holds(inside["of"])[0], _groups(inside["groups"], nouns))
        parts = _several(rest)
        return _pair(*parts, nouns) if len(parts) == 2 else None
    tail = re.fullmatch(
        rf"(?P<head>.*?\b{_MORE}\b.*?)(?:\s*[,:;]|\s+[-\u2013])?\s+(?P<groups>(?:[^,:]+, )*[^,:]+?,? or .+)",
        text,
        FLAGS,
    )
    if tail and not re.search(_THAN, text, FLAGS):
        head = _OPEN.sub("", tail["head"])
        return _between_groups(head, tail["groups"], nouns, asks=head != tail["head"])
    return None


def _between_groups(head: str, listed: str, nouns: Nouns, *, asks: bool) -> Slots | None:
    """Return the slots of a head with a comparative, and the things that are compared."""
    head = _ASKED.sub("", head)
    cut = re.search(rf"\b{_MORE}\b", head, FLAGS)
    before, after = (head[: cut.start()].strip(), head[cut.end() :].strip()) if cut else (head, "")
    if not after:
        before = re.sub(
            r"^(?:(?:which|what) \w+|what) (?:is|are|was|were|comes?|gets?)\b(?: the)?", "", before, flags=FLAGS
        ).strip()
    after = re.sub(r"^(?:one|ones|often)$", "", after)
    before, after = (
        re.sub(_SEEN_OFTEN, "", f" {before}", flags=FLAGS).strip(),
        re.sub(rf"(?:^| ){_AMONG}$", "", after, flags=FLAGS),
    )
    what = re.sub(
        r"^(?:\w+ )??(?:rates? of|numbers? of|shares? of|to have|to|by|of) (?:more )?", "", after or before, flags=FLAGS
    ).strip()
    things = _several(listed)
    of, denied = holds(re.sub(r"^(?:is|are|has|have|had|gets?|does|do) ", "", what, flags=FLAGS))
    if not of or re.fullmatch(
        rf"s|by|by more of .*|comes? up|{nouns.counted}|our {nouns.counted}|of (?:our |the )?{nouns.counted}|there|"
        rf"we|seen|{_NOTED}",
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
    if away := re.fullmatch(
        r"(?P<who>.+?) to (?P<of>(?!those|the)\w+ .+|\w+)", right, FLAGS
    ):  # "likelier than men to report X"
        right, left = away["who"], f"{left} to {away['of']}"
    less = bool(_LESS.search(sides[0]))
    cut = re.search(rf"\b{_MORE}\b", left, FLAGS)
    if cut is None:
        inside = re.fullmatch(rf"(?P<of>.+?):? (?:{_AMONG} |, ?|: ?)(?P<a>.+)", left, FLAGS)
        named = re.fullmatch(r"(?P<b>.+?)(?::|,| -| by| in terms of| on| regarding) (?P<of>.+)", right, FLAGS)
        if inside and not statement(left, nouns) and not re.search(rf"\b{_OUT}\b", text, FLAGS):
            return _in_groups(
                holds(_plain(re.sub(r"^the ", "", inside["of"]), nouns))[0],
                (group(inside["a"], nouns), group(_bare_side(right), nouns)),
            )
        if named:
            return _in_groups(holds(named["of"])[0], (group(left, nouns), group(_bare_side(named["b"]), nouns)))
        return _pair(left, right, nouns)
    before, after = left[: cut.start()].strip(), left[cut.end() :].strip()
    shown = re.sub(_SEEN_OFTEN, "", f" {before}", flags=FLAGS).strip()
    if (
        before
        and re.match(rf"(?:{_AMONG}|after|during|before|by|to be found in|seen in|found in)\s", after, FLAGS)
        and not re.match(r"(?:to|by) ", after)
    ):
        of, denied = holds(shown)
        return _in_groups(of, _against(group(after, nouns), group(_bare_side(right), nouns)), denied=denied)
    if before and after:  # "are men more likely to have X", "do women have more X"
        held = statement(with_verb(before), nouns)
        of, denied = holds(re.sub(r"^(?:likely )?to (?:be )?", "", after, flags=FLAGS))
        first = group(before, nouns) if held is None or not held.holds or held.who == "" else held.who
        return _in_groups(
            of,
            _against(re.sub(r" (?:have|has|had|get|gets)$", "", first), group(_bare_side(right), nouns)),
            denied=denied,
        )
    if before:
        held = statement(with_verb(before), nouns)
        if held and held.who and held.holds:
            other = group(_bare_side(right), nouns)
            if not re.search(MARKED, held.who + other) and not re.search(
                rf"\b{nouns.counted}\b|\b(?:those|ones|with|without|in|who|others)\b", right, FLAGS
            ):
                return Slots("difference", among=held.who, groups=(other, held.holds) if less else (held.holds, other))
            return _in_groups(held.holds, _against(held.who, other), denied=held.denied)
        return _pair(shown, right, nouns, less=less)
    return _pair(after, right, nouns, less=less)


_OUT = r"(?:outnumbers?|outnumbered|exceeds?)"


def _bare_side(text: str) -> str:
    return re.sub(
        r"^(?:(?:those|the ones|ones|it is|they are|is|are|do|does|did|both|between|that|who|after|people) )+(?=\S)",
        "",
        text.strip(),
        flags=FLAGS,
    )


def _groups(text: str, nouns: Nouns) -> tuple[str, ...]:
    named = [group(_bare_side(one), nouns) for one in _several(text)]
    return _against(*named) if len(named) > 1 else ()


_OTHERS = re.compile(
    r"(?:not |(?:in |among )?(?:the )?)?(?:without|none|one|it|any|(?:do|does|did|have|has|had)(?: not|n't)|others?|"
    r"all others|the rest|rest|no)(?: (?:one|it|any|them))?",
    FLAGS,
)


def _against(first: str, *others: str) -> tuple[str, ...]:
    """Return groups; one that is all others is those of which the first does not hold."""
    return (first, *(f"not {first}" if _OTHERS.fullmatch(one.strip()) else one for one in others))


def _pair(first: str, second: str, nouns: Nouns, among: str = "", *, less: bool = False) -> Slots | None:
    """Return the difference of two counts, with what both share as the population."""
    (a, shared), (b, own) = _side(first, nouns), _side(second, nouns)
    if re.fullmatch(MARKED, b) and shared and not re.fullmatch(MARKED, a) and re.match(MARKED, shared):
        a, shared = shared, a  # "more women have X than men"
    elif shared and statement(second, nouns) and not own and not re.search(MARKED, f"{a}{b}"):
        a, shared = shared, a  # "more patients with A have X than patients with B"
    if not a or not b or a == b:
        return None
    groups = (b, a) if less else (a, b)
    if _bare_side(a) != a or _bare_side(b) != b:
        a, b = _bare_side(a), _bare_side(b)
    groups = (b, a) if less else (a, b)
    return Slots("difference", among=_joined(among, _joined(shared, own if own != shared else "")), groups=groups)


def _side(text: str, nouns: Nouns) -> tuple[str, str]:
    """Return one side of a difference: the thing, and what else narrows the units."""
    text = re.sub(r"^(?:more )?(?:the )?(?:(?:numbers? |counts? )(?:of |with )?)?", "", text.strip(" ,"), flags=FLAGS)
    text = re.sub(rf"(?: (?:been )?(?:{_NOTED}|brought up))+(?=$| in )", "", text, flags=FLAGS) or text
    held = statement(with_verb(text), nouns)
    if held is None and not re.match(rf"(?:in )?{MARKED}$", text):
        first = _condition_first("count", text, nouns)
        held = Statement(first.among, first.of) if first else None
    if held is not None:
        said = f"not {held.holds}" if held.denied else held.holds
        parts = [one for one in (*held.who.split(AND), *said.split(AND)) if one]
        thing = said.split(AND)[0] if said else (parts[0] if parts else "")
        parts.remove(thing) if thing in parts else None
        return thing, AND.join(parts)
    bare = re.sub(
        r"^(?:(?:those|that|ones|the ones|who|with|have|had|of|for|about|in|among|after|from|has|an?|the) )+(?=\S)",
        "",
        text,
        flags=FLAGS,
    )
    marked = re.fullmatch(rf"(?P<thing>.+?) in (?P<mark>{MARKED})", bare)
    if marked:
        return holds(marked["thing"])[0], marked["mark"]
    said, denied = holds(bare)
    return f"not {said}" if denied else said, ""


_PAIR = r"\s*,\s*(?:(?:and|or)\s+)?|\s+(?:and|or|versus|vs)\s+"


def _several(text: str) -> tuple[str, ...]:
    for between in (_PAIR, r"\s+(?:to|against)\s+", r"\s+with\s+"):
        parts = [part for part in re.split(between, text, flags=FLAGS) if part.strip()]
        if len(parts) > 1:
            return tuple(parts)
    return ()


# --- lists ------------------------------------------------------------------------------------------------------------

_NUMBERS = "one two three four five six seven eight nine ten eleven twelve".split()
_VALUES = {name: number for number, name in enumerate(_NUMBERS, 1)} | {"fifteen": 15, "twenty": 20, "dozen": 12}
_N = rf"(?:\d{{1,4}}|{'|'.join(_NUMBERS)}|fifteen|twenty|dozen)"
_COMMON = (
    r"(?:(?:the )?most (?:common(?:ly)?|frequent(?:ly)?|often|prevalent|typical|widespread|usual|popular)(?: "
    r"(?:named|mentioned|reported|prescribed|given|cited|used|seen|recorded|"
    r"listed|requested|raised))?|commonest|(?:main|leading|chief|principal|major|biggest|typical|common|usual|"
    r"frequent|recurring|possible|main|key|different|various|top|primary))"
)
_RANK = (
    r"[\s,:]*(?:(?:the )?most (?:often|frequently|commonly|common|frequent)(?: first)?|most first|(?:and|with|by)(?: "
    r"how| their)? (?:often|frequently|frequency|frequencies|counts?|numbers?|shares?|common)"
    r"(?: (?:is|are|do|does) (?:each|they|it)[\w ]*)?|ranked(?: by \w+)?|in order(?: of frequency)?|(?<=[a-z]) most|"
    r"sorted by \w+|usually|typically|mostly|generally)$"
)
_LIST_LEAD = re.compile(
    r"(?:(?:what|which)(?:'s|'re| is| are| were| was)? |list |name |give |show |rank |state |enumerate |itemi[sz]e |"
    r"find |tell |what |which |me |us |"
    r"i need |i want |an? |the |our |all |some |full |complete |short |ranked |(?:list|ranking|overview|breakdown|"
    r"distribution) (?:of|by) |of )*"
    rf"(?:top[- ](?P<n>{_N}) |(?P<k>{_N}) |(?P<top>top ))?(?:{_COMMON} )*(?:(?P<m>{_N}) )?(?:{_COMMON} )*",
    FLAGS,
)
_OF = (
    r"(?:along with|together with|of|for|in|among|amongst|with|against|from|behind|at|by|across|on|within|to|after|"
    r"under)"
)
_LIST_VERBS = (
    r"(?:paid|brought(?: against)?|turn up|turned up|tend to|tends to|is|are|was|were|have|has|had|do|does|did|get|"
    rf"got|been|being|can|could|may|should|{_NOTED}|given|named|made|tried|ordered|"
    r"chosen|recommended|taken|offered|cited|claimed|requested|raised|listed|wanted|needed|occurring|frequent|common|"
    r"there|cause|causes|"
    r"report|receive|received|show|bring|come with|come up|came up|come|give|name|buy|use|take|took|need|ask(?:ed)? "
    r"for|wish for|complain(?:ed)? (?:of|about)|"
    r"suffer(?:ed)? from|experience[sd]?|mention|file[sd]?|raise[sd]?|make|prescribe|present with|want(?:ed)?|"
    r"express(?:ed)?|see|saw|lead to|we|you|they|often|most|frequently|"
    r"commonly|usually|typically|mostly|generally|also)"
)
_STOP = re.compile(rf" (?:{_OF}|{_LIST_VERBS}|that|which|why|who|whom|when)\b", FLAGS)
_REASONS = re.compile(
    r"(?:reasons?|causes?|grounds|sources|side[- ]effects|risk factors|symptoms? after|complications?)$", FLAGS
)


def _head_and_who(text: str, nouns: Nouns) -> tuple[str, str]:
    """Return what is listed or measured, and of whom: "drugs do patients with gout take" gives ("drugs", "gout")."""
    text = re.sub(
        r"^(?:the |an? |our |all )*(?:different )?(?:kinds?|types?|sorts?|categories) of ", "", text, flags=FLAGS
    )
    stop = _STOP.search(text)
    if stop is None:
        return phrase(text), ""
    head, tail = phrase(text[: stop.start()]), text[stop.start() :].strip()
    inner = re.match(rf"(?:of|for|behind|after) (?P<what>.+?)(?: {_AMONG} (?P<who>.+))?$", tail, FLAGS)
    if inner and _REASONS.search(head) and not statement(inner["what"], nouns) and not re.match(MARKED, inner["what"]):
        if re.match(r"(?:reasons?|causes?|grounds)", head, FLAGS) or inner["who"]:
            return f"{head} {tail.split(' ')[0]} {inner['what']}", whom(inner["who"], nouns) if inner["who"] else ""
    leads = rf"^(?:(?:(?!in {MARKED}){_OF}|{_LIST_VERBS}|that|which|why|who(?= (?:is|are))|the|our|an?)\b\s*)+"
    who = re.sub(leads, "", tail, flags=FLAGS)
    who = re.sub(rf"(?: {_LIST_VERBS})+$", "", who, flags=FLAGS).strip()
    if not who or re.fullmatch(rf"{_LIST_VERBS}|{nouns.people}|survey|data|notes|records", who, FLAGS):
        return head, ""
    held = statement(who, nouns)
    if held and held.who and held.holds and len(held.holds.split()) == 1 and not held.denied:
        return head, held.who
    first = None if held else _condition_first("list", who, nouns)
    if first:
        return head, _joined(first.of, first.among)
    return head, whom(who, nouns)


_ACTIONS = (
    (r"complain(?:ing|s|ed)?(?: (?:of|about))?", "complaints"),
    (r"(?:ask|asks|asked|asking)(?: (?:about|for))?|request(?:s|ed)?", "requests"),
    (r"suffer(?:s|ed|ing)? from|get diagnosed with|diagnosed with", "diagnoses"),
    (r"(?:get|receive|are given|are treated with|treated with|given)", "treatments"),
    (r"(?:take|takes|took|taking|are prescribed|prescribed|get prescribed)", "medications"),
    (r"die (?:of|from)|died (?:of|from)", "causes of death"),
    (r"call (?:us )?about|contact us about|write (?:in )?about", "topics"),
)


def _list(text: str, nouns: Nouns) -> Slots | None:
    plain = re.sub(_RANK, "", text, flags=FLAGS)
    front = re.match(r"(?:(?:among|amongst|in|for|of|with|across) (?P<who>[^,]+), )(?P<rest>.+)", plain, FLAGS)
    who = whom(front["who"], nouns) if front else ""
    plain = front["rest"] if front else plain
    found = _action(plain, nouns) or _named(plain, nouns)
    return found and replace(found, among=_joined(who, found.among))


def _action(text: str, nouns: Nouns) -> Slots | None:
    """Return the list of "What do patients complain about most?"."""
    for verb, attribute in _ACTIONS:
        found = re.fullmatch(
            r"what (?:(?:things|kinds of things) )?(?:do|did|are|were|does) (?P<who>.+?) (?:(?:most|usually|"
            rf"typically|mostly|often|frequently|commonly) )*{verb}"
            rf"(?P<rest>(?: (?:for|against|with|in|on) .+)?)(?: (?:the )?most(?: (?:often|frequently|commonly))?)?",
            text,
            FLAGS,
        )
        if found:
            population = whom(found["who"], nouns)
            more = found["rest"].strip().split(" ", 1)
            return Slots(
                "list", among=_joined(population, phrase(more[1]) if len(more) > 1 else ""), attribute=attribute
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
    attribute = re.sub(rf"^(?:{_COMMON}) ", "", attribute, flags=FLAGS)
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

_WHAT = {
    "average": "mean",
    "mean": "mean",
    "avg": "mean",
    "median": "median",
    "quartiles": "quartiles",
    "interquartile range": "quartiles",
}
_WHAT |= {
    "range": "quartiles",
    "spread": "quartiles",
    "distribution": "quartiles",
    "on average": "mean",
    "typical": "median",
    "usual": "median",
}
_OLD = {
    "old": "age",
    "young": "age",
    "tall": "height",
    "heavy": "weight",
    "satisfied": "satisfaction",
    "happy": "satisfaction",
    "expensive": "price",
}


_MEASURES = {
    "pay": "price",
    "stay": "length of stay",
    "weigh": "weight",
    "earn": "income",
    "wait": "waiting time",
    "cost": "price",
}


def _typical(text: str, nouns: Nouns) -> Slots | None:
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
    front = re.match(r"(?:(?:among|amongst|in|for|of|with|across) (?P<who>[^,]+), )(?P<rest>.+)", plain, FLAGS)
    before = whom(front["who"], nouns) if front else ""
    plain = re.sub(
        rf"^(?:(?:{_FRAME_WORDS}|much|long|number of|within|between)\b[\s,:.-]*)+(?=\w)",
        "",
        front["rest"] if front else plain,
        flags=FLAGS,
    )
    how = re.fullmatch(
        (
            rf"(?P<how>{'|'.join(_OLD)}) (?:(?:is|are|were|was) )?(?:the |an? |our )*(?P<who>.+?)(?: (?:is|are|were|"
            r"was))?"
        ),
        plain,
        FLAGS,
    )
    if how:
        return Slots(
            "typical", among=_joined(before, whom(how["who"], nouns)), attribute=_OLD[how["how"].casefold()], what=what
        )
    for verb, name in _MEASURES.items():
        if found := re.fullmatch(rf"(?P<who>.+?) {verb}(?: for .+)?", plain, FLAGS):
            return Slots("typical", among=_joined(before, whom(found["who"], nouns)), attribute=name, what=what)
    plain = re.sub(r"^length (?:of )?(?:the )?(?:hospital )?stay", "length_of_stay", plain, flags=FLAGS)
    attribute, who = _head_and_who(plain, nouns)
    attribute = nouns.field(attribute) or attribute.replace("length_of_stay", "length of stay")
    if not attribute or len(attribute.split()) > 4:
        return None
    if "," in attribute:
        attribute, who = (one.strip() for one in attribute.split(",", 1))
    return Slots("typical", among=_joined(before, who), attribute=nouns.field(attribute) or attribute, what=what)


# --- summaries --------------------------------------------------------------------------------------------------------

_SUMMARY = re.compile(
    r"^(?:(?:summari[sz]e|sum up|give|write|show|describe|tell|overview|summary|digest|recap|gist|profile|picture|"
    r"state of things|what(?:'s)?|do|does|"
    r"can|could|be|found|is|are|known|we|you|i|i'd|know|everything|anything|all|more|me|us|an?|the|short|"
    r"brief(?:ly)?|quick|general|outline|provide|like|kind|"
    r"kinds|sort|typical|characteri[sz]es?|how|of|on|about|say|says|said|that|there|should|for|in|my|our|these|in "
    r"general|main points|notes|"
    r"documents|records|letters|e?-?mails|files|reports|texts|vault|data|collection|feedback|reviews|comments|survey|"
    r"responses|content|contents)\b[\s,:]*)+",
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
    "count": _count,
    "share": _share,
    "difference": _versus,
    "compare": _versus,
    "trend": _trend,
    "typical": _typical,
    "list": _list,
    "summary": _summary,
}


def read_all(text: str, nouns: Nouns) -> Iterator[Slots]:
    """Yield the slots of a sentence for each kind that it can be read as."""
    for kind in _READ:
        if found := slots_of(text, kind, nouns):
            yield found

"""Counts and shares: who is counted, and what holds of them. The other kinds of statistics are read with it.

A sentence is read from the outside to the inside. What frames it goes first ("how many", "what share of"). Then a
statement about units is left (`statements`). Tests of fields are marks by then. What no frame takes stays in a phrase,
so that no word is lost.
"""

import re
from dataclasses import dataclass, replace
from typing import Literal

from discreet.questions.marks import MARKED
from discreet.questions.sentences import FLAGS, Nouns, phrase
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


# --- who, and what ----------------------------------------------------------------------------------------------------

SHARE = (
    r"(?:share|percentages?|per ?cent(?:age)?|proportion|fraction|part|portion|ratio|rate|prevalence|incidence|"
    r"(?:relative )?frequency|probability|likelihood)"
)
_COUNT_LEAD = (
    r"(?<!one in )how many(?: of)?\b"
    r"|\b(?:the )?(?:total |overall |approximate |exact )*(?:number|count|tally|amount) of\b"
    r"|^(?:count|tally)(?: up)?(?: how many| all)?\b|^(?:n|no|nr|#) of\b|^#|^total(?= \w+ (?:with|who))"
    r"|(?:how (?:large|big) (?:is|are|was|were) |\bsize of )the (?:group|set|population|number)(?: of)?\b"
)
_SHARE_LEAD = (
    rf"\b(?:the |a |an )?(?:overall )?{SHARE} (?:of|for|with)\b|\bhow many per ?cent(?: of)?\b|\bone in how many\b"
    rf"|\b(?:what|which|how large an?|how big an?) {SHARE}(?: of)?\b"
    r"|\bhow (?:common|frequent|prevalent|widespread|rare|usual)(?:ly)?(?: is| are| was| were| has been)?(?: it "
    r"that)?\b"
    r"|\bhow (?:often|frequently|commonly|likely)(?: is it that)?\b"
)
FRAME_WORDS = (
    r"(?>(?:what(?:'s|'re)?|which|how|show|give|tell|list|find|report|figure|is|are|was|were|there|for|the|a|an|me|us|"
    r"please|i|i'd|we|"
    r"want|need|would|like|to|see|know|known|get|so|any|idea|in|with|of|by|from|roughly|approximately|about|exactly|"
    r"just|and|then|can|"
    r"you|could|do|have|has|count|calculate|compute|estimate|determine|provide|way|it|be|helpful|learn|work out|out|"
    r"tell|large|"
    r"big|high|hello|hi|hey|thanks|actually|state|let|say|check|look up|number|total|plot|chart|graph|draw|display|"
    r"present|as|"
    r"come|quick|question|our|my|all|one|interested|wondering|help|find out|on|at|around|within)\b)"
)
_FRAME = re.compile(rf"(?:{FRAME_WORDS}\b[\s,:.-]*)*", FLAGS)
"""Words before what is asked for, which say nothing of it."""
_FRONT = re.compile(
    r"(?:looking (?:only )?at|(?:out )?of|among(?:st)?|in|for|with|within|considering|from|across|regarding) "
    r"(?P<who>.+)",
    FLAGS,
)
AMONG = r"(?:among|amongst|in|for|with|across|within|of|on)"
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
NOTED = (
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


def counted(kind: Kind, text: str, nouns: Nouns) -> Slots | None:
    """Return the slots of a count or a share: the words before its lead, and those after it."""
    if last := re.fullmatch(r"(?P<rest>.+?), (?:among|of|in|for|just|only) (?P<who>.+)", text, FLAGS):
        found = statement(last["who"], nouns) and counted(kind, re.sub(r"\bof them\b ?", "", last["rest"]), nouns)
        if found:
            return replace(found, among=joined(found.among, whom(last["who"], nouns)))
    lead = re.search(_COUNT_LEAD if kind == "count" else f"{_SHARE_LEAD}|{_COUNT_LEAD}", text, FLAGS)
    if lead is None:
        return stated(kind, text, nouns) if kind == "share" or statement(text, nouns) else None
    before, after = text[: lead.start()].strip(" ,:-"), text[lead.end() :].strip(" ,:-")
    found = stated(kind, without_closing(after, nouns), nouns) if after else None
    if not after:  # "patients with fever: how many?"
        return stated(kind, without_closing(before, nouns), nouns)
    if _FRAME.fullmatch(before):
        return found
    front = _FRONT.fullmatch(before)
    if found is None or (front is None and statement(before, nouns) is None):
        return None
    who = front["who"] if front else before
    if found.among or found.of:
        return replace(found, among=joined(whom(who, nouns), found.among))
    return replace(found, of=whom(who, nouns))


def joined(*parts: str) -> str:
    """Return parts that hold together."""
    return AND.join(filter(None, parts))


def without_closing(text: str, nouns: Nouns) -> str:
    """Return a text without words that close it and say nothing."""
    text = re.sub(
        r"^(?:all |our |the |my |these |those (?!who|with|that|in|on)|your |of )+(?=\w)", "", text, flags=FLAGS
    )
    while (shorter := _CLOSING.sub("", text)) != text and shorter:
        text = shorter
    return text


def stated(kind: Kind, text: str, nouns: Nouns) -> Slots | None:
    """Return the slots of a statement, in one of its orders. A test before its verb is of its subject."""
    verbs = r"(?:is|are|was|were|has|have|had|do|does|did)\b"
    text = re.sub(rf"^(?=in {MARKED} {verbs})", f"{nouns.plural} ", text, flags=FLAGS)
    lead = re.sub(r"^(?:is|are|was|were|do|does|did|has|have|had|the|it) (?=\w+ )", "", text, flags=FLAGS)
    for one in (text, lead):
        passive = _passive(one, nouns)
        held = passive or statement(one, nouns)
        if held is not None and (held.said or not held.holds):
            return Slots(kind, held.holds, held.denied, held.who)
    first = condition_first(kind, lead, nouns)
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
        rf"(?:been )?{NOTED}(?: (?:to|in|at all))?",
        text,
        FLAGS,
    )
    if not inside or re.match(r"(?:been|being|not|never|\w+ly)$", inside["what"], FLAGS):
        return None
    negated = bool(re.search(r"\s(?:not|never)$", inside["what"], FLAGS))
    what = re.sub(r"\s(?:not|never|ever|been)$", "", inside["what"], flags=FLAGS)
    who = group(f"{nouns.plural}{inside['who']}", nouns) if inside["who"] else ""
    return Statement(who, phrase(what), negated)


def condition_first(kind: Kind, text: str, nouns: Nouns) -> Slots | None:
    """Return the slots of "fever among patients with Winter Hand"."""
    noted = re.sub(rf" (?:been )?{NOTED}(?= {AMONG} )", "", text, count=1, flags=FLAGS)
    for found in re.finditer(rf"(?<=\w) {AMONG} ", noted, FLAGS):  # the first may be inside: "pain in the chest"
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


def count(text: str, nouns: Nouns) -> Slots | None:
    """Return the slots of a count."""
    return counted("count", text, nouns)


def share(text: str, nouns: Nouns) -> Slots | None:
    """Return the slots of a share; None without anything of which a share is asked."""
    leads = re.fullmatch(
        r"how (?:often|frequently|commonly) (?:does|do|did) (?P<who>.+?) (?:lead to|cause|come with|result in|bring) "
        r"(?P<what>.+)",
        text,
        FLAGS,
    )
    if leads:
        return Slots("share", phrase(leads["what"]), among=whom(leads["who"], nouns))
    often = re.fullmatch(
        rf"how (?:often|frequently|commonly) (?:is|are|was|were|do|does|did|has|have) (?P<what>.+?) (?:been )?{NOTED}"
        rf"(?P<who> (?:to|{AMONG}) .+)?",
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
    found = counted("share", text, nouns)
    return found if found and (found.of or found.among) else None


PLAIN_VERB = r"(?:get|have|develop|receive|suffer|complain|report|mention|show|experience|feel|die|recover|return|"
PLAIN_VERB += r"fall|default|lose|win|settle|need|ask|sue|miss|cancel|leave|take|use|stay|go|come|pay|smoke|want|say)"


def with_verb(rest: str) -> str:
    """Return a statement whose verb is marked as such: "do patients with X recover" has its helper in front."""
    return rest if " do " in rest.casefold() else re.sub(rf" (?={PLAIN_VERB}\b)", " do ", rest, count=1, flags=FLAGS)

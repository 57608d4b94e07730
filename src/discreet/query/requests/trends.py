"""Trends, such as "Has X become more frequent since 2020?" and "How many cases of X by month?"."""

import re
from dataclasses import replace

from discreet.query.requests.counts import anything, counted
from discreet.query.requests.phrases import FLAGS, Nouns
from discreet.query.requests.typical import typical
from discreet.query.requests.units import statement
from discreet.query.requests.wording import Wording

_OFTEN = (
    r"(?:(?:more|less)(?: and (?:more|less))? (?:common|frequent|often|prevalent|widespread|frequently)|rarer|commoner)"
)
_RISING = r"(?:increas|decreas|grow|ris|fall|declin|dropp|chang|develop|evolv)"
_PATTERNS = (
    r"(?:has|have|did|does|do|is|are) (?P<what>.+?) (?:become|became|got|gotten|get|been|becoming|getting|"
    rf"occurred|occur) {_OFTEN}(?P<who> (?:among|amongst|in|for|with) .+)?",
    r"(?:are|were) there (?:more|fewer|less) (?P<what>.+?) (?:now|(?:now )?than (?:before|last year|in the past|"
    r"a year ago))",
    rf"(?:is|are|was|were) (?P<what>.+?) (?:now )?{_OFTEN} (?:now|today|than (?:before|in the past|last year|it was))",
    rf"(?:is|are|has|have) (?P<what>.+?) (?:been )?(?:on the (?:rise|increase|decline)|{_RISING}ing)",
    rf"(?:has|have) (?P<what>.+?) (?:{_RISING}ed|gone (?:up|down)|risen|fallen|grown)",
    rf"did (?P<what>.+?) (?:{_RISING}e?|rise|drop|go (?:up|down))",
    rf"how (?:has|have|did|does|do|is|are|was) (?P<what>.+?) (?:been )?(?:{_RISING}(?:ed|e|ing)?|risen|fallen|grown)",
    r"(?:(?:what(?:'s| is| was) |show(?: me)? )?the |what |show )?(?:trends?|course|development|"
    r"evolution) (?:of|in|for) (?P<what>.+)",
    r"(?:what(?:'s| is) |show(?: me)? )?the (?P<what>.+?) trend",
)
_QUESTION = re.compile(
    r"(?:what|which|how|who|whom|when|where|why|is|are|do|does|did|can|could|should|will|was|were|"
    r"(?:give|show|list|name|find|rank|the|me|us|my|our|all) (?:me |us |the )*top|top|give|list|name|rank|find|"
    r"compare|tell|should)\b",
    FLAGS,
)
_DOSE = re.compile(r"\b(?:times|tablets?|pills?|drops|once|twice|mg|ml|doses?|one|two|three|cost|\d+)\b", FLAGS)
_THERE = re.compile(
    r"how many (?P<what>.+?) (?:(?:were|have been) there|"
    r"(?:are|were|have been) (?:reported|recorded|seen|diagnosed|documented))",
    FLAGS,
)
_SHARE = r"(?:the )?(?:\w+ )?(?:number|share|percentage|proportion|frequency|prevalence|incidence|fraction) of "


def trended(text: str, by: str, course: bool, since: str, nouns: Nouns) -> Wording | None:
    """Return the request of a trend, or None. The text has lost its "by" and its "since"."""
    for pattern in _PATTERNS:
        found = re.fullmatch(pattern, text, FLAGS)
        if found and _counts(found, course, since):
            return _made(f"{found['what']}{found.groupdict().get('who') or ''}", by, since, nouns)
    if not course:
        return None
    request = counted(text, nouns)
    if request:
        return replace(request, kind="trend", by=by, since=since)
    if there := _THERE.fullmatch(text):
        return _made(there["what"], by, since, nouns)
    return None if _QUESTION.match(text) or _DOSE.search(text) else _made(text, by, since, nouns)


def _counts(found: re.Match[str], course: bool, since: str) -> bool:
    """Return whether a change is one of numbers: the treatment of a disease can change, too."""
    verb = re.search(r"\b(?:chang|develop|evolv)\w*$", found[0], FLAGS)
    if course or re.match(_SHARE, found["what"], FLAGS):
        return True
    return not verb and bool(
        since or not re.search(r"\b(?:course|development|evolution) (?:of|in|for)\b", found[0], FLAGS)
    )


def _made(what: str, by: str, since: str, nouns: Nouns) -> Wording | None:
    shared = re.match(_SHARE, what, FLAGS)
    text = what[shared.end() :] if shared else what
    text = re.sub(r"^(?:show|plot|list|give)(?: me| us)? (?:the )?", "", text, flags=FLAGS)
    measured = typical(text, nouns)
    if measured:
        return replace(measured, kind="trend", by=by, since=since)
    held = statement(text, nouns)
    if held and not held.said:
        return Wording("trend", held.population, by=by, since=since)
    request = anything(text, nouns)
    return replace(request, kind="trend", by=by, since=since) if request.condition else None

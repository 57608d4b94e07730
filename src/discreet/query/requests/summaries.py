"""Summaries: "Summarise what the notes say about X", "Give me an overview of patients with X"."""

import re

from discreet.query.requests.phrases import FLAGS, Nouns
from discreet.query.requests.units import group
from discreet.query.requests.wording import Wording

_DOCUMENTS = (
    r"(?:the |my |our |these |all )?(?:notes|documents|records|letters|e?-?mails|files|reports|texts|vault|data)"
)
_SAY = r"(?:say|state|tell|report|contain|have|show)"
_KNOWN = r"(?:what is known about |(?:(?:that )?(?:you know|we know|is known|there is) ))?"
_PATTERNS = (
    rf"(?:summari[sz]e|sum up) (?:what )?{_DOCUMENTS} (?:{_SAY} )?(?:about|on|of) (?P<who>.+)",
    rf"what (?:do|does|can be found in) {_DOCUMENTS} {_SAY} (?:about|on|of) (?P<who>.+)",
    r"(?:(?:give|write|show)(?: me| us)? )?(?:(?:an?|the) )?(?:(?:short|brief|quick) )?(?:overview|summary) "
    rf"(?:of|about|on|for) {_KNOWN}(?P<who>.+)",
    rf"(?:(?:everything|all|more|something) )?{_KNOWN}about (?P<who>.+)",
    r"what (?:is known|do (?:you|we) know|should (?:i|we|one) know|can you (?:tell|say)) (?:about|of) "
    r"(?P<who>.+?)(?: here)?",
    r"describe (?:the |our |my )?(?P<who>.+)",
    r"(?:summari[sz]e|sum up) (?:the )?(?P<who>.+)",
)
_COMPLAIN = re.compile(r"what (?:.+ )?(?:complains?|complained) (?:of|about)(?: most(?: often)?)?", FLAGS)
_ALL = re.compile(rf"(?:what )?{_DOCUMENTS}(?: {_SAY})?", FLAGS)


def summarised(text: str, nouns: Nouns) -> Wording | None:
    """Return the request for a summary that a sentence makes; of what people complain of, it is a list."""
    for pattern in _PATTERNS:
        found = re.fullmatch(pattern, text, FLAGS)
        if found is None:
            continue
        who = found["who"].strip()
        if _COMPLAIN.fullmatch(who):
            return Wording("list", attribute="complaints")
        return Wording("summary", population="" if _ALL.fullmatch(who) else group(who, nouns))
    return None

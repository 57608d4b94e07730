"""Differences of two counts: "How many more patients have Winter Hand than Glass Knee?"."""

import re

from discreet.query.requests.counts import with_verb
from discreet.query.requests.phrases import FLAGS, Nouns
from discreet.query.requests.request import Request
from discreet.query.requests.units import group, holds, statement

_MORE = r"(?P<more>more|fewer|less)"
_HOW = r"(?:how many|by how many|by how much)"
_NUMBERS = r"(?:the )?(?:numbers?|counts?) of "
_PATTERNS = (
    rf"{_HOW} {_MORE} (?P<a>.+?) than (?P<b>.+)",
    rf"(?:are|were) there {_MORE} (?P<a>.+?) than (?P<b>.+)",
    rf"do (?:we|i) have {_MORE} (?P<a>.+?) than (?P<b>.+)",
    rf"(?:do|did|have|are|were) {_MORE} (?P<a>.+?) than (?P<b>.+)",
    rf"(?:(?:what(?:'s| is)|how large is|how big is) )?(?:the )?difference (?:between|in) {_NUMBERS}(?P<a>.+?) and "
    rf"(?:{_NUMBERS})?(?P<b>.+)",
)
_NOT_A_GROUP = re.compile(
    r"(?:before|usual|ever|expected|last|in the|now|today|half|once|twice|one|two|three|\d+|any|all|other)\b"
    r"|an? (?:day|week|month|quarter|year|decade)\b",
    FLAGS,
)


def differs(text: str, nouns: Nouns) -> Request | None:
    """Return the request of a difference of two counts, or None."""
    text = re.sub(r" (?:are|were) there(?= than\b|$)", "", text, flags=FLAGS)
    for pattern in _PATTERNS:
        found = re.fullmatch(pattern, text, FLAGS)
        request = found and _request(found["a"], found["b"], nouns)
        if found and request:
            more = found.groupdict().get("more") or "more"
            return request if more.casefold() == "more" else _turned(request)
    return None


def _request(first: str, second: str, nouns: Nouns) -> Request | None:
    held = statement(with_verb(first), nouns)
    other = _other(second, nouns)
    if held is None or not held.said or not held.condition or held.negated or not other:
        return None
    if held.population and statement(second, nouns):
        return None  # "patients with A have C than patients with B": two sets, and one condition
    return Request("difference", held.population, groups=(held.condition, other))


def _other(text: str, nouns: Nouns) -> str:
    """Return the second group, without the words that it shares with the first one; "" if it is none."""
    if _NOT_A_GROUP.match(text):
        return ""
    if statement(text, nouns):
        named = group(text, nouns)
    else:
        bare = re.sub(r"^(?:(?:those|the ones|ones) )?(?:who |that )?(?:with|of|for) ", "", text, flags=FLAGS)
        named, negated = holds(bare)
        named = "" if negated else named
    return "" if re.match(r"(?:without|no|not)\b", named, FLAGS) else named


def _turned(request: Request) -> Request:
    return Request(request.kind, request.population, groups=request.groups[::-1])

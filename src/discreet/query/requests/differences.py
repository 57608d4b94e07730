"""Differences of two counts: "How many more patients have Winter Hand than Glass Knee?"."""

import re

from discreet.query.requests.counts import with_verb
from discreet.query.requests.phrases import FLAGS, Nouns
from discreet.query.requests.units import group, holds, statement
from discreet.query.requests.wording import Wording

_MORE = r"(?P<more>more|fewer|less)"
_HOW = r"(?:how many|by how many|by how much)"
_NUMBERS = r"(?:the )?(?:numbers?|counts?) of "
_PATTERNS = (
    rf"{_HOW} {_MORE} (?P<a>.+?) than (?P<b>.+)",
    rf"(?:are|were) there {_MORE} (?P<a>.+?) than (?P<b>.+)",
    rf"do (?:we|i) have {_MORE} (?P<a>.+?) than (?P<b>.+)",
    rf"(?:do|did|have|are|were) {_MORE} (?P<a>.+?) than (?P<b>.+)",
    rf"(?:do|did|are|were) (?:there )?{_MORE} (?P<a>(?:(?!\b(?:than|or)\b).)+?),? or (?P<b>(?:(?!\b(?:than|or)\b).)+)",
    rf"(?:(?:what(?:'s| is)|how large is|how big is) )?(?:the )?difference (?:between|in) {_NUMBERS}(?P<a>.+?) and "
    rf"(?:{_NUMBERS})?(?P<b>.+)",
)
_GROUP = r"(?:the (?:group|number)(?: of \w+)?|that|those) (?:with|of)"
_REWORDED = (
    (r",? and by how (?:many|much)(?: \w+)?$", ""),
    (r"^(?P<head>how many (?:more|fewer|less) .+?) compared (?:to|with) ", r"\g<head> than "),
    (r"^by how many (?P<units>\w+) (?:do|does|did) (?P<a>.+?) exceed ", r"how many more \g<units> have \g<a> than "),
    (
        rf"^how much (?:bigger|larger|greater) (?:is|are|was|were) {_GROUP} (?P<a>.+?) than {_GROUP} ",
        r"how many more people have \g<a> than ",
    ),
    (
        rf"^how much smaller (?:is|are|was|were) {_GROUP} (?P<a>.+?) than {_GROUP} ",
        r"how many fewer people have \g<a> than ",
    ),
)
"""Other words for a difference, each with its words in the patterns."""
_NOT_A_GROUP = re.compile(
    r"(?:before|usual|ever|expected|last|in the|now|today|half|once|twice|one|two|three|\d+|any|all|other)\b"
    r"|an? (?:day|week|month|quarter|year|decade)\b"
    r"|(?:we|i|you|they|he|she|it|anyone|anybody|everyone|everybody|someone|somebody|nobody|most|many|doctors)\b"
    r"|\w+ (?:think|thought|say|said|(?:expect|believe|assume|hope|claim)(?:d|ed)?|know|knew)$"
    r"|(?:in|during|before|after|since|until) (?:\w+ )?\d{4}\b",
    FLAGS,
)
_VERB = re.compile(r"\b(?:have|has|had|are|is|were|was|do|does|did|get|got|show|suffer|report|receive)\b", FLAGS)
_HELD = "zzz"
"""Stands for a condition."""


def differs(text: str, nouns: Nouns) -> Wording | None:
    """Return the request of a difference of two counts, or None."""
    for other, words in _REWORDED:
        text = re.sub(other, words, text, flags=FLAGS)
    text = re.sub(r" (?:are|were) there(?= than\b|$)", "", text, flags=FLAGS)
    for pattern in _PATTERNS:
        found = re.fullmatch(pattern, text, FLAGS)
        request = found and _request(found["a"], found["b"], nouns)
        if found and request:
            more = found.groupdict().get("more") or "more"
            return request if more.casefold() == "more" else _turned(request)
    return None


def _request(first: str, second: str, nouns: Nouns) -> Wording | None:
    shared = _of_two_sets(first, second, nouns)
    if shared:
        return shared
    held = statement(with_verb(first), nouns)
    other = _other(second, nouns)
    if held is None or not held.said or not held.condition or held.negated or not other:
        return None
    if held.population and statement(second, nouns):
        return None  # "patients with A have C than patients with B": two sets, and one condition
    return Wording("difference", held.population, groups=(held.condition, other))


def _of_two_sets(first: str, second: str, nouns: Nouns) -> Wording | None:
    """Return the difference of "more women than men have fever": one condition of two sets. None if it is another."""
    left = statement(f"{first} have {_HELD}", nouns)
    if left is None or left.condition != _HELD or not left.population or left.negated:
        return None
    if not _VERB.search(second) and not re.fullmatch(nouns.narrow, first, FLAGS):
        return None  # "patients with fever than men with cough"
    right = statement(second if statement(second, nouns) else f"patients {second}", nouns)
    if right is None or not right.population or not right.condition or right.negated:
        return None
    return Wording("difference", right.condition, groups=(left.population, right.population))


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
    return "" if re.match(r"(?:without|no|not)\b", named, FLAGS) or _VERB.search(named) else named


def _turned(request: Wording) -> Wording:
    return Wording(request.kind, request.population, groups=request.groups[::-1])

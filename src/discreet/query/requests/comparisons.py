"""Comparisons: "Is Y more common among patients with A than with B?", "Compare A and B by treatment"."""

import re

from discreet.query.requests.counts import anything, with_verb
from discreet.query.requests.phrases import FLAGS, Nouns, phrase
from discreet.query.requests.typical import typical
from discreet.query.requests.units import group, holds, statement
from discreet.query.requests.wording import Wording

_OFTEN = r"(?:more|less) (?:common|frequent|often|likely|prevalent|widespread|frequently|commonly)"
_MORE = rf"(?:{_OFTEN}|rarer|commoner|higher|lower|larger|smaller|bigger|greater)"
_IN = r"(?:among|amongst|in|for|with|at|of)"
_NOTED = r"(?:seen|found|reported|observed|noted|recorded)"
_OCCUR = r"(?:show up|occur|appear|happen|come up)"
_TERMS = r"(?:by|with respect to|with regard to|in terms of|regarding|on the basis of|when it comes to|on)"
_BETWEEN = (r"\s*,\s*(?:(?:and|or)\s+)?|\s+(?:and|or|versus|vs\.?)\s+", r"\s+(?:to|against)\s+", r"\s+with\s+")
_PATTERNS = (
    rf"(?:is|are|was|were) (?P<what>.+?)(?: {_NOTED})? {_MORE} {_IN} (?P<a>.+?) than (?P<b>.+)",
    r"(?:(?:which|what) (?:is|are|was|were|occurs|happens)|which of these is) "
    rf"{_OFTEN}\s?[:,;-]?\s(?P<groups>.+ or .+)",
    rf"(?:is|are|was|were) (?P<groups>.+ or .+) {_OFTEN}",
    rf"(?:is|are|was|were) (?P<what>.+?) {_MORE} {_IN} (?P<groups>.+ or .+)",
    rf"(?:do|does|did) (?P<what>.+?) {_OCCUR} (?:more|less)(?: (?:often|frequently))? {_IN} (?P<a>.+?) than (?P<b>.+)",
    rf"(?:do|does|did) (?P<what>.+?) {_OCCUR} (?:more|less)(?: (?:often|frequently))? {_IN} (?P<groups>.+ or .+)",
    rf"compare how (?:common|frequent|often|likely) (?P<what>.+?) (?:is|are|was|were|occurs?) {_IN} "
    rf"(?P<groups>.+? (?:and|versus|vs\.?|with) .+)",
    rf"how much {_MORE} (?:is|are|was|were) (?P<what>.+?) {_IN} (?P<a>.+?) than (?P<b>.+)",
    rf"who (?P<holds>.+?) {_OFTEN}\s?[:,;-]?\s(?P<groups>.+ or .+)",
    rf"(?:is|are|was|were|do|does|did|have|has) (?P<a>.+?) {_OFTEN}(?: to)? (?!than\b)(?P<holds>.+?) than (?P<b>.+)",
    rf"(?:is|are|was|were) (?P<whose>.+?) {_OFTEN} than (?P<b>.+)",
    rf"(?:do|does|did|have|has) (?P<whose>.+?) (?P<does>{_OFTEN}) than (?P<b>.+)",
    r"compare (?P<measure>.+?) (?:between|among|across) (?P<groups>.+? (?:and|versus|vs\.?|with) .+)",
    r"compare (?P<measure>the .+?|\w+) (?:in|for) (?P<groups>.+? (?:and|versus|vs\.?|with) .+)",
    r"compare (?P<measure>the \w+) of (?P<groups>.+? (?:and|versus|vs\.?|with) .+)",
    r"(?:compare|contrast|comparison of|comparison between) (?P<groups>.+?)"
    rf"(?: {_TERMS} (?P<attribute>.+))?",
    r"how (?:does|do|did|has|have) (?P<measure>.+?) (?:differ|vary|compare|differed) (?:between|among|in|"
    r"across) (?P<groups>.+)",
    rf"how (?:does|do|did) (?P<groups>.+?) (?:differ|compare) (?:in|{_TERMS}) (?P<attribute>.+)",
    rf"how (?:does|do|did) (?P<a>.+?) (?:differ|compare) (?:from|to|with) (?P<b>.+?) (?:in|{_TERMS}) (?P<attribute>.+)",
    r"(?:(?:what|how large|how big) (?:is|are) )?(?:the )?differences? in (?P<measure>.+?) between (?P<groups>.+)",
    r"(?P<what>[^:]+): (?P<a>.+?) (?:vs\.?|versus|compared (?:with|to)) (?P<b>.+)",
    r"(?P<what>.+?)(?: (?:in|among|for)) (?P<a>.+?) (?:vs\.?|versus|compared (?:with|to)) (?P<b>.+)",
    r"(?P<a>.+?) (?:vs\.?|versus)\.? (?P<b>.+?)(?:(?::| by| in terms of) (?P<attribute>.+))",
)
COMPARES = re.compile(r"(?:compare|contrast)\b|.*\b(?:versus|vs)\b", FLAGS)


def compared(text: str, nouns: Nouns) -> Wording | None:
    """Return the request of a comparison, or None."""
    for pattern in _PATTERNS:
        found = re.fullmatch(pattern, text, FLAGS)
        request = found and _request({name: value or "" for name, value in found.groupdict().items()}, nouns)
        if request:
            return request
    return None


def _request(parts: dict[str, str], nouns: Nouns) -> Wording | None:
    if "whose" in parts:
        return _than(parts["whose"], parts["b"], "does" in parts, nouns)
    groups = _several(parts["groups"], nouns) if "groups" in parts else _two(parts["a"], parts["b"], nouns)
    if (
        len(groups) < 2
        or not all(groups)
        or any(re.match(r"(?:other|others|all|ever)\b", one, FLAGS) for one in groups)
    ):
        return None
    if what := parts.get("what") or parts.get("measure"):
        return _of_what(what, groups, "measure" in parts, nouns)
    if parts.get("holds"):
        condition, negated = holds(re.sub(r"^be ", "", parts["holds"], flags=FLAGS))
        return Wording("compare", condition=condition, groups=groups, negated=negated)
    return Wording("compare", attribute=phrase(parts.get("attribute", "")), groups=groups)


def _of_what(what: str, groups: tuple[str, ...], is_attribute: bool, nouns: Nouns) -> Wording | None:
    """Return a comparison of a share or of an attribute: "share of fever", "treatment"."""
    measured = typical(what, nouns)
    if measured:
        return Wording("compare", attribute=measured.attribute, groups=groups, statistic=measured.statistic)
    if is_attribute and re.search(r"\w (?:in|for) ", groups[0], FLAGS) and not statement(groups[0], nouns):
        return None  # "the share of pain in the chest in A and B" has two ways to be read
    shared = re.match(
        r"(?:the )?(?:share|percentage|proportion|fraction|number|frequency|prevalence|incidence) of ", what, FLAGS
    )
    if shared:
        held = anything(what[shared.end() :], nouns)
        return Wording("compare", condition=held.condition, groups=groups, negated=held.negated)
    if re.fullmatch(rf"{nouns.counted}|group|number", phrase(what), FLAGS):
        return None
    if is_attribute:
        return Wording("compare", attribute=phrase(what), groups=groups)
    return Wording("compare", condition=phrase(what), groups=groups)


def _two(first: str, second: str, nouns: Nouns) -> tuple[str, ...]:
    second = re.sub(r"^(?:(?:is|are|do|does|did|was|were) )", "", second, flags=FLAGS)
    return group(first, nouns), group(second, nouns)


def _several(text: str, nouns: Nouns) -> tuple[str, ...]:
    for between in _BETWEEN:
        parts = [part for part in re.split(between, text, flags=FLAGS) if part.strip()]
        if len(parts) > 1:
            return tuple(group(part, nouns) for part in parts)
    return ()


def _than(first: str, second: str, does: bool, nouns: Nouns) -> Wording | None:
    """Return a comparison of two statements about units, or of two conditions."""
    left, right = statement(with_verb(first), nouns), statement(second, nouns)
    if left and left.said and left.population:
        return Wording(
            "compare", condition=left.condition, groups=(left.population, group(second, nouns)), negated=left.negated
        )
    if does or (left and left.said) or right:
        return None
    groups = _two(first, second, nouns)
    return Wording("compare", groups=groups) if all(groups) else None

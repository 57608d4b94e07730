"""Typical values: "What is the average age of patients with X?", "quartiles of the price"."""

import re

from discreet.query.requests.counts import whom
from discreet.query.requests.phrases import FLAGS, Nouns, phrase
from discreet.query.requests.units import statement
from discreet.query.requests.wording import Statistic, Wording

_STATISTICS: dict[str, Statistic] = {
    "average": "mean",
    "mean": "mean",
    "median": "median",
    "quartiles": "quartiles",
    "interquartile range": "quartiles",
    "range": "range",
    "typical": "",
    "usual": "",
}
_STATISTIC = "(?P<statistic>average|mean|median|quartiles|interquartile range|range|typical|usual)"
_MEASURES = (
    r"(?:age(?: of onset| at (?:diagnosis|admission|onset|death))?|length of (?:the )?(?:hospital )?stay|"
    r"duration of (?:the )?stay|waiting times?|price|weight|height|income|"
    r"salary|loan amount|balance|fees?|costs?|rent|term)"
)
_OF_VAULTS = (
    r"(?:age(?: of onset| at \w+)?|length of (?:the )?(?:hospital )?stay|duration of (?:the )?stay|waiting times?)"
)
"""Measures that are asked of a disease, a ward or a kind of case, without a word for units."""
_IS = r"(?:what(?:'s| is| are| was| were)|give(?: me)?|find|compute|calculate|report|state|i need)"
_OF = r"(?:of|in|among|amongst|for|across|at|on)"
_USUALLY = r"(?:typically|usually|normally|on average|in the median|in general|generally)"
_A_NAME = r"[A-Z]\w*(?:[ -][A-Z]\w*)*"
"""A name without a preposition before it: "average age Winter Hand"."""
_OLD = {"old": "age", "tall": "height", "heavy": "weight"}


def typical(text: str, nouns: Nouns) -> Wording | None:
    """Return the request of a typical value, or None."""
    return _named(text, nouns) or _how(text, nouns) or _what(text, nouns)


def _named(text: str, nouns: Nouns) -> Wording | None:
    found = re.fullmatch(
        rf"(?:{_IS} )?(?:the |an? )?{_STATISTIC}(?: value)?s?(?: (?:of|for))?(?: the| their)? (?P<what>.+)", text, FLAGS
    )
    if not found:
        return None
    attribute, who, known = _measured(found["what"], nouns)
    loose = found["statistic"].casefold() in ("typical", "usual")
    if not attribute or " and " in attribute or (loose and not known) or not (known or who is not None):
        return None
    if known and who is None and re.search(rf" {_OF} ", found["what"][len(attribute) :], FLAGS) is not None:
        return None
    return Wording("typical", who or "", attribute=attribute, statistic=_STATISTICS[found["statistic"].casefold()])


def _measured(text: str, nouns: Nouns) -> tuple[str, str | None, bool]:
    """Return the attribute of "age of patients with X", the population or None, and whether the attribute is known."""
    for found in re.finditer(rf" {_OF} ", text, FLAGS):
        who = re.sub(r"^(?:an?|all|the|my|our|your) ", "", text[found.end() :], flags=FLAGS)
        if statement(who, nouns):
            attribute = phrase(text[: found.start()])
            return attribute, whom(who, nouns), _is_known(attribute, nouns)
    attribute = phrase(text)
    if _is_known(attribute, nouns):
        return attribute, None, True
    named = re.fullmatch(rf"(?P<what>{_MEASURES})(?: in the (?P<group>.+) (?:group|cohort)| (?P<who>{_A_NAME}))", text)
    if named:
        return named["what"], named["group"] or named["who"], True
    for found in reversed(list(re.finditer(rf" {_OF} ", text, FLAGS))):
        attribute = phrase(text[: found.start()])
        general = re.match(r"(?:an?|the)\s", text[found.end() :], FLAGS)
        if nouns.field(attribute) or (not general and re.fullmatch(_OF_VAULTS, attribute, FLAGS)):
            return attribute, phrase(text[found.end() :]), True
    return attribute, None, False


def _is_known(attribute: str, nouns: Nouns) -> bool:
    return bool(nouns.field(attribute) or re.fullmatch(_MEASURES, attribute, FLAGS))


def _how(text: str, nouns: Nouns) -> Wording | None:
    """Return the request of "How old are patients with X typically?"."""
    text, statistic, usually = _adverb(text)
    mean = re.fullmatch(
        r"how (?P<how>old|tall|heavy) is (?:the|an?) (?P<what>average|typical|median) (?P<who>.+)", text, FLAGS
    )
    if mean and statement(mean["who"], nouns):
        named = _STATISTICS[mean["what"].casefold()]
        return Wording("typical", whom(mean["who"], nouns), attribute=_OLD[mean["how"].casefold()], statistic=named)
    old = re.fullmatch(r"how (?P<how>old|tall|heavy) (?:is|are|were|was) (?P<who>.+)", text, FLAGS)
    if old and (held := statement(re.sub(r"^an? ", "", old["who"]), nouns)) and (usually or _is_many(old["who"])):
        who = "" if not held.said and not held.population else whom(old["who"], nouns)
        return Wording("typical", who, attribute=_OLD[old["how"].casefold()], statistic=statistic)
    if not usually:
        return None
    long = re.fullmatch(
        r"how (?P<how>long|much|many \w+) (?:do|does|did) (?P<who>.+) (?P<verb>stay|wait|pay|owe|earn|spend|"
        r"borrow|weigh|sleep|live)(?P<rest>(?: (?:in|for|on|at) .+)?)",
        text,
        FLAGS,
    )
    if long and statement(long["who"], nouns):
        return Wording(
            "typical", whom(long["who"], nouns), attribute=phrase(f"{long['verb']}{long['rest']}"), statistic=statistic
        )
    stay = re.fullmatch(r"how (?:long|high|large|big) (?:is|are|was|were) (?P<what>.+)", text, FLAGS)
    if stay:
        attribute, whose, known = _measured(stay["what"], nouns)
        if whose is not None or known:
            return Wording("typical", whose or "", attribute=attribute, statistic=statistic)
    return None


def _is_many(text: str) -> bool:
    return not re.match(r"(?:an?|this|that)\s", text, FLAGS)


def _adverb(text: str) -> tuple[str, Statistic, bool]:
    """Return a text without "typically" or "on average", the statistic that it names, and whether it had one."""
    found = re.search(rf"(?:^|[\s,]+){_USUALLY}(?=$|[\s,])", text, FLAGS)
    if not found:
        return text, "", False
    named = found[0].casefold()
    statistic: Statistic = "mean" if "average" in named else "median" if "median" in named else ""
    return (
        " ".join(f"{text[: found.start()]} {text[found.end() :]}".replace(" ,", " ").strip(" ,").split()),
        statistic,
        True,
    )


def _what(text: str, nouns: Nouns) -> Wording | None:
    """Return the request of "What age do patients with X typically have?"."""
    text, statistic, usually = _adverb(text)
    what = re.fullmatch(r"what (?P<what>\w+(?: \w+){0,2}?) (?:do|did) (?P<who>.+) (?:have|pay|reach)", text, FLAGS)
    if what and usually and statement(what["who"], nouns):
        return Wording("typical", whom(what["who"], nouns), attribute=phrase(what["what"]), statistic=statistic)
    aged = re.fullmatch(r"what (?P<what>age) (?:is|are|was|were) (?P<who>.+)", text, FLAGS)
    if aged and usually and statement(aged["who"], nouns):
        return Wording("typical", whom(aged["who"], nouns), attribute=aged["what"], statistic=statistic)
    get = re.fullmatch(
        r"(?:at |around |about |from )*what (?P<what>age) (?:do|does|did) (?P<who>.+) (?:have|get|develop|catch) "
        r"(?P<of>.+)",
        text,
        FLAGS,
    )
    if get and re.fullmatch(nouns.people, get["who"], FLAGS):
        return Wording("typical", phrase(get["of"]), attribute=get["what"], statistic=statistic)
    found = re.fullmatch(
        r"(?:in |within )?(?:what|which) range (?:is|are|do|does) (?P<what>.+?)(?: lie| fall)?", text, FLAGS
    )
    if found:
        attribute, who, known = _measured(found["what"], nouns)
        if who is not None or known:
            return Wording("typical", who or "", attribute=attribute, statistic="range")
    return None

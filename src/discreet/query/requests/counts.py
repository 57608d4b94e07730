"""Counts and shares, such as "How many patients with X had Y?" and "How common is X?"."""

import re

from discreet.query.requests.phrases import FLAGS, Nouns, phrase
from discreet.query.requests.units import Holding, group, holds, statement
from discreet.query.requests.wording import Kind, Wording

_IS = r"(?:(?:what|which)(?:'s| is| are| was| were)?|how (?:large|high|big|great|small|low) (?:is|are|was|were))"
_SHARE = r"(?:share|percentages?|per ?cent|proportion|fraction|part)"
_UNITS = r"(?:patients|people|cases|customers|clients)\b"
_COUNT_HEADS = (
    r"(?:for |in |with |among |of )?how many(?: of)?\s+",
    rf"(?:{_IS} )?(?:the )?(?:total |overall |approximate )?(?:number|count) of\s+",
    r"count(?: up)?(?: how many| all)?\s+",
    r"how (?:large|big) (?:is|are|was|were) the (?:group|set|population) of\s+",
    rf"(?:the )?total (?={_UNITS})",
)
_SHARE_HEADS = (
    rf"(?:(?:in|for|with|of|among|to) )?(?:{_IS} )?(?:the |a )?(?:overall )?{_SHARE} of\s+",
    rf"(?:in|for|with|among) (?:what|which) {_SHARE} of\s+",
)
_NOTED = (
    r"(?:mentioned|diagnosed|occurs?|occurred|appears?|happens?|happened|reported|recorded|prescribed|seen|observed|"
    r"found|documented|noted|come up|came up|arises?|described|discussed|given as a reason)"
)
_DOING = r"(?:take|use|apply|wear|visit|see|change|drink|eat|need|must|should|have to|inject|come back|pay|check|be)"
_DOCUMENTS = re.compile(r"(?:(?:the|my|our|all|these|those|your) )*(?:notes|documents|records|letters|files)$", FLAGS)
_AMONG = r"(?:among|amongst|in|for|with|across|within)"
_OFTEN = r"(?:often|frequently|commonly)"


NO_UNITS = re.compile(r"how many (?=(?:have|had|got|suffer|report|complain|show|received?|mention)\b(?! to\b))", FLAGS)
"""A count that names no units. Alone it is about all units; after another question it may be about those."""


def counted(text: str, nouns: Nouns) -> Wording | None:
    """Return the request of a count or a share, or None."""
    for kind, heads in _HEADS:
        for head in heads:
            found = re.match(head, text, FLAGS)
            request = found and _of_units(kind, text[found.end() :], nouns)
            if request:
                return request
    return _bare(text, nouns) or _among_first(text, nouns) or _how_common(text, nouns) or _how_often(text, nouns)


def _bare(text: str, nouns: Nouns) -> Wording | None:
    """Return the request of "how many have fever", which names no units: all are meant."""
    found = NO_UNITS.match(text)
    return _of_units("count", f"{nouns.plural} {text[found.end() :]}", nouns) if found else None


def _among_first(text: str, nouns: Nouns) -> Wording | None:
    """Return the request of "Of the patients with Winter Hand, how many had fever?"."""
    found = re.fullmatch(
        rf"(?:out of|of|among|amongst|in|for) (?P<who>[^,]+), "
        rf"(?:how many per ?cent|how (?P<many>many)|(?:what|which) {_SHARE}) "
        r"(?!(?:of|days|times|weeks|per ?cent)\b)(?P<holds>.+)",
        text,
        FLAGS,
    )
    if not found or not statement(found["who"], nouns):
        return None
    condition, negated = holds(found["holds"])
    return Wording("count" if found["many"] else "share", whom(found["who"], nouns), condition, negated=negated)


_HEADS: tuple[tuple[Kind, tuple[str, ...]], ...] = (("count", _COUNT_HEADS), ("share", _SHARE_HEADS))


def _of_units(kind: Kind, text: str, nouns: Nouns) -> Wording | None:
    causes = re.fullmatch(
        rf"(?:the )?{nouns.counted} (?:does|do|did) (?P<who>.+?) (?:lead to|cause|involve|require|come with|result in) "
        "(?P<what>.+)",
        text,
        FLAGS,
    )
    if causes:
        return Wording(kind, whom(causes["who"], nouns), phrase(causes["what"]))
    held = statement(text, nouns)
    among = re.match(rf"{nouns.narrow} (?:among|amongst|in|of)\s", text, FLAGS)
    first = _condition_first(kind, text, nouns) if among else None
    if first or held is None:
        return first or (_condition_first(kind, text, nouns) if kind == "share" else None)
    return _request(kind, _passive(held, text, nouns))


def _passive(held: Holding, text: str, nouns: Nouns) -> Holding:
    """Return the holding of "notes is fever mentioned": the condition stands between verb and participle."""
    inside = re.search(
        rf"{nouns.counted}(?P<who>(?: (?:with|of) .+?)?) (?:is|are|was|were|does|do|did|has|have) (?P<what>.+?) "
        rf"(?:{_NOTED}|given|come up|used|applied|administered|been \w+)(?: (?:to|in|at all))?$",
        text,
        FLAGS,
    )
    if not inside or re.match(r"(?:been|being|not|never|\w+ly)$", inside["what"], FLAGS):
        return held
    negated = bool(re.search(r"\s(?:not|never)$", inside["what"], FLAGS))
    what = re.sub(r"\s(?:not|never|ever|been)$", "", inside["what"], flags=FLAGS)
    return Holding(group(f"patients{inside['who']}", nouns) if inside["who"] else "", phrase(what), negated, said=True)


def _condition_first(kind: Kind, text: str, nouns: Nouns) -> Wording | None:
    """Return the request of "fever among patients with Winter Hand"."""
    for found in re.finditer(
        rf"(?<=\w) {_AMONG} ", text, FLAGS
    ):  # the first may be in the condition: "pain in the chest"
        who = text[found.end() :]
        if statement(re.sub(r"^an?\s+", "", who, flags=FLAGS), nouns):
            return Wording(kind, whom(who, nouns), phrase(text[: found.start()]))
    return None


def whom(text: str, nouns: Nouns) -> str:
    """Return the population that a phrase names; "" for all units."""
    bare = re.sub(r"^(?:all|the|my|our|your|of|these|those|an?)\s+", "", text.strip(), flags=FLAGS)
    return "" if re.fullmatch(nouns.people, bare, FLAGS) else group(bare, nouns)


def _request(kind: Kind, held: Holding) -> Wording | None:
    if kind == "share" and not held.condition:
        return None
    return Wording(kind, held.population, held.condition, negated=held.negated)


def _how_common(text: str, nouns: Nouns) -> Wording | None:
    found = re.fullmatch(
        r"(?:how (?:common|frequent|prevalent|widespread|rare)(?: is| are| was| were| has been)?|"
        rf"(?:{_IS} )?(?:the )?(?:prevalence|incidence|frequency) of) (?P<what>.+)",
        text,
        FLAGS,
    )
    if not found:
        return None
    what = re.sub(r"^it that\s+", "", found["what"], flags=FLAGS)
    if re.match(r"it for\s", what, FLAGS):
        what = re.sub(r"\sto\s", " do ", what[7:], count=1, flags=FLAGS)
    held = statement(what, nouns)
    if held and held.said:
        return _request("share", held)
    return _condition_first("share", what, nouns) or Wording("share", condition=phrase(what))


def _how_often(text: str, nouns: Nouns) -> Wording | None:
    likely = re.fullmatch(r"how likely (?:is|are|was|were) (?P<what>.+)", text, FLAGS)
    if likely and (found := _condition_first("share", likely["what"], nouns)):
        return found
    noted = re.fullmatch(
        rf"how {_OFTEN} (?:is|are|was|were|do|does|did|has|have) (?P<what>.+?) (?:been )?"
        rf"(?P<verb>{_NOTED})(?: {_AMONG} (?P<who>.+))?",
        text,
        FLAGS,
    )
    if noted and not statement(noted["what"], nouns):
        who = whom(noted["who"], nouns) if noted["who"] and not _DOCUMENTS.match(noted["who"]) else ""
        return Wording("share", who, phrase(noted["what"]))
    active = re.fullmatch(
        rf"how (?:{_OFTEN}|(?P<likely>likely)) (?:do|does|did|is|are|have|was|were) (?P<rest>.+)", text, FLAGS
    )
    if not active:
        return None
    rest = active["rest"]
    if active["likely"]:
        rest = re.sub(r"\sto\s", " do ", rest, count=1, flags=FLAGS)
    held = statement(with_verb(rest), nouns)
    if not held or not held.condition or re.search(rf"(?:^|\s){_DOING}\b", rest, FLAGS):
        return None
    return Wording("share", held.population, held.condition, negated=held.negated)


_PLAIN_VERB = r"(?:get|have|develop|receive|suffer|complain|report|mention|show|experience|feel|die|recover|return|"
_PLAIN_VERB += r"fall|default|lose|win|settle|need|ask|sue|miss|cancel|leave)"


def with_verb(rest: str) -> str:
    """Return a statement whose verb is marked as such: "do patients with X recover" has its helper in front."""
    return rest if " do " in rest.casefold() else re.sub(rf" (?={_PLAIN_VERB}\b)", " do ", rest, count=1, flags=FLAGS)


def anything(text: str, nouns: Nouns) -> Wording:
    """Return a count for a text that is a count or a share, or else the bare name of a condition."""
    request = counted(text, nouns)
    if request:
        return request
    held = statement(text, nouns)
    if held and held.said:
        return Wording("count", held.population, held.condition, negated=held.negated)
    among = _condition_first("count", text, nouns)
    if among:
        return among
    condition, negated = holds(text)
    return Wording("count", condition=condition, negated=negated)

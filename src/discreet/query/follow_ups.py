"""Follow-ups: a question that refers to an earlier one, made one question that stands alone, by rules.

"How many patients have Winter Hand?" and "And with Glass Knee?" make "How many patients have Glass Knee?" Only the two
questions are read, and both are public. A question that is made keeps the words of the earlier one but for one part,
and must be understood as the same request but for this part. In doubt, none is made.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from discreet.algorithms.text.normalize import content
from discreet.query.question_kinds import recognise
from discreet.query.requests import Kind, Wording, request_of
from discreet.query.requests.counts import NO_UNITS
from discreet.query.requests.phrases import FLAGS, LONGEST, Nouns, is_near, nouns_of, phrase, sentence_of

_LEAD = re.compile(r"(?:(?:and|but|or|also|so|then|now|what about|how about|the same)\b[\s,]*)+", FLAGS)
_OF = r"(?:of|with|for|in|among|amongst|to|by|against|from)"
_PERIOD = r"(?:by|per|each|every) (?:month|quarter|year)"
_BY = re.compile(rf"(?:(?:the same|broken down|split|is it|is that|does it look) )?(?P<by>{_PERIOD})", FLAGS)
_SINCE = re.compile(r"(?P<since>since \S.*)", FLAGS)
_THAT = r"(?: of (?:all|the|all the) \w+)?(?: (?:is|are|would) (?:that|this|these|those|it|they)(?: be)?| in all)?"
_SHARE = re.compile(
    rf"(?:(?:what|which|how large an?|as an?|in|the|its) )?(?:share|percentage|percent|per cent|proportion){_THAT}",
    FLAGS,
)
_COUNT = re.compile(rf"(?:how many|what number|which number|as a (?:count|number)|in numbers){_THAT}", FLAGS)
_SHARE_HEAD = re.compile(
    r"(?:(?:what|which)(?: is| are)? )?(?:the )?(?:share|percentage|percent|proportion|fraction) of", FLAGS
)
_COUNT_HEAD = re.compile(
    r"how many(?: of)?|count(?: all)?|(?:(?:what|which) (?:is|are) )?(?:the )?(?:total )?(?:number|count) of", FLAGS
)
_THEM = re.compile(
    r"(?P<head>how many|(?:what|which) (?:share|percentage|proportion)) of (?:them|those|these)\b", FLAGS
)
_POSSESSIVE = re.compile(r"\b(?:its|their|his|her)\s+(?P<what>.+)", FLAGS)
_ASKS = re.compile(
    r"(?:what|which|how|who|whom|whose|when|where|why|is|are|was|were|do|does|did|has|have|can|list|name|tell|"
    r"without|not|no|more|less|other|others|else)\b",
    FLAGS,
)
_POINTING = re.compile(
    r"\b(?:(?:this|that|such an?|the same) (?:disease|illness|condition|disorder|syndrome|treatment|symptom)|"
    r"(?:these|those|such) (?:patients|people|clients|customers|cases)|it|them|they)\b",
    FLAGS,
)

_VAGUE = re.compile(
    r"\d"
    r"|(?:(?:all|the|any|some|one|those|these) )*"
    r"(?:rest|whole|total|others?|ones?|none|nothing|nobody|everyone|everybody|everything|anyone|anything|all|both"
    r"|neither|either|each|same|remainder|remaining|yesterday|today|tomorrow|now|then|so|median|mean|average|quartiles?"
    r"|range|maximum|minimum|numbers?|counts?|shares?|percentages?|thanks?|you|me|us|yes|no)$"
    r"|(?:all|none|both|neither|either|each|those|these|others?|last|this|next|older|younger|other|more|fewer|less"
    r"|most|before|after|during|until|between|not|without|no|per|every)\b"
    r"|.*\bones?$|.*\b(?:over|under|older|younger|above|below)\b.*\d",
    FLAGS,
)
"""A phrase that names no thing of its own: a rest, a time, a number, a comparison, or a kind of statistic."""
_PREPOSITIONS = ("with", "of", "for", "from", "among", "without", "by", "to", "in", "against", "and", "about")


def stand_alone(question: str, earlier: str, unit: str = "", fields: Sequence[str] = ()) -> str:
    """Return the one question that a follow-up and the question before it make; "" if the rules make none.

    Args:
        question: the follow-up.
        earlier: the question before it, which stands alone.
        unit: the vault's word for one individual, such as "patient".
        fields: the names of declared fields.
    """
    before, after = request_of(earlier, unit, fields), sentence_of(question)
    whole, nouns = sentence_of(earlier), nouns_of(unit, fields)
    led = _LEAD.match(question.strip())
    after = _LEAD.sub("", after, count=1) if _LEAD.match(after) else after
    if not whole or not after or (request_of(after, unit, fields) and not (_refers(after) or _THEM.match(after))):
        return ""
    if not (led or re.match(rf"{_OF} ", after, FLAGS) or _ASKS.match(after) or _BY.match(after) or _SINCE.match(after)):
        return ""
    made = _of_request(after, whole, before, nouns) if before else _of_fact(after, whole)
    for text, wanted in made:
        found = f"{text[:1].upper()}{text[1:]}?"
        stands = len(found) <= LONGEST and recognise(found, unit=unit).name not in ("follow-up", "person")
        if stands and _is(request_of(found, unit, fields), wanted):
            return found
    return ""


def one_question(questions: Sequence[str], unit: str = "", fields: Sequence[str] = ()) -> str:
    """Return the last of several questions as one that stands alone; "" if the rules make none.

    Args:
        questions: the questions of a conversation, the oldest one first.
        unit: the vault's word for one individual.
        fields: the names of declared fields.
    """
    whole, made = "", ""
    for question in questions:
        made = stand_alone(question, whole, unit, fields) if whole else ""
        whole = made or question
    return made


def is_doubtful(question: str, earlier: str, unit: str = "", fields: Sequence[str] = ()) -> bool:
    """Return whether a question refers to an earlier one for a statistic, and the rules make no question of both.

    A model may guess what was meant. But a statistic is paid, so its question is to be certain.
    """
    if not request_of(earlier, unit, fields):
        return False
    if NO_UNITS.match(sentence_of(question)):
        return True  # "How many have fever?": of all units, or of those of the earlier question
    if request_of(question, unit, fields):
        return False
    if stand_alone(question, earlier, unit, fields):
        return False
    led, after = _LEAD.match(question.strip()), _LEAD.sub("", sentence_of(question), count=1)
    short = not _ASKS.match(after) or bool(re.search(r"\b(?:do|does|did|is|are|was|were|have|has)(?:n't| not)$", after))
    return is_follow_up(question, unit) or bool(led and short)


def is_follow_up(question: str, unit: str = "") -> bool:
    """Return whether a question clearly refers to an earlier one."""
    return recognise(question, unit=unit).name == "follow-up"


Made = Iterator[tuple[str, Wording | None]]
"""Questions that may be meant, with the request that each of them must make. A request of no kind stands for any."""


def _is(found: Wording | None, wanted: Wording | None) -> bool:
    if found is None or wanted is None:
        return found is wanted
    if wanted.attribute == _ANY:
        wanted = replace(wanted, kind=found.kind, attribute=found.attribute, most=found.most, statistic=found.statistic)
    if wanted.condition == _ANY:
        wanted = replace(wanted, condition=found.condition, negated=found.negated) if found.condition else wanted
    return found == wanted


_ANY = "\0"
"""Stands for a part of a request that the follow-up names itself."""


def _of_request(after: str, whole: str, before: Wording, nouns: Nouns) -> Made:
    """Yield what a follow-up of a statistic may mean, the likeliest first."""
    if found := _BY.fullmatch(after):
        yield from _by(found["by"], whole, before)
    elif found := _SINCE.fullmatch(after):
        yield from _since(found["since"], whole, before)
    elif found := _THEM.match(after):
        yield from _among(found["head"], after[found.end() :], before, nouns)
    elif _SHARE.fullmatch(after):
        yield from _as("share", "What share of", _COUNT_HEAD, whole, before)
    elif _COUNT.fullmatch(after):
        yield from _as("count", "How many", _SHARE_HEAD, whole, before)
    elif _refers(after):
        yield from _named(after, _subject(before))
    elif not _ASKS.match(after):
        yield from _instead(after, whole, before, nouns)


def _by(by: str, whole: str, before: Wording) -> Made:
    named = by.split()[-1].casefold()
    text = re.sub(rf",? {_PERIOD}", f" {by}", whole, count=1, flags=FLAGS) if before.by else f"{whole} {by}"
    yield text, replace(before, kind="trend", by=named)


def _since(since: str, whole: str, before: Wording) -> Made:
    found = request_of(f"How many patients have fever {since}?")
    if found and found.since and not before.since:
        yield f"{whole} {since}", replace(before, since=found.since)


def _as(kind: Kind, head: str, of: re.Pattern[str], whole: str, before: Wording) -> Made:
    """Yield the same question for a share in place of a count, or the other way round."""
    found = of.match(whole)
    if found and before.condition:
        yield head + whole[found.end() :], replace(before, kind=kind)


def _among(head: str, rest: str, before: Wording, nouns: Nouns) -> Made:
    """Yield "how many patients with Winter Hand have fever" for "how many of them have fever"."""
    subject, many = _subject(before), head.casefold() == "how many"
    if subject:
        wanted = Wording("count" if many else "share", subject, _ANY)
        yield f"{head}{'' if many else ' of'} {nouns.plural} with {subject}{rest}", wanted


def _subject(before: Wording) -> str:
    """Return the one thing that a question is about; "" if there are several, or it is denied."""
    named = [part for part in (before.population, before.condition, *before.groups) if part]
    return named[0] if len(named) == 1 and not before.negated else ""


def _refers(after: str) -> re.Match[str] | None:
    """Return the pronoun of a follow-up, or "its" with the words after it."""
    return _POSSESSIVE.search(after) or _POINTING.search(after)


def _named(after: str, subject: str) -> Made:
    """Yield a follow-up with the subject in place of its pronoun."""
    found = _refers(after)
    if found and subject:
        said = f"the {found['what']} of {subject}" if "what" in found.groupdict() else subject
        text = after[: found.start()] + said + after[found.end() :]
        yield text, Wording("list", subject, attribute=_ANY)
        yield text, Wording("share", condition=subject)
        yield text, Wording("count", condition=subject)
        yield text, None


def _instead(after: str, whole: str, before: Wording, nouns: Nouns) -> Made:
    """Yield the earlier question with another phrase in place of one of its own."""
    found = re.match(rf"{_OF} ", after, FLAGS)
    new = phrase(after[found.end() :] if found else after)
    if _VAGUE.match(new) or _is_mistyped(new) or nouns.field(new):
        return
    if re.fullmatch(nouns.narrow, new, FLAGS):
        text = re.sub(rf"\b{nouns.people}\b", new, whole, count=1, flags=FLAGS)
        yield text, replace(before, population=before.population or new)
        return
    if not content(new) or re.fullmatch(nouns.counted, new, FLAGS):
        return
    if found and before.groups:
        return  # which of the groups is meant?
    parts = [name for name in ("population", "condition") if getattr(before, name)]
    if len(parts) == 2 and not found:
        parts = [name for name in parts if _looks(new) == _looks(getattr(before, name))]
        parts = parts if len(parts) == 1 else []
    for name in parts[:1]:
        old = getattr(before, name)
        if found and not _goes_before(found[0].strip(), old, whole):
            return  # "in the north" narrows the units, and takes the place of nothing
        if len(re.findall(rf"(?<!\w){re.escape(old)}(?!\w)", whole, FLAGS)) == 1:
            text = re.sub(rf"(?<!\w){re.escape(old)}(?!\w)", lambda _: new, whole, count=1, flags=FLAGS)
            wanted = replace(before, population=new) if name == "population" else replace(before, condition=new)
            yield text, wanted


def _goes_before(preposition: str, old: str, whole: str) -> bool:
    """Return whether a preposition can join a phrase to the earlier question: "with" and "of" always can."""
    joins = preposition.casefold() in ("of", "with", "for")
    return joins or bool(re.search(rf"\b{preposition} (?:(?:the|an?) )?{re.escape(old)}(?!\w)", whole, FLAGS))


def _is_mistyped(text: str) -> bool:
    """Return whether a phrase seems to begin with a preposition that has a typing error: "wtih Glass Knee"."""
    first, *others = text.casefold().split()
    return bool(others) and any(first != one and is_near(first, one) for one in _PREPOSITIONS)


def _looks(text: str) -> bool:
    """Return whether a phrase looks like a name."""
    return text[:1].isupper()


def _is_one_thing(text: str) -> bool:
    """Return whether words name one thing: "thumbs of tailors numb" has more after its last preposition than that."""
    words = text.split()
    return len(words) == 1 or all(map(_looks, words))


def _of_fact(after: str, whole: str) -> Made:
    """Yield an earlier question for a fact with the thing after its last preposition exchanged, or that thing named."""
    found = re.fullmatch(rf"(?P<of>{_OF}) (?P<new>[^,?]+)", after, FLAGS)
    last = re.fullmatch(rf"(?P<start>.*\b(?P<of>{_OF})) (?:the )?(?P<old>[^,?]+)", whole, FLAGS)
    if last and _refers(after):
        yield from _named(after, last["old"] if _looks(last["old"]) else "")
    elif found and last and found["of"].casefold() == last["of"].casefold() and _is_one_thing(last["old"]):
        yield f"{last['start']} {found['new']}", None

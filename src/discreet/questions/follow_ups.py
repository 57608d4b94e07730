"""Follow-ups: a question that refers to an earlier one of its caller. Missing slots come from the earlier request.

"How many patients have Winter Hand?" and "And with Glass Knee?" ask `count: "Glass Knee"`. Only what the caller sent is
read, and all of it is public. A question for voters has no slots: the public model writes it anew, or it is refused.
"""

import re
from collections.abc import Sequence
from typing import Any

from discreet.errors import CannotAnswer, DiscreetError
from discreet.questions.kinds import guess_kind
from discreet.questions.request import Request
from discreet.questions.router import Router
from discreet.questions.sentences import FLAGS, Section, sentence_of
from discreet.questions.understanding import parts_of, together
from discreet.statistics.conditions import ALL, Condition, FieldTest, Not

_FOLLOW_UPS = Section("follow_ups")


def complete(questions: Sequence[str], router: Router) -> tuple[str, bool]:
    """Return the last of a caller's questions as one that stands alone.

    Args:
        questions: what the caller asked, the oldest question first.
        router: the router of the vault.

    Returns:
        The question, or the text form of its request; "" if it stands alone, or none can be made. And whether it
        refers to a statistic, so that no model may guess what was meant: a statistic is paid.
    """
    earlier: Any = None
    before: Any = None
    made = ""
    for question in questions:
        known = isinstance(earlier, Request)
        found = _resume(question, earlier, router) if known else _with_another(question, earlier or "")
        made = str(found) if found else ""
        earlier, before = found or _request_of(question, router) or question, earlier
    return made, bool(not made and isinstance(before, Request) and is_follow_up(questions[-1]))


def _with_another(question: str, earlier: str) -> str:
    """Return a question for voters with another thing after its last preposition: "And against gout?"."""
    led = _FOLLOW_UPS.lead.match(question.strip())
    found = _FOLLOW_UPS.preposition.fullmatch(_FOLLOW_UPS.lead.sub("", sentence_of(question), count=1)) if led else None
    if found is None or _FOLLOW_UPS.vague.fullmatch(found["what"]):
        return ""
    last = rf"\b({found['lead']}) [^?.,]+(?=[?.]*$)"
    made = re.sub(last, lambda one: f"{one[1]} {found['what']}", earlier, flags=FLAGS)
    return "" if made == earlier else made


def is_follow_up(question: str) -> bool:
    """Return whether a question refers to an earlier one."""
    words = sentence_of(question)
    led = _FOLLOW_UPS.lead.match(question.strip())
    return guess_kind(question).kind == "follow-up" or bool(led and len(words.split()) < 7)


def _request_of(question: str, router: Router) -> Request | None:
    try:
        return router.understand(question)
    except DiscreetError:
        return None


def _resume(question: str, earlier: Request, router: Router) -> Request | None:
    """Return the earlier request with what a follow-up changes; None if it changes nothing for certain."""
    text = sentence_of(question)
    led = _FOLLOW_UPS.lead.match(question.strip())
    text = text[found.end() :] if (found := _FOLLOW_UPS.lead.match(text)) else text
    if not text:
        return None
    own = {name: getattr(earlier, name) for name in earlier.model_fields_set}
    if (period := _FOLLOW_UPS.period.fullmatch(text)) and earlier.kind in ("count", "share", "trend"):
        return _remade(own | {"kind": "trend", "by": (period["by"] or period["ly"]).casefold()})
    if _FOLLOW_UPS.share.fullmatch(text) and earlier.kind == "count" and earlier.of:
        return _remade(own | {"kind": "share"})
    if _FOLLOW_UPS.count.fullmatch(text) and earlier.kind == "share":
        return _remade(own | {"kind": "count"})
    if them := _FOLLOW_UPS.of_them.fullmatch(text):
        asked = _request_of(f"{them['head']} of the {router.plural} {them['rest']}?", router)
        if asked is None or earlier.kind not in ("count", "share"):
            return None
        of, also = (asked.of, asked.among) if asked.of else (asked.among, None)
        among = together([*parts_of(earlier.among), *parts_of(earlier.of), *parts_of(also)])
        return _remade({"kind": asked.kind, "of": of, "among": among})
    if not (led or _FOLLOW_UPS.leads.match(text) or is_follow_up(question)):
        return None
    return _changed(text, own, earlier, router)


def _changed(text: str, own: dict[str, Any], earlier: Request, router: Router) -> Request | None:
    """Return the earlier request with another thing, or another population."""
    named = _FOLLOW_UPS.only.fullmatch(text)
    if named is None or _FOLLOW_UPS.vague.fullmatch(named["what"]):
        return None
    try:
        found = router.condition(named["what"])
    except DiscreetError:
        return None
    tests = [one for one in parts_of(found) if one.is_test]
    said = [one for one in parts_of(found) if one not in tests]
    if earlier.kind == "trend" and any(isinstance(one, FieldTest) and one.period for one in tests):
        return None
    own["among"] = _replaced(earlier.among, tests)
    if len(said) > 1 or (said and earlier.kind in ("difference", "compare")):
        return None
    if said:
        among = _FOLLOW_UPS.among.fullmatch(text)
        people = among and (
            _FOLLOW_UPS.units.match(among["who"]) or among["who"].split(" ")[0].casefold() == router.plural
        )
        if earlier.kind in ("list", "typical", "summary") or (earlier.of is not None and people):
            own["among"] = together([*(one for one in parts_of(own["among"]) if isinstance(one, FieldTest)), *said])
        elif isinstance(earlier.of, Not):
            return None  # whether it is denied again is in doubt
        else:
            own["of"] = said[0]
    return _remade(own)


def _replaced(among: Condition | None, tests: Sequence[Condition]) -> Condition | None:
    """Return a population with other tests of the same fields."""
    fields = {leaf.field for one in tests for leaf in one.leaves() if isinstance(leaf, FieldTest)}
    kept = [one for one in parts_of(among) if not (isinstance(one, FieldTest) and one.field in fields)]
    return together([*kept, *tests])


def _remade(own: dict[str, Any]) -> Request | None:
    try:
        return Request(**{name: value for name, value in own.items() if value not in (None, ALL)})
    except ValueError:
        return None


def unclear(earlier: str) -> CannotAnswer:
    """Return the refusal of a follow-up that no certain question is made of."""
    return CannotAnswer(
        "follow-up", f"It and '{earlier}' do not make one question that is surely meant. Write the whole question."
    )

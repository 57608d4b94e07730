"""Follow-ups: a question that refers to an earlier one of its caller. Missing slots come from the earlier request.

"How many patients have Winter Hand?" and "And with Glass Knee?" ask `count: "Glass Knee"`. What the slots do not
settle, the public model without documents rewrites as one question. Both read what the analyst sent, and nothing else:
so the words that come of it are public, and cost nothing.
"""

import re
from collections.abc import Sequence
from typing import Any

from discreet.algorithms.text.writing import write
from discreet.errors import CannotAnswer, DiscreetError
from discreet.models.protocol import Prompt, VotingModel
from discreet.questions.kinds import guess_kind
from discreet.questions.request import Request
from discreet.questions.router import Router
from discreet.questions.sentences import FLAGS, Section, sentence_of
from discreet.questions.understanding import parts_of, together
from discreet.statistics.conditions import ALL, Condition, FieldTest, Not
from discreet.system.words import LONGEST_CONDENSED

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


# --- by the public model ----------------------------------------------------------------------------------------------

# It reads what the analyst sent, and nothing else. So the words that it writes are public, and cost nothing.


Message = tuple[str, str]
"""The role of who wrote a message, \"user\" or \"assistant\", and its text."""

MOST_PROMPT = 384
"""Tokens of messages that the model reads at most; the oldest messages are left out first."""
MOST_WRITTEN = 64
"""Tokens of the rewritten question at most."""

_SYSTEM = "Rewrite the last question so that it can be understood without the conversation. Do not answer it."
_LAST = "Last question: {text}"
_EXAMPLES = (
    (
        "User: What is the treatment for Mumpelflex?\nAssistant: Zibber Drops\nLast question: And how is it found?",
        "How is Mumpelflex found?",
    ),
    (
        "User: Which disease causes itchy ears?\nAssistant: Brindle Ear\nLast question: What helps against it?",
        "What helps against Brindle Ear?",
    ),
    (
        "User: When is the review of the Orly bridge?\nAssistant: On 4 May\nLast question: And of the Orly tunnel?",
        "When is the review of the Orly tunnel?",
    ),
)
_FILLERS = frozenset(
    """
    a an the this that these those it its they them their he him his she her there then and or but so also what
    which who whom whose when where why how is are was were be been do does did has have had can could will would
    should may might of for in on at to from with by about as than not no any same one ones other others
    """.split()
)
"""Words of a question that may be missing in the rewritten one: they refer to messages before it, or say little."""
_LEAST_ALIKE = 5
"""So many letters of a word must come back, so that "symptoms" may become "symptom"."""
_LABEL = re.compile(r"(?i)^(last |rewritten |standalone )?(question|answer|user)\s*:\s*")


def condense(model: VotingModel, messages: Sequence[Message]) -> str:
    """Return the last message as a question that stands alone; "" if the model writes none that can be asked.

    Args:
        model: the model, used by the calling thread alone. It decodes greedily.
        messages: the messages, oldest first.
    """
    opening, closing = model.chat(_SYSTEM, _EXAMPLES)
    room = min(MOST_PROMPT, model.context_length - len(opening) - len(closing) - MOST_WRITTEN)
    shown = _fitting(model, messages, room)
    if not shown:
        return ""
    written = write(model, opening, Prompt((*shown, *closing), 0), "", MOST_WRITTEN)
    question = parse_question(written.text, complete=written.stopped == "end")
    return question if keeps(question, messages) else ""


def parse_question(written: str, *, complete: bool) -> str:
    """Return the question in what the model wrote: its first line, without a label; "" if it cannot be asked.

    Args:
        written: the text of the model.
        complete: whether the model ended it; if not, the last line may lack its end.
    """
    lines = written.strip().splitlines()
    if not lines or (len(lines) == 1 and not complete):
        return ""
    found = " ".join(_LABEL.sub("", lines[0].strip()).split()).strip("\"'\u201c\u201d ")
    if len(found) > LONGEST_CONDENSED or not re.search(r"[^\W\d_].*[?.!]$", found):
        return ""
    return found


def keeps(question: str, messages: Sequence[Message]) -> bool:
    """Return whether a rewritten question is new, and has the words of the last message: else another one is paid.

    Args:
        question: the rewritten question.
        messages: the messages that were rewritten; small models repeat one of them, or drop what the last one adds.
    """
    found = _words(question)
    if any(role == "user" and _words(text) == found for role, text in messages[:-1]):
        return False
    needed = [word[:_LEAST_ALIKE] for word in _words(messages[-1][1]) if word not in _FILLERS]
    return all(any(word.startswith(start) for word in found) for start in needed)


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text.casefold())


def _fitting(model: VotingModel, messages: Sequence[Message], room: int) -> list[int]:
    """Return the tokens of as many of the last messages as fit; none if fewer than two do."""
    for first in range(len(messages) - 1):
        tokens = model.encode(_show(messages[first:]))
        if len(tokens) <= room:
            return tokens
    return []


def _show(messages: Sequence[Message]) -> str:
    """Return messages in the words of the prompt, a line for each."""
    earlier = [f"{role.capitalize()}: {' '.join(text.split())}" for role, text in messages[:-1]]
    return "\n".join([*earlier, _LAST.format(text=" ".join(messages[-1][1].split()))])

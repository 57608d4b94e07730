import json
from typing import Any

import pytest

from discreet_server.front.errors import FrontError
from discreet_server.front.replies import (
    AnsweredQuestion,
    CompletionReply,
    KeyNumbers,
    restored,
    stored_error,
)
from discreet_server.front.requests import parse_chat

INVENTED = "an invented answer"
RECEIPT = {
    "epsilon": 2.498,
    "delta": 1e-6,
    "relation": "add-remove",
    "unit": "patient",
    "charges": [{"mechanism": "x", "change": "y", "cost": {}, "times": 2}],
    "accountant": "renyi",
    "noise": "system",
    "private": True,
    "payment": "each unit that took part",
    "reused": 0,
    "each": 1,
    "public_corpus": "",
    "caveat": "",
}
FOOTER = "Receipt: epsilon 2.498 for this answer by itself. The key has used 25.00% of its cap."


def answer(**fields: Any) -> dict[str, Any]:
    base = {
        "schema": 1,
        "answer": "winter hand",
        "text": "winter hand",
        "useless": False,
        "same_without_documents": False,
        "stopped": "end",
        "algorithm": "murag-ada",
        "private": True,
        "tokens": 2,
        "private_tokens": 2,
        "released": ["winter hand"],
        "shares": None,
        "receipt": RECEIPT,
        "cost": None,
        "remaining": None,
        "kept": True,
    }
    return base | fields


UNRELEASED = answer(answer=None, text=INVENTED, stopped="public", released=[])


def reply(found: dict[str, Any], free: bool = False, footer: bool = False, **fields: Any) -> CompletionReply:
    messages = [{"role": "user", "content": "What is it?"}]
    request = parse_chat(json.dumps({"model": "hospital", "messages": messages, **fields}).encode())
    outcome = AnsweredQuestion("0" * 32, 1_795_473_688, "hospital", "patient", free, found)
    return CompletionReply(outcome, request, KeyNumbers(granted=10.0, spent=2.5, left=7.5, part=0.25, more=3), footer)


def content(found: CompletionReply) -> Any:
    return found.body().choices[0].message.content


def test_reply_of_the_free_model_is_its_own_text() -> None:
    assert content(reply(UNRELEASED, free=True)) == INVENTED


def test_reply_names_a_useless_answer() -> None:
    found = content(reply(answer(answer=None, useless=True, text="the")))
    assert found == "No useful answer: what was released says nothing. It was: the"


def test_reply_is_cut_at_a_stop() -> None:
    assert content(reply(answer(), stop="hand")) == "winter "
    assert content(reply(answer(), stop=["zzz", "ter"])) == "win"


def test_reply_to_a_schema_is_valid_json() -> None:
    schema = {"properties": {"disease": {"type": "string", "enum": ["winter hand", 'a "q"']}}}
    wanted = {"type": "json_schema", "json_schema": {"name": "x", "schema": schema}}
    assert json.loads(content(reply(answer(), response_format=wanted))) == {"disease": "winter hand"}
    message = reply(UNRELEASED, response_format=wanted).message()
    assert message.content is None
    assert message.refusal is not None
    assert message.refusal.startswith("No answer: ")


def test_reply_says_how_a_question_was_understood() -> None:
    """Rules may be wrong, and a number of other units than were meant looks right."""
    counted = answer(understood="count; condition 'fever'.")
    assert reply(counted).receipt().understood == "count; condition 'fever'."
    assert content(reply(counted)) == "winter hand"
    lines = content(reply(counted, footer=True)).split("\n\n")
    assert lines[1:] == [
        "Understood as: count; condition 'fever'.",
        FOOTER,
    ]
    assert "understood" not in reply(answer()).receipt().model_dump()


def test_outcome_survives_being_kept() -> None:
    outcome = reply(answer()).outcome
    kept = restored(json.loads(json.dumps(outcome.stored())))
    assert kept.replayed
    assert kept.answer == outcome.answer
    understood = reply(answer(understood="count; condition 'fever'.")).outcome
    assert restored(understood.stored()).answer == outcome.answer  # the words of a question are not kept
    with pytest.raises(FrontError, match="interrupted"):
        restored(json.loads(json.dumps(stored_error(FrontError("interrupted", paid=True)))))
    with pytest.raises(FrontError, match="interrupted"):
        restored({"outcome": "something else"})


def test_reply_has_the_numbers_of_a_statistic() -> None:
    figure = {"name": "count", "kind": "count", "value": 41.0, "low": 38.0, "high": 44.0}
    assert reply(answer(table=[figure])).receipt().table == [figure]
    assert "table" not in reply(answer(table=[])).receipt().model_dump()


def test_reply_names_the_moments_of_earlier_releases() -> None:
    moments = ["2026-03-01T10:00:00+00:00"]
    assert reply(answer(released_at=moments)).receipt().released_at == moments
    assert "released_at" not in reply(answer()).receipt().model_dump()

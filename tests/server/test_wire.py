import json
import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from discreet.cli.schema import make_schema
from discreet.models.toy import ToyModel
from discreet.privacy.accounting import ATTO, CUT, Budget, Spending
from discreet.privacy.costs import ORDERS, Pure
from discreet.system.words import LONGEST_CONDENSED, LONGEST_TURN, MOST_TURNS
from discreet.vault import Vault
from discreet_server.keeper.served import describe
from discreet_server.wire import (
    ANALYSTS,
    CODES,
    LANES,
    Answered,
    Call,
    Catalog,
    Catalogued,
    Condense,
    Condensed,
    Estimate,
    Estimated,
    ModelCard,
    Question,
    Readied,
    Ready,
    Refused,
    Turn,
    UnitCharge,
    VaultCard,
    WireError,
    WireReply,
    decode,
    encode,
    reply_of,
)
from tests.server.keepers import ask, make_vault

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
names = st.text("abcdefgh-", min_size=1, max_size=20)
sizes = st.floats(0, 1e6)
charges = st.builds(
    UnitCharge,
    epsilon=sizes,
    delta=st.floats(0, 1),
    loss_nano=st.lists(st.integers(0, CUT), min_size=3, max_size=3).map(
        lambda three: (*three, *[0] * (len(ORDERS) - 3))
    ),
    failure_atto=st.integers(0, ATTO),
)
ids = st.text("0123456789abcdef", min_size=32, max_size=32)
questions = st.builds(
    Question,
    id=ids,
    vault=names,
    model=names,
    question=texts,
    choices=st.lists(names, max_size=4).map(tuple),
    epsilon=st.none() | st.floats(0.01, 100),
    max_tokens=st.none() | st.integers(1, 4096),
    anew=st.booleans(),
    begun=sizes,
    quantum=sizes,
    lane=st.sampled_from(LANES),
)
cards = st.builds(
    VaultCard,
    name=names,
    unit=names,
    epsilon=sizes,
    delta=st.floats(0, 1),
    payment=st.sampled_from(["unit", "corpus"]),
    language=st.sampled_from(["", "en"]),
    models=st.lists(st.builds(ModelCard, names, names, st.booleans(), charges), max_size=2).map(tuple),
    longest_answer_s=st.fixed_dictionaries(dict.fromkeys(LANES, sizes)),
)
messages = st.one_of(
    questions,
    st.builds(Estimate, questions, st.lists(ids, max_size=3).map(tuple)),
    st.builds(
        Condense, names, st.lists(st.builds(Turn, st.sampled_from(["user", "assistant"]), names), max_size=4).map(tuple)
    ),
    st.builds(Condensed, texts),
    st.just(Catalog()),
    st.just(Ready()),
    st.builds(Estimated, charges, st.booleans(), st.sampled_from(LANES)),
    st.builds(Catalogued, st.lists(cards, max_size=2).map(tuple)),
    st.builds(Readied, st.booleans(), st.booleans()),
    st.builds(
        Refused,
        st.sampled_from(CODES),
        st.none() | sizes,
        st.none() | sizes,
        st.none() | sizes,
        st.sampled_from(["", "count", "follow-up"]),
        charges,
    ),
)


KINDS = (*ANALYSTS.kinds, *map(reply_of, ANALYSTS.kinds), Refused)


def spell(fields: dict[str, Any]) -> bytes:
    """Return fields as JSON without spaces, as messages are written."""
    return json.dumps(fields, separators=(",", ":")).encode()


@given(messages)
def test_message_survives_the_wire(message: Call[Any] | WireReply) -> None:
    assert decode(type(message), encode(message)) == message


@given(st.sampled_from(KINDS), st.binary(max_size=200).filter(lambda content: content != b"{}"))  # some have no field
def test_decode_refuses_any_bytes(kind: type, content: bytes) -> None:
    with pytest.raises(WireError):
        decode(kind, content)


@pytest.mark.parametrize("field", ["id", "vault", "choices", "epsilon", "anew", "ceiling", "canary"])
def test_refusal_of_a_message_does_not_repeat_it(field: str) -> None:
    fields = json.loads(encode(ask())) | {field: {"canary": "canary"}}
    with pytest.raises(WireError) as caught:
        decode(Question, spell(fields))
    assert "canary" not in str(caught.value)
    assert caught.value.__context__ is None


def test_refusal_of_a_value_does_not_repeat_it() -> None:
    with pytest.raises(ValidationError) as caught:
        ask("\ud800 canary", epsilon="canary", choices=["canary"])
    assert "canary" not in str(caught.value)


@given(messages, st.data())
def test_decode_refuses_a_field_too_many_or_too_few(message: Call[Any] | WireReply, data: st.DataObject) -> None:
    fields = json.loads(encode(message))
    with pytest.raises(WireError):
        decode(type(message), spell(fields | {"secret": 1}))
    if fields:
        gone = data.draw(st.sampled_from(sorted(fields)))
        with pytest.raises(WireError):
            decode(type(message), spell({name: fields[name] for name in fields if name != gone}))


def test_decode_refuses_a_part_with_a_field_too_few() -> None:
    fields = json.loads(encode(Estimate(ask())))
    del fields["question"]["ceiling"]
    with pytest.raises(WireError):
        decode(Estimate, spell(fields))


WRONG: list[dict[str, Any]] = [
    {"id": "A" * 32},
    {"id": "a" * 31},
    {"id": "../" * 10},
    {"vault": ""},
    {"vault": "v" * 201},
    {"question": 5},
    {"question": "x" * 65_537},
    {"question": "\ud800"},
    {"choices": "yes"},
    {"choices": [""]},
    {"choices": ["a"] * 65},
    {"epsilon": -1},
    {"epsilon": 0},
    {"epsilon": "2"},
    {"epsilon": True},
    {"epsilon": 10**400},
    {"max_tokens": 0},
    {"max_tokens": 4097},
    {"max_tokens": 1.5},
    {"max_tokens": True},
    {"anew": 1},
    {"anew": None},
    {"type": "question"},
    {"ceiling": {}},
    {"begun": -1},
    {"quantum": None},
]


@pytest.mark.parametrize("wrong", WRONG)
def test_decode_refuses_a_value_out_of_range(wrong: dict[str, Any]) -> None:
    fields = json.loads(encode(ask()))
    with pytest.raises(WireError):
        decode(Question, spell(fields | wrong))


@pytest.mark.parametrize(
    "wrong",
    [
        {"vault": ""},
        {"messages": [{"role": "system", "text": "x"}]},
        {"messages": [{"role": "user", "text": ""}]},
        {"messages": [{"role": "user", "text": "x" * (LONGEST_TURN + 1)}]},
        {"messages": [{"role": "user", "text": "x", "name": "y"}]},
        {"messages": [{"role": "user", "text": "x"}] * (MOST_TURNS + 1)},
    ],
)
def test_decode_refuses_messages_out_of_range(wrong: dict[str, Any]) -> None:
    fields = json.loads(encode(Condense("v", (Turn("user", "What is it?"),))))
    with pytest.raises(WireError):
        decode(Condense, spell(fields | wrong))
    with pytest.raises(ValidationError):
        Condensed("x" * (LONGEST_CONDENSED + 1))
    with pytest.raises(ValidationError):
        Condense("v", (Turn("user", "x" * (LONGEST_TURN + 1)),))


@pytest.mark.parametrize(
    "content",
    [
        b"[" * 100_000,
        b'{"loaded":' * 100_000,
        b'{"loaded":true,"loaded":true,"ledger_writable":true}',
        b'{"loaded":NaN,"ledger_writable":true}',
        b'{"loaded":1,"ledger_writable":true}',
        b'{"loaded":true,"ledger_writable":true}x',
        b'{"loaded":true,"ledger_writable":true} ',
        b'{"ledger_writable":true,"loaded":true}',
        b'{"loaded":true,"ledger_writable":true',
        '{"loaded":true,"ledger_writable":true}'.encode("utf-16"),
        b"",
        b"\xff{}",
        b"1" * 5000,
        b"null",
        b'"ready"',
    ],
)
def test_decode_refuses_what_is_no_such_json(content: bytes) -> None:
    assert decode(Readied, b'{"loaded":true,"ledger_writable":true}') == Readied(True, True)
    with pytest.raises(WireError):
        decode(Readied, content)


@pytest.mark.parametrize("word", ["NaN", "Infinity", "-Infinity", "1e400"])
def test_decode_refuses_numbers_without_an_end(word: str) -> None:
    with pytest.raises(WireError):
        decode(Question, encode(ask()).replace(b'"begun":0.0', f'"begun":{word}'.encode()))


def test_charge_is_a_spending_under_the_grant() -> None:
    budget, spending = Budget(20, 1e-6, 5e-7), Spending.of(Pure(2.0, 1e-9))
    charge = UnitCharge.of(spending, budget)
    assert charge.spending == spending
    assert charge.epsilon == budget.spent(spending)
    assert charge.is_something
    assert not UnitCharge.nothing().is_something
    too_often = UnitCharge.of(Spending(spending.loss_nano, ATTO), budget)
    assert math.isfinite(too_often.epsilon)
    assert decode(Estimated, encode(Estimated(too_often, False, "voters"))) == Estimated(too_often, False, "voters")


def test_answer_passes_the_wall_with_these_fields_alone(tmp_path: Path) -> None:
    vault = Vault.open(make_vault(tmp_path / "v").path, model=ToyModel())
    found = describe(vault.ask("Which disease makes thumbs numb?"))
    schema = make_schema("answer")
    assert found.keys() == {*schema["required"], "text"}
    assert decode(Answered, encode(Answered(found, UnitCharge.nothing()))) == Answered(found, UnitCharge.nothing())
    again = describe(vault.ask("Which disease makes thumbs numb?"))  # free, and of the moment of its release
    assert again.keys() == {*schema["required"], "text", "released_at"}
    assert decode(Answered, encode(Answered(again, UnitCharge.nothing()))) == Answered(again, UnitCharge.nothing())
    for wrong in WRONG_ANSWERS:
        with pytest.raises(ValidationError) as caught:
            Answered(merged(found, wrong), UnitCharge.nothing())
        assert "winterhand" not in str(caught.value).lower()


WRONG_ANSWERS: list[dict[str, Any]] = [
    {"documents": []},
    {"public_answer": "a guess"},
    {"private": False},
    {"private": 1},
    {"schema": True},
    {"schema": 2},
    {"answer": 5},
    {"stopped": "error"},
    {"released": "winterhand"},
    {"shares": {"yes": 1.5}},
    {"tokens": -1},
    {"cost": {"epsilon": 1.0, "granted": 20.0, "uses": 1, "balance": 3}},
    {"receipt": {"units": 60}},
    {"receipt": {"private": False}},
    {"receipt": {"caveat": "a claim"}},
    {"receipt": {"charges": [{"mechanism": "m", "change": "c", "cost": {"kind": "pure", "unit": "p7"}, "times": 1}]}},
    {"receipt": {"charges": [{"mechanism": "m", "change": "c", "cost": {}, "times": 1, "document": "d7"}]}},
]


def merged(answer: dict[str, Any], wrong: dict[str, Any]) -> dict[str, Any]:
    receipt = answer["receipt"] | wrong["receipt"] if "receipt" in wrong else answer["receipt"]
    return answer | wrong | {"receipt": receipt}

import asyncio
import hashlib
import json
import time
from pathlib import Path
from typing import Any

import pytest

from discreet_server.front.pacing import STEP
from discreet_server.front.requests import ChatRequest, parse_chat
from discreet_server.wire import Condense, Refused
from tests.server.front.fakes import QUESTION, FakeKeeper, code, drive, receipt, running
from tests.server.front.test_requests import chat, refused

WHOLE = "What helps children against winter hand?"
MESSAGES = [
    {"role": "system", "content": "Be kind."},
    {"role": "user", "content": QUESTION},
    {"role": "assistant", "content": "A warm bath."},
    {"role": "user", "content": "And for children?"},
]
CONDENSE: dict[str, Any] = {"discreet": {"follow_up": "condense"}, "messages": MESSAGES}
AS_IS: dict[str, Any] = {"discreet": {"follow_up": "as-is"}, "messages": MESSAGES}


def parsed(**fields: Any) -> ChatRequest:
    return parse_chat(chat(**fields))


def test_fingerprint_of_version_1_is_kept() -> None:
    """A retry after an update must find the question that was paid for: the vector is of these fields as they were."""
    fields: list[Any] = ["v", "triage", QUESTION, [], None, None, False]
    before = hashlib.sha256(json.dumps(fields, ensure_ascii=False).encode()).hexdigest()
    messages = [{"role": "user", "content": QUESTION}]
    assert parsed(model="v:triage", messages=messages).fingerprint == before


def test_fingerprint_covers_the_messages_and_the_choice() -> None:
    other = [*MESSAGES[:2], {"role": "assistant", "content": "Gloves."}, MESSAGES[-1]]
    prints = {parsed(**CONDENSE).fingerprint, parsed(**AS_IS).fingerprint}
    prints.add(parsed(**CONDENSE | {"messages": other}).fingerprint)
    assert len(prints) == 3
    assert parsed(**AS_IS | {"messages": other}).fingerprint in prints
    alone = {"messages": MESSAGES[-1:]}
    assert parsed(**CONDENSE | alone).fingerprint == parsed(**AS_IS | alone).fingerprint


def test_earlier_message_that_is_no_text_is_refused() -> None:
    image = [{"role": "user", "content": [{"type": "image_url", "image_url": {}}]}, MESSAGES[-1]]
    assert refused(chat(**CONDENSE | {"messages": image})).param == "messages"
    assert parsed(messages=image).question == "And for children?"
    called = [{"role": "assistant", "content": None}, {"role": "tool", "content": "x"}, MESSAGES[-1]]
    assert parsed(**CONDENSE | {"messages": called}).turns == ()


def test_condensed_question_is_asked_and_shown(tmp_path: Path) -> None:
    async def test() -> None:
        keeper = FakeKeeper()
        keeper.condensed = WHOLE
        async with running(tmp_path, keeper) as front:
            key, secret = front.key()
            first = receipt(reply := await front.ask(secret, **CONDENSE))
            assert (first["asked"], first["replayed"]) == (WHOLE, False)
            assert reply.json()["usage"]["prompt_tokens"] == len(WHOLE.split())
            spent = front.accounts.odometer(key.id).spent
            again = receipt(await front.ask(secret, **CONDENSE))
            assert (again["asked"], again["replayed"]) == (WHOLE, True)
            assert [one.question for one in keeper.asked] == [WHOLE]
            assert len(keeper.condensings) == 1
            assert front.accounts.odometer(key.id).spent == spent > 0
            plain = receipt(await front.ask(secret, **AS_IS))
            assert "asked" not in plain
            assert [one.question for one in keeper.asked] == [WHOLE, "And for children?"]
            assert len(keeper.condensings) == 1

    drive(test)


@pytest.mark.parametrize(
    ("served", "of_key", "rewritten"),
    [((), False, 0), (("hospital",), False, 1), (("clinic", "hospital:*"), False, 0), ((), True, 1)],
)
def test_key_and_model_allow_follow_ups(tmp_path: Path, served: tuple[str, ...], of_key: bool, rewritten: int) -> None:
    async def test() -> None:
        keeper = FakeKeeper()
        keeper.condensed = "What helps against winter hand in children?"
        async with running(tmp_path, keeper, follow_ups=served) as front:
            _, secret = front.key(follow_ups=of_key)
            found = receipt(await front.ask(secret, messages=MESSAGES))
            assert len(keeper.condensings) == rewritten
            assert found.get("asked") == (keeper.condensed if rewritten else None)

    drive(test)


@pytest.mark.parametrize("written", ["", "And for children?"])
def test_question_that_is_not_rewritten_is_asked_as_it_stands(tmp_path: Path, written: str) -> None:
    async def test() -> None:
        keeper = FakeKeeper()
        keeper.condensed = written
        async with running(tmp_path, keeper) as front:
            _, secret = front.key()
            assert "asked" not in receipt(await front.ask(secret, **CONDENSE))
            assert "asked" not in receipt(await front.ask(secret, **CONDENSE | {"messages": MESSAGES[-1:]}))
            assert {one.question for one in keeper.asked} == {"And for children?"}
            assert len(keeper.condensings) == 1

    drive(test)


@pytest.mark.parametrize("refusal", ["stopping", "internal_error"])
def test_refusal_to_condense_pays_nothing(tmp_path: Path, refusal: str) -> None:
    async def test() -> None:
        keeper = FakeKeeper()
        keeper.no_condensing = Refused(refusal)
        async with running(tmp_path, keeper) as front:
            key, secret = front.key()
            assert code(await front.ask(secret, **CONDENSE))[1] == refusal
            keeper.no_condensing, keeper.gone_condensing = None, True
            assert code(await front.ask(secret, **CONDENSE))[:2] == (503, "starting")
            assert (keeper.asked, front.accounts.odometer(key.id).spent) == ([], 0)
            keeper.gone_condensing = False
            receipt(await front.ask(secret, **CONDENSE))

    drive(test)


def test_estimate_is_refused_where_it_would_condense(tmp_path: Path) -> None:
    async def test() -> None:
        keeper = FakeKeeper()
        async with running(tmp_path, keeper) as front:
            _, secret = front.key()
            given = {"authorization": f"Bearer {secret}"}
            for fields, status in ((CONDENSE, 400), (AS_IS, 200), (CONDENSE | {"messages": MESSAGES[-1:]}, 200)):
                body = {"model": "hospital", **fields}
                reply = await front.client.post("/v1/estimate", json=body, headers=given)
                assert reply.status_code == status
            assert keeper.condensings == []

    drive(test)


class Timed(FakeKeeper):
    """Notes when it condenses."""

    def __init__(self) -> None:
        super().__init__()
        self.starts: list[float] = []

    async def condense(self, asked: Condense) -> Any:
        self.starts.append(time.monotonic())
        return await super().condense(asked)


@pytest.mark.parametrize("took", [0.01, 0.2])
def test_condensing_does_not_show_the_answer_before_it(tmp_path: Path, took: float) -> None:
    async def test() -> None:
        keeper = Timed()
        keeper.delay = took
        async with running(tmp_path, keeper, quantum=1.2) as front:
            _, first = front.key()
            second, secret = front.key("ben")
            begun = time.monotonic()
            before = asyncio.create_task(front.ask(first))
            await asyncio.sleep(STEP + 0.3)  # it is estimated in a step, and answered now
            sent = time.monotonic()
            asked = asyncio.create_task(front.ask(secret, stream=True, **CONDENSE))
            while time.monotonic() - sent < 0.5:  # nothing is reserved before a quantum has passed
                assert front.accounts.odometer(second.id).spent == 0
                await asyncio.sleep(0.02)
            receipt(await before)
            assert (await asked).status_code == 200
            # The first turn does not come before half a quantum after that of the question before, whatever it took.
            # Then come a whole quantum, a step for the estimate, and a whole quantum.
            assert keeper.starts[0] - begun > STEP + 0.6 - 0.01
            assert time.monotonic() - sent > 1.2 + STEP + 1.2 - 0.01

    drive(test)

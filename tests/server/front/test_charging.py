import asyncio
import time
from dataclasses import replace
from pathlib import Path

import pytest

from discreet_server.accounts import Accounts, AccountsError, questions
from discreet_server.front.pacing import STEP
from discreet_server.wire import Answered, Estimate, Estimated, Question, Refused
from tests.server.front.fakes import QUESTION, FakeKeeper, charge, code, drive, receipt, running
from tests.server.front.test_replies import INVENTED

CANARY = "canary-of-a-patient"


def test_question_is_answered_and_charged(tmp_path: Path) -> None:
    async def test() -> None:
        async with running(tmp_path, FakeKeeper()) as front:
            key, secret = front.key()
            reply = await front.ask(secret, temperature=0.5)
            told = receipt(reply)
            assert reply.json()["choices"][0]["message"]["content"] == "winter hand"
            assert told["ignored"] == ["temperature"]
            assert told["key"] == {"granted": 10.0, "spent": 2.0, "left": 8.0, "part": 0.2, "more": 4}
            assert reply.headers["x-discreet-key-left"] == "8"
            assert front.accounts.odometer(key.id).spent == pytest.approx(2.0)
            assert reply.json()["id"] == f"chatcmpl-{front.keeper.asked[0].id}"
            line = front.log.newest(1)[0]
            assert (line["actor"], line["act"], line["of"]) == (key.id, "question", front.keeper.asked[0].id)

    drive(test)


def test_same_question_is_replayed_and_paid_once(tmp_path: Path) -> None:
    async def test() -> None:
        keeper = FakeKeeper()
        keeper.stopped = "public"
        async with running(tmp_path, keeper) as front:
            _, secret = front.key()
            first = await front.ask(secret)
            assert INVENTED not in first.text
            second = await front.ask(secret, stream=False, top_p=0.3)
            assert (receipt(first)["replayed"], receipt(second)["replayed"]) == (False, True)
            assert second.json()["id"] == first.json()["id"]
            assert receipt(second)["key"]["spent"] == 2.0
            assert keeper.paid == 1
            assert receipt(await front.ask(secret, discreet={"anew": True}))["replayed"] is False
            assert keeper.paid == 2
            again = await front.ask(secret, {"x-stainless-retry-count": "1"}, discreet={"anew": True})
            assert receipt(again)["replayed"] is True
            assert keeper.paid == 2

    drive(test)


def test_three_requests_at_once_pay_once(tmp_path: Path) -> None:
    async def test() -> None:
        keeper = FakeKeeper()
        keeper.delay = 0.2
        async with running(tmp_path, keeper) as front:
            key, secret = front.key()
            replies = await asyncio.gather(*(front.ask(secret) for _ in range(3)))
            assert sorted(receipt(reply)["replayed"] for reply in replies) == [False, True, True]
            assert len({reply.json()["id"] for reply in replies}) == 1
            assert keeper.paid == 1
            assert front.accounts.odometer(key.id).spent == pytest.approx(2.0)

    drive(test)


def test_client_that_goes_away_finds_its_answer(tmp_path: Path) -> None:
    async def test() -> None:
        keeper = FakeKeeper()
        keeper.delay = 0.3
        async with running(tmp_path, keeper) as front:
            _, secret = front.key()
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(front.ask(secret), 0.15)
            assert receipt(await front.ask(secret))["replayed"] is True
            assert keeper.paid == 1

    drive(test)


def test_idempotency_key_belongs_to_one_request(tmp_path: Path) -> None:
    async def test() -> None:
        keeper = FakeKeeper()
        async with running(tmp_path, keeper) as front:
            _, secret = front.key()
            name = {"idempotency-key": "one"}
            assert receipt(await front.ask(secret, name, discreet={"anew": True}))["replayed"] is False
            assert receipt(await front.ask(secret, name, discreet={"anew": True}))["replayed"] is True
            assert code(await front.ask(secret, name)) == (422, "idempotency_mismatch", "false")
            assert code(await front.ask(secret, {"idempotency-key": "x" * 300}))[0] == 400
            keeper.delay = 0.2
            other = {"idempotency-key": "two"}
            both = (front.ask(secret, other, max_tokens=3), front.ask(secret, other, max_tokens=4))
            assert sorted(reply.status_code for reply in await asyncio.gather(*both)) == [200, 422]
            assert keeper.paid == 2

    drive(test)


def test_cap_holds_for_many_at_once(tmp_path: Path) -> None:
    async def test() -> None:
        keeper = FakeKeeper()
        keeper.delay = 0.01
        async with running(tmp_path, keeper) as front:
            key, secret = front.key(epsilon=5.0)
            asked = (front.ask(secret, messages=[{"role": "user", "content": f"Q{n}?"}]) for n in range(12))
            replies = await asyncio.gather(*asked)
            assert sorted(reply.status_code for reply in replies) == [200] * 2 + [402] * 10
            assert front.accounts.odometer(key.id).spent == pytest.approx(4.0)
            refused = next(reply for reply in replies if reply.status_code == 402)
            assert code(refused) == (402, "key_budget_exhausted", "false")
            assert refused.json()["error"]["type"] == "insufficient_quota"
            assert refused.json()["discreet"]["asked"] == 2.0
            assert refused.json()["discreet"]["left"] == pytest.approx(1.0)

    drive(test)


def test_answer_given_before_is_free_without_a_budget(tmp_path: Path) -> None:
    async def test() -> None:
        keeper = FakeKeeper()
        keeper.free = True
        async with running(tmp_path, keeper) as front:
            _, secret = front.key(epsilon=1.0)
            keeper.price = 2.0
            assert (await front.ask(secret)).status_code == 200

    drive(test)


def test_long_question_is_refused_before_it_reaches_the_keeper(tmp_path: Path) -> None:
    """The quantum is twice the time of a short question: a long one would show how long it took."""

    def said(text: str) -> list[dict[str, str]]:
        return [{"role": "user", "content": text}]

    async def test() -> None:
        async with running(tmp_path, FakeKeeper()) as front:
            key, secret = front.key()
            assert (await front.ask(secret, messages=said("x" * 600))).status_code == 200
            for long in (said("x" * 601), said("x" * 4800)):
                assert code(await front.ask(secret, messages=long)) == (400, "question_too_long", "false")
            reply = await front.ask(secret, messages=said("x" * 500), discreet={"choices": ["y" * 50, "z" * 51]})
            assert code(reply) == (400, "question_too_long", "false")
            assert len(front.keeper.asked) == 1
            assert front.accounts.odometer(key.id).spent == pytest.approx(2.0)

    drive(test)


REFUSALS = [
    (Refused("vault_budget_exhausted", 2.0, 1.0, 0.5), (402, "false")),
    (Refused("question_too_long"), (400, "false")),
    (Refused("cannot_answer", kind="count"), (400, "false")),
    (Refused("ledger_unavailable"), (503, "true")),
    (Refused("store_unavailable"), (503, "true")),
    (Refused("stopping"), (503, "true")),
]


@pytest.mark.parametrize(("refusal", "wanted"), REFUSALS)
def test_refusal_of_the_keeper_frees_the_key(tmp_path: Path, refusal: Refused, wanted: tuple[int, str]) -> None:
    async def test() -> None:
        keeper = FakeKeeper()
        keeper.refusal = refusal
        async with running(tmp_path, keeper) as front:
            key, secret = front.key()
            reply = await front.ask(secret)
            assert code(reply) == (wanted[0], refusal.code, wanted[1])
            assert front.accounts.odometer(key.id).spent == 0.0
            keeper.refusal = None
            assert (await front.ask(secret)).status_code == 200

    drive(test)


@pytest.mark.parametrize("name", ["interrupted", "vault_budget_exhausted", "ledger_unavailable", "internal_error"])
def test_question_broken_off_after_a_payment(tmp_path: Path, name: str) -> None:
    async def test() -> None:
        keeper = FakeKeeper()
        keeper.refusal = Refused(name, paid=charge(1.5))
        async with running(tmp_path, keeper) as front:
            key, secret = front.key()
            first = await front.ask(secret)
            assert first.status_code in (402, 500)
            assert code(first)[1:] == (name, "false")
            assert front.accounts.odometer(key.id).spent == pytest.approx(1.5)
            keeper.refusal = None
            again = await front.ask(secret)
            assert again.json() == first.json()
            assert keeper.paid == 1
            assert (await front.ask(secret, discreet={"anew": True})).status_code == 200

    drive(test)


def test_keeper_that_goes_away_is_asked_under_the_same_id(tmp_path: Path) -> None:
    async def test() -> None:
        keeper = FakeKeeper()
        async with running(tmp_path, keeper) as front:
            key, secret = front.key()
            keeper.gone = [True, False, False]
            assert (await front.ask(secret)).status_code == 200
            assert keeper.paid == 1
            keeper.gone = [False]
            assert code(await front.ask(secret, max_tokens=3)) == (503, "starting", "true")
            assert front.accounts.odometer(key.id).spent == pytest.approx(2.0)

    drive(test)


def test_keeper_that_stays_away_leaves_the_ceiling(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def test() -> None:
        keeper = FakeKeeper()
        monkeypatch.setattr("discreet_server.front.asking.RESTART", 0.3)
        async with running(tmp_path, keeper) as front:
            key, secret = front.key()
            keeper.gone = [True] * 99
            assert code(await front.ask(secret)) == (500, "interrupted", "false")
            assert front.accounts.odometer(key.id).spent == pytest.approx(2.0)
            keeper.gone = []
            assert code(await front.ask(secret)) == (500, "interrupted", "false")
            assert keeper.paid == 0

    drive(test)


def test_accounts_that_fail_are_no_reason_to_pay(tmp_path: Path) -> None:
    async def test() -> None:
        async with running(tmp_path, FakeKeeper()) as front:
            _, secret = front.key()

            def fail(*_: object, **__: object) -> None:
                raise AccountsError(CANARY)

            working = front.accounts.odometer
            setattr(front.accounts, "odometer", fail)  # noqa: B010
            assert code(await front.ask(secret)) == (500, "ledger_unavailable", "false")
            setattr(front.accounts, "odometer", working)  # noqa: B010
            assert receipt(await front.ask(secret))["replayed"] is True
            setattr(front.accounts, "reserve", fail)  # noqa: B010
            reply = await front.ask(secret, max_tokens=3)
            assert code(reply) == (503, "ledger_unavailable", "true")
            assert CANARY not in reply.text
            assert front.keeper.paid == 1

    drive(test)


def test_queue_refuses_before_anything_is_paid(tmp_path: Path) -> None:
    async def test() -> None:
        keeper = FakeKeeper(price=0.01)
        keeper.delay = 0.3
        async with running(tmp_path, keeper, queue=2) as front:
            key, secret = front.key()
            asked = (front.ask(secret, messages=[{"role": "user", "content": f"Q{n}?"}]) for n in range(6))
            replies = await asyncio.gather(*asked)
            refused = [reply for reply in replies if reply.status_code != 200]
            assert {code(reply) for reply in refused} == {(503, "queue_full", "true")}
            assert "retry-after" in refused[0].headers
            assert front.accounts.odometer(key.id).questions == keeper.paid == 6 - len(refused)

    drive(test)


class Watched(FakeKeeper):
    """Answers after `took` seconds. What it has answered is free, as in a vault's history, unless it is in the air."""

    def __init__(self, took: float) -> None:
        super().__init__()
        self.delay = took
        self.estimates: list[Estimate] = []

    async def question(self, question: Question) -> Answered | Refused:
        found = await super().question(question)
        self.free = True
        return found

    async def estimate(self, asked: Estimate) -> Estimated | Refused:
        self.estimates.append(asked)
        found = await super().estimate(asked)
        return replace(found, free=found.free and not asked.air) if isinstance(found, Estimated) else found


@pytest.mark.parametrize("took", [0.01, 0.3])
def test_nothing_shows_an_answer_before_its_moment(tmp_path: Path, took: float) -> None:
    async def test() -> None:
        keeper = Watched(took)
        async with running(tmp_path, keeper, quantum=2.4) as front:
            _, secret = front.key()
            other = front.key("ben")[1]
            begun = time.monotonic()
            asked = asyncio.create_task(front.ask(secret))
            await asyncio.sleep(STEP + 0.1)  # it is estimated after a step, and then reserved
            joined = asyncio.create_task(front.ask(secret))
            body = {"model": "hospital", "messages": [{"role": "user", "content": QUESTION.upper()}]}
            moment, judged = begun + STEP + 2.4 - 0.01, 0
            while time.monotonic() - begun < 0.5:
                given = {"authorization": f"Bearer {other}"}
                estimate = (await front.client.post("/v1/estimate", json=body, headers=given)).json()
                receipts = (await front.get("/v1/receipts", secret)).json()["data"]
                if time.monotonic() > moment:  # the machine stood still: these replies may be later than the moment
                    break
                judged += 1
                assert (estimate["free"], estimate["epsilon_most"]) == (False, pytest.approx(2.0))
                assert [one["settled"] for one in receipts] == [False]
                assert keeper.estimates[-1].air == (keeper.asked[0].id,)
                await asyncio.sleep(0.02)
            assert judged
            assert receipt(await asked)["replayed"] is False
            landed = time.monotonic()
            assert receipt(await joined)["replayed"] is True
            assert landed > moment
            assert time.monotonic() - landed < 0.3  # with its flight, not a quantum after its own arrival
            assert (await front.client.post("/v1/estimate", json=body, headers=given)).json()["free"] is True
            assert keeper.estimates[-1].air == ()

    drive(test)


def test_refusals_at_a_cap_do_not_fill_the_audit_log(tmp_path: Path) -> None:
    async def test() -> None:
        async with running(tmp_path, FakeKeeper()) as front:
            _, secret = front.key(epsilon=1.0)
            for n in range(3):
                assert (await front.ask(secret, max_tokens=n + 1)).status_code == 402
            lines = list(front.log.lines())
            assert [line["act"] for line in lines].count("refusal") == 1

    drive(test)


def test_estimates_and_refusals_have_a_rate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(questions, "UNPAID", 3)

    async def test() -> None:
        async with running(tmp_path, FakeKeeper()) as front:
            _, secret = front.key(per_question=1.0)
            body = {"model": "hospital", "messages": [{"role": "user", "content": QUESTION}]}

            async def estimate() -> int:
                given = {"authorization": f"Bearer {secret}"}
                return (await front.client.post("/v1/estimate", json=body, headers=given)).status_code

            assert [await estimate(), (await front.ask(secret)).status_code, await estimate()] == [200, 402, 200]
            assert (front.keeper.estimated, await estimate(), front.keeper.estimated) == (3, 429, 3)
            limited = await front.ask(secret, max_tokens=9)
            assert code(limited) == (429, "rate_limited", "true")
            assert 1 <= int(limited.headers["retry-after"]) <= 60
            assert (await front.get("/v1/budget", secret)).status_code == 200
            _, other = front.key("ben")
            for n in range(5):  # what is paid or replayed is not counted
                assert (await front.ask(other, max_tokens=n + 1)).status_code == 200
                assert (await front.ask(other, max_tokens=n + 1)).status_code == 200
            assert len({one.id for one in front.keeper.asked}) == 5

    drive(test)


def test_name_of_a_request_that_joined_is_not_paid_later(tmp_path: Path) -> None:
    async def test() -> None:
        keeper = FakeKeeper(price=0.5)
        keeper.delay = 0.3
        async with running(tmp_path, keeper) as front:
            key, secret = front.key()
            how = {"discreet": {"anew": True}}
            first = asyncio.create_task(front.ask(secret, headers={"Idempotency-Key": "a"}, **how))
            await asyncio.sleep(0.1)
            joined = await front.ask(secret, headers={"Idempotency-Key": "b"}, **how)
            again = await front.ask(secret, headers={"Idempotency-Key": "b"}, **how)
            ids = {reply.json()["usage"]["discreet"]["question_id"] for reply in (await first, joined, again)}
            assert len(ids) == 1
            assert keeper.paid == front.accounts.odometer(key.id).questions == 1
            other = asyncio.create_task(front.ask(secret, headers={"Idempotency-Key": "c"}, **how))
            await asyncio.sleep(0.1)
            third = await front.ask(secret, headers={"Idempotency-Key": "b"}, **how)  # not what is in the air
            assert {third.json()["usage"]["discreet"]["question_id"]} == ids
            assert (await other).json()["usage"]["discreet"]["question_id"] not in ids

    drive(test)


@pytest.mark.parametrize("epsilon", [10.0, 0.1])
def test_request_joins_before_the_question_is_reserved(tmp_path: Path, epsilon: float) -> None:
    """Its name finds that question once it is reserved, and nothing if it is refused. The accounts can be read."""

    async def test() -> None:
        keeper = FakeKeeper(price=0.5)
        keeper.estimating = 0.3
        async with running(tmp_path, keeper) as front:
            key, secret = front.key(epsilon=epsilon)
            how = {"discreet": {"anew": True}}
            first = asyncio.create_task(front.ask(secret, headers={"Idempotency-Key": "a"}, **how))
            await asyncio.sleep(0.1)
            joined = await front.ask(secret, headers={"Idempotency-Key": "b"}, **how)
            status = (await first).status_code
            assert joined.status_code == status == (200 if epsilon > 1 else 402)
            again = Accounts(front.config.accounts)
            assert again.odometer(key.id).questions == keeper.paid == (status == 200)
            later = await front.ask(secret, headers={"Idempotency-Key": "b"}, **how)
            assert later.status_code == status
            if status == 200:
                ids = {one.json()["usage"]["discreet"]["question_id"] for one in (await first, joined, later)}
                assert len(ids) == keeper.paid == 1

    drive(test)

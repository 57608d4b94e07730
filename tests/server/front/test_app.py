import asyncio
import json
from pathlib import Path
from typing import Any

import httpx2
import pytest
from starlette.routing import Route as StarletteRoute

from discreet_server.front.gate import ROUTES
from discreet_server.front.pacing import STEP, default_quantum
from discreet_server.front.telling import metrics_app
from tests.server.front.fakes import QUESTION, TITLE, FakeKeeper, Front, code, drive, receipt, running

CANARY = "canary-of-a-patient"


def test_routes_of_the_app_are_those_of_the_table(tmp_path: Path) -> None:
    front = Front(tmp_path, FakeKeeper())
    served: set[tuple[str, str]] = set()
    for path, methods in served_routes(front.app.router.routes):
        served |= {(method, path) for method in methods}
    mcp = {(method, path) for method, path in served if path == "/mcp"}
    known = {(route.method, route.path) for route in ROUTES}
    assert served - mcp == known - {("POST", "/mcp")}
    assert mcp
    assert {route.path for route in ROUTES if route.who == "all"} == {"/health/live", "/health/ready"}


def served_routes(routes: Any) -> list[tuple[str, set[str]]]:
    found = []
    for route in routes:
        inner = getattr(route, "original_router", None)
        if inner is not None:
            found += served_routes(inner.routes)
        else:
            assert isinstance(route, StarletteRoute)
            found.append((route.path, (route.methods or {"POST"}) - {"HEAD"}))
    return found


def test_routes_without_a_key_are_closed(tmp_path: Path) -> None:
    async def test() -> None:
        async with running(tmp_path, FakeKeeper()) as front:
            for route in ROUTES:
                path = route.path.replace("{model}", "hospital").replace("{question_id}", "0" * 32)
                reply = await front.client.request(route.method, path)
                assert (reply.status_code == 401) == (route.who == "analyst"), path
                assert reply.headers["x-content-type-options"] == "nosniff"
            for path in ("/v1/embeddings", "/metrics", "/docs", "/admin", "/v1/models/", "/v1/chat/completions/"):
                assert code(await front.client.post(path))[:2] == (404, "not_found")
            assert code(await front.client.get("/v1/chat/completions"))[:2] == (405, "method_not_allowed")

    drive(test)


def test_key_that_is_not_valid_gets_the_same_words(tmp_path: Path) -> None:
    async def test() -> None:
        async with running(tmp_path, FakeKeeper()) as front:
            key, revoked = front.key("revoked")
            front.accounts.revoke(key.id)
            _, old = front.key("rotated")
            front.accounts.rotate("rotated")
            replies = [await front.ask(secret) for secret in (revoked, old, "dsc_unknown", "x" * 5000)]
            replies.append(await front.client.post("/v1/chat/completions"))
            assert {code(reply) for reply in replies} == {(401, "invalid_api_key", "false")}
            assert len({reply.text for reply in replies}) == 1
            assert front.keeper.asked == []

    drive(test)


@pytest.mark.parametrize(
    ("limits", "fields", "wanted"),
    [
        ({"per_question": 1.0}, {}, (402, "per_question_limit", "false")),
        ({"models": ["hospital:consensus"]}, {}, (403, "not_allowed", "false")),
        ({}, {"model": "clinic"}, (404, "model_not_found", "false")),
        ({}, {"model": "nowhere"}, (404, "model_not_found", "false")),
        ({}, {"model": "hospital:x"}, (404, "model_not_found", "false")),
        ({}, {"n": 2}, (400, "invalid_request", "false")),
        ({}, {"padding": "x" * 70_000}, (413, "too_large", "false")),
    ],
)
def test_request_is_refused_unpaid(tmp_path: Path, limits: Any, fields: Any, wanted: Any) -> None:
    async def test() -> None:
        async with running(tmp_path, FakeKeeper()) as front:
            key, secret = front.key(**limits)
            assert code(await front.ask(secret, **fields)) == wanted
            assert code(await front.ask(secret, stream=True, **fields)) == wanted
            assert front.keeper.asked == []
            assert front.accounts.odometer(key.id).spent == 0.0

    drive(test)


def test_rate_and_questions_are_limited(tmp_path: Path) -> None:
    async def test() -> None:
        async with running(tmp_path, FakeKeeper()) as front:
            _, slow = front.key("slow", rate=(1, 60.0))
            _, few = front.key("few", questions=1)
            for secret in (slow, few):
                assert (await front.ask(secret)).status_code == 200
            limited = await front.ask(slow, max_tokens=3)
            assert code(limited) == (429, "rate_limited", "true")
            assert 1 <= int(limited.headers["retry-after"]) <= 60
            assert code(await front.ask(few, max_tokens=3)) == (402, "key_questions_exhausted", "false")
            assert (await front.ask(few)).status_code == 200

    drive(test)


def test_exception_leaves_no_text(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    async def test() -> None:
        keeper = FakeKeeper()
        keeper.crash = RuntimeError(CANARY)
        async with running(tmp_path, keeper) as front:
            key, secret = front.key()
            reply = await front.ask(secret, messages=[{"role": "user", "content": CANARY}])
            assert code(reply) == (500, "internal_error", "false")
            assert CANARY not in reply.text + str(reply.headers)
            streamed = await front.ask(secret, messages=[{"role": "user", "content": f"{CANARY}2"}], stream=True)
            assert CANARY not in streamed.text
            assert '"code":"internal_error"' in streamed.text
            assert front.accounts.odometer(key.id).spent == pytest.approx(4.0)

            def fail(*_: object, **__: object) -> None:
                raise ValueError(CANARY)

            setattr(front.accounts, "odometer", fail)  # noqa: B010
            keeper.crash = None
            assert code(await front.ask(secret, max_tokens=1))[:2] == (500, "internal_error")
        log = json.dumps(list(front.log.lines()))
        written = b"".join(path.read_bytes() for path in tmp_path.iterdir() if path.is_file())
        assert CANARY not in "".join(capfd.readouterr()) + log
        assert CANARY.encode() not in written

    drive(test)


def test_exception_leaves_no_text_by_mcp(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    async def test() -> None:
        keeper = FakeKeeper()
        keeper.crash = RuntimeError(CANARY)
        async with running(tmp_path, keeper) as front:
            _, secret = front.key()
            for name, arguments, code in (
                ("ask", {"question": CANARY}, "internal_error"),
                ("ask", {"question": {"x": CANARY}}, "invalid_request"),
                ("estimate", {"question": CANARY, "model": CANARY}, "model_not_found"),
                (CANARY, {}, "invalid_request"),
            ):
                call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call"}
                reply = await front.client.post(
                    "/mcp",
                    json=call | {"params": {"name": name, "arguments": arguments}},
                    headers={"authorization": f"Bearer {secret}", "accept": "application/json, text/event-stream"},
                )
                found = reply.json()["result"]
                assert found["isError"] is True
                assert found["structuredContent"]["error"]["code"] == code
                assert CANARY not in reply.text
        assert CANARY not in "".join(capfd.readouterr()) + json.dumps(list(front.log.lines()))

    drive(test)


def test_setting_that_would_be_ignored_is_refused_unpaid(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    async def test() -> None:
        async with running(tmp_path, FakeKeeper()) as front:
            key, secret = front.key()
            sent = {"authorization": f"Bearer {secret}", "content-type": "text/plain"}
            body = json.dumps({"model": "hospital", "messages": [{"role": "user", "content": QUESTION}]})[:-1]
            for path in ("/v1/chat/completions", "/v1/estimate"):
                for more, query, header in (
                    (', "epsilon": 0.5', "", {}),
                    (', "discreet": {"epsilon": 0.5}, "discreet": {}', "", {}),
                    (f', "discreet": {{"{CANARY}": 0.5}}', "", {}),
                    (f', "stream": "{CANARY}"', "", {}),
                    (f', "{CANARY}', "", {}),
                    (', "stop": NaN', "", {}),
                    ("", f"?epsilon={CANARY}", {}),
                    ("", "", {"x-discreet-epsilon": "0.5"}),
                    ("", "", {"x-discreet-epsilon": "0.5", "content-type": "application/json"}),
                ):
                    reply = await front.client.post(path + query, content=f"{body}{more}}}", headers=sent | header)
                    assert code(reply) == (400, "invalid_request", "false"), (more, query, header)
                    assert "Nothing was paid." in reply.json()["error"]["message"]
                    assert CANARY not in reply.text + str(reply.headers)
            assert (front.keeper.asked, front.keeper.estimated) == ([], 0)
            assert front.accounts.odometer(key.id).spent == 0.0
            plain = await front.client.post("/v1/chat/completions", content=f"{body}}}", headers=sent)
            assert receipt(plain)["stopped"] == "end"  # the type that a client gives decides nothing
        assert CANARY not in "".join(capfd.readouterr())

    drive(test)


def test_argument_that_a_tool_does_not_have_is_refused_unpaid(tmp_path: Path) -> None:
    async def test() -> None:
        async with running(tmp_path, FakeKeeper()) as front:
            key, secret = front.key()
            headers = {"authorization": f"Bearer {secret}", "accept": "application/json, text/event-stream"}
            call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call"}
            for tool in ("ask", "estimate"):
                for name in ("max_epsilon", "maxEpsilon", "Epsilon", "delta", "discreet", CANARY):
                    arguments = {"question": QUESTION, name: 0.1}
                    body = call | {"params": {"name": tool, "arguments": arguments}}
                    reply = await front.client.post("/mcp", json=body, headers=headers)
                    found = reply.json()["result"]["structuredContent"]["error"]
                    assert found["code"] == "invalid_request"
                    assert "question, model, choices, epsilon" in found["message"]
                    assert CANARY not in reply.text
            asked = {"question": QUESTION}
            for params in (
                {"name": "ask", "arguments": asked | {"epsilon": True}},
                {"name": "ask", "arguments": asked | {"epsilon": "1"}},
                {"name": "ask", "arguments": asked | {"anew": "yes"}},
                {"name": "count", "arguments": {"of": '"fever', "among": '"rash"'}},
                {"name": "count", "arguments": {"of": '"fever", among "rash"'}},
                {"name": "difference", "arguments": {"more": '"a b" versus "c d"', "less": '"e f"'}},
            ):
                reply = await front.client.post("/mcp", json=call | {"params": params}, headers=headers)
                assert reply.json()["result"]["structuredContent"]["error"]["code"] == "invalid_request", params
            beside = call | {"params": {"name": "ask", "arguments": asked, "epsilon": 0.1}}
            for url, more in (("/mcp", {}), ("/mcp?epsilon=0.1", {}), ("/mcp", {"x-discreet-epsilon": "0.1"})):
                body = call | {"params": {"name": "ask", "arguments": asked}} if more or "?" in url else beside
                reply = await front.client.post(url, json=body, headers=headers | more)
                assert code(reply)[:2] == (400, "invalid_request"), url
            twice = json.dumps(call | {"params": {"name": "ask", "arguments": {"question": QUESTION, "epsilon": 1}}})
            twice = twice.replace('"epsilon": 1', '"epsilon": 1, "epsilon": 9')
            assert code(await front.client.post("/mcp", content=twice, headers=headers))[:2] == (400, "invalid_request")
            listed = await front.client.post("/mcp", json=call | {"method": "tools/list"}, headers=headers)
            tools = listed.json()["result"]["tools"]
            assert [tool["inputSchema"]["additionalProperties"] for tool in tools] == [False] * len(tools)
            assert (front.keeper.asked, front.keeper.estimated) == ([], 0)
            assert front.accounts.odometer(key.id).spent == 0.0

    drive(test)


def test_task_of_a_client_is_answered_for_nothing(tmp_path: Path) -> None:
    async def test() -> None:
        async with running(tmp_path, FakeKeeper()) as front:
            key, secret = front.key(models=["hospital"])
            told = receipt(await front.ask(secret, messages=[{"role": "user", "content": TITLE}]))
            assert (told["stopped"], told["replayed"]) == ("task", False)
            priced = await front.client.post(
                "/v1/estimate",
                json={"model": "hospital", "messages": [{"role": "user", "content": TITLE}]},
                headers={"Authorization": f"Bearer {secret}"},
            )
            assert (priced.status_code, priced.json()["free"]) == (200, True)
            assert not front.keeper.asked
            assert front.accounts.odometer(key.id).spent == 0.0

    drive(test)


def test_stream_comments_until_the_quantum(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def test() -> None:
        keeper = FakeKeeper()
        keeper.delay = 0.1
        monkeypatch.setattr("discreet_server.front.routes.with_comments.__defaults__", (0.05,))
        async with running(tmp_path, keeper, quantum=2.0) as front:
            _, secret = front.key()
            reply = await front.ask(secret, stream=True, stream_options={"include_usage": True})
            parts = [part for part in reply.text.split("\n\n") if part]
            assert reply.headers["content-type"].startswith("text/event-stream")
            assert json.loads(parts[0][6:])["choices"][0]["delta"] == {"role": "assistant", "content": ""}
            assert parts[1:4] == [": waiting"] * 3
            assert parts[-1] == "data: [DONE]"
            usage = json.loads(parts[-2][6:])
            assert usage["usage"]["discreet"]["receipt"]["epsilon"] == 2.498

    drive(test)


def test_replies_leave_at_the_quantum(tmp_path: Path) -> None:
    async def test() -> None:
        quantum = 0.4
        async with running(tmp_path, FakeKeeper(), quantum=quantum) as front:
            _, secret = front.key()
            clock = asyncio.get_running_loop().time
            cases: tuple[tuple[dict[str, Any], bool], ...] = (
                ({}, True),
                ({}, False),
                ({"max_tokens": 3}, True),
            )
            for fields, estimated in cases:
                begun = clock()
                await front.ask(secret, **fields)
                if not estimated:  # it is there already
                    assert STEP - 0.01 < clock() - begun < quantum
                    continue
                took = (clock() - begun - STEP) / quantum  # the quanta begin after the estimate
                # Soon after a multiple; a later one on a machine that is busy.
                assert took > 0.97
                assert (took + 0.03) % 1 < 0.63, took
            seconds = []
            for _ in range(5):  # a busy machine may delay any of them
                begun = clock()
                assert (await front.ask("dsc_none")).status_code == 401
                assert (await front.get("/v1/models", secret)).status_code == 200
                assert (await front.client.get("/health/ready")).status_code == 200
                seconds.append(clock() - begun)
            assert min(seconds) < quantum

    drive(test)


def test_each_lane_has_a_quantum_of_its_own(tmp_path: Path) -> None:
    async def test() -> None:
        keeper = FakeKeeper()
        keeper.longest = {"records": 0.05, "voters": 14.0}
        keeper.lane = "records"
        async with running(tmp_path, keeper, quantum=None) as front:
            _, secret = front.key()
            clock = asyncio.get_running_loop().time
            begun = clock()
            replies = await asyncio.gather(*(front.ask(secret, max_tokens=number) for number in (1, 2, 3)))
            took = clock() - begun
            assert [reply.status_code for reply in replies] == [200] * 3
            assert all(question.lane == "records" for question in keeper.asked)
            assert STEP + 2 * default_quantum(0.05) - 0.01 < took < 10  # the last one starts a quantum after the first

    drive(test)


@pytest.mark.parametrize(
    ("wrong", "status"), [({"n": 2}, 400), ({"discreet": {"epsilon": 0}}, 400), ({"model": "nowhere"}, 404)]
)
def test_refusal_that_the_request_explains_waits_for_no_answer(
    wrong: dict[str, Any], status: int, tmp_path: Path
) -> None:
    async def test() -> None:
        async with running(tmp_path, FakeKeeper(), quantum=30.0) as front:
            _, secret = front.key()
            clock = asyncio.get_running_loop().time
            begun = clock()
            assert (await front.ask(secret, **wrong)).status_code == status
            assert STEP - 0.01 < clock() - begun < 15

    drive(test)


def test_health_is_ready_when_the_keeper_is(tmp_path: Path) -> None:
    async def test() -> None:
        keeper = FakeKeeper()
        keeper.loaded = False
        async with running(tmp_path, keeper) as front:
            _, secret = front.key()
            assert (await front.client.get("/health/live")).status_code == 200
            assert (await front.client.get("/health/ready")).status_code == 503
            assert code(await front.ask(secret)) == (503, "starting", "true")
            keeper.loaded = True
            await asyncio.sleep(2.1)
            assert (await front.client.get("/health/ready")).json() == {"status": "ready"}
            front.app.state.services.asker.stopping = True
            assert (await front.client.get("/health/ready")).json() == {"status": "stopping"}
            assert code(await front.ask(secret)) == (503, "stopping", "true")

    drive(test)


def test_metrics_tell_of_queue_keeper_and_grants(tmp_path: Path) -> None:
    async def test() -> None:
        keeper = FakeKeeper()
        async with running(tmp_path, keeper) as front:
            services = front.app.state.services
            shown = httpx2.AsyncClient(
                transport=httpx2.ASGITransport(metrics_app(services.metrics, services.note_state)),
                base_url="http://front",
            )
            _, secret = front.key()
            assert 'discreet_grant_left_epsilon{vault="hospital"} 20.0' in (await shown.get("/metrics")).text
            assert (await front.ask(secret)).status_code == 200
            text = (await shown.get("/metrics")).text
            assert "discreet_keeper_up 1.0" in text
            assert "discreet_queue_seconds_count 1.0" in text
            left = next(line for line in text.splitlines() if line.startswith("discreet_grant_left_epsilon{"))
            assert 0 < float(left.split()[-1]) < 20
            keeper.loaded = False
            assert "discreet_keeper_up 0.0" in (await shown.get("/metrics")).text

    drive(test)


def test_metrics_name_public_things_alone(tmp_path: Path) -> None:
    async def test() -> None:
        async with running(tmp_path, FakeKeeper()) as front:
            key, secret = front.key()
            await front.ask(secret, messages=[{"role": "user", "content": CANARY}])
            await front.client.get(f"/{CANARY}")
            text = front.app.state.services.metrics.text().decode()
            assert 'discreet_questions_total{model="hospital",outcome="end"} 1.0' in text
            for absent in (CANARY, key.id, "process_", "python_"):
                assert absent not in text

    drive(test)

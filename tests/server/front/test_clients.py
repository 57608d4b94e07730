"""The openai SDK and an MCP client, unchanged, against a real front and a real keeper."""

import asyncio
import json
import signal
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx2
import openai
import pytest
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client

from discreet_server.audit_log import AuditLog
from tests.server.front.serving import QUESTION, Server, check_reply, read_description, serving
from tests.server.keepers import wait_for

pytestmark = pytest.mark.thorough
NAMES = iter(f"key {number}" for number in range(1000))


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(tmp_path_factory.mktemp("server")) as found:
        yield found


def asked(text: str) -> list[Any]:
    return [{"role": "user", "content": text}]


def is_answer(text: str | None) -> bool:
    """Whether a text is one of the two that the toy vault gives: what the notes say, or that they do not agree."""
    return text == "Winterhand" or (text or "").startswith("No answer: too few of the patients' notes agree")


def told(completion: Any) -> dict[str, Any]:
    found: dict[str, Any] = completion.usage.model_dump()["discreet"]
    return found


def test_openai_sdk_gets_an_answer_and_a_receipt(server: Server) -> None:
    client = server.sdk(server.key(next(NAMES)))
    assert next(model.id for model in client.models.list()) == "v"
    found = client.chat.completions.create(model="v", messages=asked(QUESTION), temperature=0)
    assert is_answer(found.choices[0].message.content)
    receipt = told(found)
    assert receipt["receipt"]["epsilon"] > 0
    # The key's meter adds up at one order, which is the best one for many questions.
    assert receipt["receipt"]["epsilon"] <= receipt["key"]["spent"] < 2 * receipt["receipt"]["epsilon"]
    assert receipt["ignored"] == ["temperature"]


def test_openai_sdk_reads_a_stream(server: Server) -> None:
    client = server.sdk(server.key(next(NAMES)))
    stream = client.chat.completions.create(
        model="v", messages=asked(QUESTION), stream=True, stream_options={"include_usage": True}
    )
    chunks = list(stream)
    text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
    assert is_answer(text)
    assert told(chunks[-1])["stopped"] in ("end", "public")


def test_openai_sdk_names_choices(server: Server) -> None:
    client = server.sdk(server.key(next(NAMES)))
    schema = {"type": "object", "properties": {"disease": {"enum": ["winterhand", "flu"]}}, "required": ["disease"]}
    wanted: Any = {"type": "json_schema", "json_schema": {"name": "x", "schema": schema}}
    found = client.chat.completions.create(model="v:consensus", messages=asked(QUESTION), response_format=wanted)
    assert json.loads(found.choices[0].message.content or "") == {"disease": "winterhand"}
    other = client.chat.completions.create(
        model="v:consensus", messages=asked(QUESTION), extra_body={"guided_choice": ["winterhand", "flu"]}
    )
    assert other.choices[0].message.content == "winterhand"
    assert told(other)["replayed"] is True


@pytest.mark.parametrize(
    ("how", "error", "name"),
    [
        ({"model": "nowhere"}, openai.NotFoundError, "model_not_found"),
        ({"n": 2}, openai.BadRequestError, "invalid_request"),
        ({"messages": asked("Summarise what the patients say.")}, openai.BadRequestError, "cannot_answer"),
        ({"extra_body": {"discreet": {"epsilon": 15}}}, openai.APIStatusError, "key_budget_exhausted"),
    ],
)
def test_openai_sdk_asks_once_when_refused(server: Server, how: Any, error: Any, name: str) -> None:
    sent: list[str] = []
    http = openai.DefaultHttpxClient(event_hooks={"request": [lambda request: sent.append(str(request.url))]})
    client = server.sdk(server.key(next(NAMES)), http_client=http)
    given = {"model": "v:consensus", "messages": asked("Which disease?")} | how
    with pytest.raises(error) as found:
        client.chat.completions.create(**given)
    assert found.value.code == name
    assert found.value.response.headers["x-should-retry"] == "false"
    assert len(sent) == 1


def test_keys_of_two_analysts_pay_once_for_one_question(server: Server) -> None:
    text, before = "Which disease makes the right thumb numb?", server.begun()
    secrets = [server.key(next(NAMES)), server.key(next(NAMES))]
    with ThreadPoolExecutor(2) as pool:
        found = list(
            pool.map(lambda one: server.sdk(one).chat.completions.create(model="v", messages=asked(text)), secrets)
        )
    spent = sorted(told(one)["key"]["spent"] for one in found)
    assert spent[0] == 0.0
    assert spent[1] > 0.0
    assert server.begun() == before + 1


def test_budget_and_receipts_are_those_of_the_key(server: Server) -> None:
    secret = server.key(next(NAMES))
    found = server.sdk(secret).chat.completions.create(model="v", messages=asked("Which disease numbs both thumbs?"))
    with httpx2.Client(base_url=server.root, headers={"authorization": f"Bearer {secret}"}) as http:
        budget = http.get("/v1/budget").json()
        receipts = http.get("/v1/receipts").json()["data"]
        assert budget["spent"] == pytest.approx(told(found)["key"]["spent"])
        assert budget["more"]["v"] == told(found)["key"]["more"]
        assert [one["question_id"] for one in receipts] == [told(found)["question_id"]]
        assert http.get(f"/v1/receipts/{found.id}").json()["epsilon"] > 0
        made = http.post("/v1/budget/requests", json={"epsilon": 5, "reason": "More questions."})
        assert made.status_code == 201
        assert len(http.get("/v1/budget/requests").json()["data"]) == 1


COUNT = 'count: "thumbs", among all'
REPLIES: dict[str, tuple[str, str, int, dict[str, Any]]] = {
    "an answer": ("POST", "/v1/chat/completions", 200, {}),
    "the same again": ("POST", "/v1/chat/completions", 200, {}),
    "a stream": ("POST", "/v1/chat/completions", 200, {"stream": True, "stream_options": {"include_usage": True}}),
    "a number": ("POST", "/v1/chat/completions", 200, {"messages": asked(COUNT)}),
    "choices": ("POST", "/v1/chat/completions", 200, {"model": "v:consensus", "guided_choice": ["a", "b"]}),
    "free": ("POST", "/v1/chat/completions", 200, {"model": "v:free"}),
    "no such model": ("POST", "/v1/chat/completions", 404, {"model": "nowhere"}),
    "too dear": ("POST", "/v1/chat/completions", 402, {"messages": asked("Which one?"), "discreet": {"epsilon": 18}}),
    "no question": ("POST", "/v1/chat/completions", 400, {"messages": []}),
    "a price": ("POST", "/v1/estimate", 200, {}),
    "the price of a number": ("POST", "/v1/estimate", 200, {"messages": asked(COUNT)}),
    "models": ("GET", "/v1/models", 200, {}),
    "a model": ("GET", "/v1/models/{model}", 200, {"model": "v"}),
    "a request": ("POST", "/v1/budget/requests", 201, {"epsilon": 5, "reason": "More questions."}),
    "requests": ("GET", "/v1/budget/requests", 200, {}),
    "a budget": ("GET", "/v1/budget", 200, {}),
    "receipts": ("GET", "/v1/receipts", 200, {}),
    "receipts as lines": ("GET", "/v1/receipts", 200, {"accept": "application/x-ndjson"}),
    "no such receipt": ("GET", "/v1/receipts/{question_id}", 404, {"question_id": "0"}),
    "alive": ("GET", "/health/live", 200, {}),
    "ready": ("GET", "/health/ready", 200, {}),
}
"""Each kind of reply: what is sent to which route, and its status."""


def test_each_kind_of_reply_is_described(server: Server) -> None:
    secret = server.key(next(NAMES), epsilon=20.0, rate=(1000, 60.0), per_question=15.0)
    description, headers = read_description(server, secret), {"authorization": f"Bearer {secret}"}
    for name, (method, path, status, fields) in REPLIES.items():
        content = {"model": "v", "messages": asked(QUESTION)} | fields
        body = fields if "reason" in fields else content if method == "POST" else None
        accept = {"accept": fields["accept"]} if "accept" in fields else {}
        reply = httpx2.request(
            method, server.root + path.format(**fields), headers=headers | accept, timeout=60, json=body
        )
        assert reply.status_code == status, (name, reply.text)
        check_reply(description, method, path, reply)


def test_mcp_client_asks_estimates_and_reads_the_budget(server: Server) -> None:
    secret = server.key(next(NAMES))

    async def test() -> None:
        headers = {"authorization": f"Bearer {secret}"}
        async with httpx2.AsyncClient(headers=headers) as http:
            transport = streamable_http_client(f"{server.root}/mcp", http_client=http)
            async with Client(transport) as client:
                tools = {tool.name: tool for tool in (await client.list_tools()).tools}
                kinds = {"count", "share", "difference", "compare", "trend", "typical", "list", "themes"}
                assert set(tools) == {"ask", "describe", "estimate", "budget", *kinds}
                hints = tools["ask"].annotations
                assert hints is not None
                assert (hints.read_only_hint, hints.destructive_hint) == (False, True)
                question = {"question": "Which disease makes thumbs numb in winter?"}
                price = (await client.call_tool("estimate", question)).structured_content
                found = (await client.call_tool("ask", question)).structured_content
                assert price is not None
                assert found is not None
                assert is_answer(found["answer"])
                assert found["receipt"]["epsilon"] <= price["epsilon_most"] + 1e-9
                budget = (await client.call_tool("budget", {})).structured_content
                assert budget is not None
                assert budget["spent"] == pytest.approx(found["key"]["spent"])
                told = (await client.call_tool("describe", {})).structured_content
                assert told is not None
                assert [card["vault"] for card in told["vaults"]] == ["v"]
                assert told["vaults"][0]["models"][0]["epsilon_most"] > 0
                of = {"of": '"thumbs" or "cough"'}
                known = (await client.call_tool("estimate", {"question": f"count: {of['of']}"})).structured_content
                assert known is not None
                assert known["understood"] == 'count: "thumbs" or "cough" (in any notes)'
                counted = (await client.call_tool("count", of)).structured_content
                assert counted is not None
                assert counted["understood"] == 'count: "thumbs" or "cough"'
                unclear = await client.call_tool("count", {"of": '"thumbs'})
                assert unclear.is_error
                for name, arguments in (("ask", {}), ("ask", {"question": ""}), ("nothing", {})):
                    wrong = await client.call_tool(name, arguments)
                    assert wrong.is_error
                    assert wrong.structured_content is not None
                    assert wrong.structured_content["error"]["code"] == "invalid_request"

    asyncio.run(test())
    assert httpx2.post(f"{server.root}/mcp", json={}).status_code == 401


def test_front_writes_no_question_and_no_answer(server: Server) -> None:
    written = server.errors.read_text() + json.dumps(list(AuditLog(server.config.audit_log).lines()))
    assert '"route":"POST /v1/chat/completions"' in written
    for absent in ("thumb", "winterhand", "Traceback", "dsc_"):
        assert absent not in written


@pytest.mark.long
def test_client_that_times_out_finds_its_answer(tmp_path: Path) -> None:
    with serving(tmp_path, pause=True) as server:
        secret, text = server.key(), "Which disease makes thumbs numb slowly?"
        hasty = server.sdk(secret, timeout=0.5, max_retries=0)
        with pytest.raises(openai.APITimeoutError):
            hasty.chat.completions.create(model="v", messages=asked(text))
        wait_for(tmp_path / "begun")
        threading.Timer(0.5, (tmp_path / "go").touch).start()
        found = server.sdk(secret).chat.completions.create(model="v", messages=asked(text))
        assert is_answer(found.choices[0].message.content)
        assert server.begun() == 1


def test_front_that_is_killed_is_not_paid_twice(tmp_path: Path) -> None:
    with serving(tmp_path, pause=True) as server:
        secret, text = server.key(), "Which disease makes thumbs numb slowly?"
        with pytest.raises(openai.APITimeoutError):
            server.sdk(secret, timeout=0.5, max_retries=0).chat.completions.create(model="v", messages=asked(text))
        wait_for(tmp_path / "begun")
        (tmp_path / "go").touch()
        server.restart()
        with pytest.raises(openai.InternalServerError) as found:
            server.sdk(secret).chat.completions.create(model="v", messages=asked(text))
        assert found.value.code == "interrupted"
        assert server.begun() == 1
        other = server.sdk(secret).chat.completions.create(model="v", messages=asked(QUESTION))
        assert is_answer(other.choices[0].message.content)


@pytest.mark.long
def test_sigterm_answers_what_was_begun(tmp_path: Path) -> None:
    with serving(tmp_path, pause=True) as server:
        client, found = server.sdk(server.key()), list[Any]()
        text = asked("Which disease makes thumbs numb slowly?")
        thread = threading.Thread(target=lambda: found.append(client.chat.completions.create(model="v", messages=text)))
        thread.start()
        wait_for(tmp_path / "begun")
        server.process.send_signal(signal.SIGTERM)
        threading.Timer(0.5, (tmp_path / "go").touch).start()
        thread.join(30)
        assert is_answer(found[0].choices[0].message.content)
        assert server.process.wait(20) == 0

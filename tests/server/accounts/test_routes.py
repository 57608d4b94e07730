"""The routes of the accounts, behind a key that is given."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx2
import pytest
from fastapi import FastAPI
from starlette.requests import Request
from starlette.responses import JSONResponse

from discreet_server.accounts import Key
from discreet_server.audit_log import AuditLog
from discreet_server.front.errors import FrontError
from discreet_server.front.routes import current_key, own_routes, shared
from discreet_server.wire import UnitCharge
from tests.server.accounts.helpers import VAULT, Bank, pure

Send = Callable[..., httpx2.Response]


@pytest.fixture
def key(bank: Bank) -> Key:
    return bank.key(10.0, per_question=2.5, rate=(60, 60.0))


@pytest.fixture
def send(bank: Bank, key: Key, tmp_path: Path) -> Send:
    """Sends a request of the key."""
    app = FastAPI()
    prices = {VAULT: pure(2.5), f"{VAULT}:free": UnitCharge.nothing()}
    models = [
        SimpleNamespace(name=name, vault=SimpleNamespace(name=VAULT), model=SimpleNamespace(most=most))
        for name, most in prices.items()
    ]
    log = AuditLog(tmp_path / "audit.sqlite")
    app.include_router(own_routes)
    app.dependency_overrides[current_key] = lambda: key
    catalog = SimpleNamespace(loaded=True, all=lambda _: models)
    app.dependency_overrides[shared] = lambda: SimpleNamespace(accounts=bank.accounts, log=log, catalog=catalog)

    async def refuse(_: Request, error: Exception) -> JSONResponse:
        assert isinstance(error, FrontError)
        return JSONResponse(error.body().model_dump(), error.status)

    app.add_exception_handler(FrontError, refuse)

    async def go(method: str, path: str, **given: Any) -> httpx2.Response:
        transport = httpx2.ASGITransport(app=app)
        async with httpx2.AsyncClient(transport=transport, base_url="http://front") as client:
            return await client.request(method, path, **given)

    def sent(method: str, path: str, **given: Any) -> httpx2.Response:
        answer: Awaitable[httpx2.Response] = go(method, path, **given)
        return asyncio.run(answer)  # type: ignore[arg-type]

    return sent


def test_receipts_are_the_key_s_own(bank: Bank, key: Key, send: Send) -> None:
    own = []
    for _ in range(3):
        bank.ask(key, pure(1))
        own.append(bank.last)
    bank.ask(bank.key(), pure(1))
    page = send("GET", "/v1/receipts?limit=2").json()
    rest = send("GET", f"/v1/receipts?before={page['next_before']}").json()
    assert [one["question_id"] for one in page["data"] + rest["data"]] == own[::-1]
    assert rest["next_before"] is None
    lines = send("GET", "/v1/receipts", headers={"accept": "application/x-ndjson"}).text.splitlines()
    assert [json.loads(line) for line in lines] == page["data"] + rest["data"]
    assert send("GET", f"/v1/receipts/chatcmpl-{own[0]}").json()["question_id"] == own[0]
    assert send("GET", f"/v1/receipts/{bank.last}").status_code == 404


def test_sixth_pending_request_is_refused(send: Send) -> None:
    statuses = [send("POST", "/v1/budget/requests", json={"epsilon": 1, "reason": "x"}).status_code for _ in range(6)]
    assert statuses == [201] * 5 + [400]

"""A keeper without a vault, whose every move a test decides."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
from fastapi import FastAPI

from discreet.privacy.accounting import Budget, Spending
from discreet.privacy.costs import Pure
from discreet_server.accounts import Accounts, Key, Limits
from discreet_server.audit_log import AuditLog
from discreet_server.config import ServeConfig, ServedVault
from discreet_server.front.app import create_app
from discreet_server.front.services import Services
from discreet_server.sockets import KeeperGone
from discreet_server.wire import (
    Answered,
    Catalog,
    Catalogued,
    Condense,
    Condensed,
    Estimate,
    Estimated,
    Lane,
    ModelCard,
    Question,
    Readied,
    Ready,
    Refused,
    UnitCharge,
    VaultCard,
    decode,
    encode,
)
from tests.server.front.test_replies import INVENTED, UNRELEASED, answer

VAULTS = ("hospital", "clinic")
GRANT = Budget(20.0, 1e-6)
QUESTION = "What helps against winter hand?"
TITLE = "### Task:\nGenerate a title.\n### Chat History:\n<chat_history>\nUSER: Hello\n</chat_history>"
"""What open-webui asks for by itself, made short."""


def charge(epsilon: float) -> UnitCharge:
    return UnitCharge.of(Spending.of(Pure(epsilon)), GRANT)


class FakeKeeper:
    """Answers each question with what the test has set."""

    def __init__(self, price: float = 2.0) -> None:
        self.price, self.asked, self.free = price, list[Question](), False
        self.delay, self.estimating, self.estimated = 0.0, 0.0, 0
        self.stopped, self.understood = "end", ""
        self.refusal: Refused | None = None
        self.gone: list[bool] = []
        self.loaded = True
        self.crash: Exception | None = None
        self.condensed, self.condensings = "", list[Condense]()
        self.no_condensing: Refused | None = None
        self.gone_condensing = False
        self.payment = "unit"
        self.lane: Lane = "voters"
        self.longest: dict[Lane, float] = {"records": 0.01, "voters": 0.02}

    @property
    def paid(self) -> int:
        return len({question.id for question in self.asked if question.model != "free"})

    async def call(self, message: Any, patience: float | None = None) -> Any:
        """Reply by the method of the message's kind."""
        return await getattr(self, type(message).__name__.lower())(message)

    async def question(self, question: Question) -> Answered | Refused:
        assert decode(Question, encode(question)) == question
        if self.gone:
            raise KeeperGone(sent=self.gone.pop(0))
        self.asked.append(question)
        await asyncio.sleep(self.delay)
        if self.crash is not None:
            raise self.crash
        if self.refusal is not None:
            return self.refusal
        if question.model == "free":
            return Answered(UNRELEASED | {"text": INVENTED}, UnitCharge.nothing())
        text = question.choices[0] if question.choices else "winter hand"
        found = answer(answer=text, text=text, stopped=self.stopped)
        if self.stopped == "public":
            found |= {"answer": None, "text": INVENTED, "released": []}
        if self.understood:
            found |= {"understood": self.understood}
        return Answered(found, charge(self.price))

    async def estimate(self, asked: Estimate) -> Estimated | Refused:
        self.estimated += 1
        await asyncio.sleep(self.estimating)
        question = asked.question
        free = self.free or question.model == "free"
        return Estimated(UnitCharge.nothing() if question.model == "free" else charge(self.price), free, self.lane)

    async def condense(self, asked: Condense) -> Condensed | Refused:
        assert decode(Condense, encode(asked)) == asked
        if self.gone_condensing:
            raise KeeperGone(sent=True)
        self.condensings.append(asked)
        return self.no_condensing or Condensed(self.condensed)

    async def catalog(self, _: Catalog) -> Catalogued:
        if not self.loaded:
            raise KeeperGone(sent=False)
        models = (
            ModelCard("", "murag-ada", True, charge(self.price)),
            ModelCard("consensus", "consensus", True, charge(self.price)),
            ModelCard("free", "non-rag", False, UnitCharge.nothing()),
        )
        cards = (VaultCard(name, "patient", 20.0, 1e-6, self.payment, "en", models, self.longest) for name in VAULTS)
        return Catalogued(tuple(cards))

    async def ready(self, _: Ready) -> Readied:
        if not self.loaded:
            raise KeeperGone(sent=False)
        return Readied(True, True)


class Front:
    """An app over a fake keeper, with a client of it."""

    def __init__(self, folder: Path, keeper: FakeKeeper, quantum: float | None = 0.0, **settings: Any) -> None:
        self.keeper = keeper
        self.config = ServeConfig((ServedVault("hospital", "unused"),), str(folder), quantum=quantum, **settings)
        self.accounts, self.limits = Accounts(self.config.accounts), Limits(epsilon=10.0)
        for vault in VAULTS:
            self.accounts.grant(vault, GRANT)
        self.log = AuditLog(self.config.audit_log)
        self.app: FastAPI = create_app(Services(self.config, keeper, self.accounts, self.log))
        self.client = httpx2.AsyncClient(transport=httpx2.ASGITransport(self.app), base_url="http://test")

    def key(self, name: str = "ana", vault: str = "hospital", epsilon: float = 10.0, **limits: Any) -> tuple[Key, str]:
        footer = limits.pop("footer", False)
        return self.accounts.issue(name, [vault], Limits(epsilon=epsilon, **limits), footer=footer)

    async def ask(self, secret: str, headers: dict[str, str] | None = None, **fields: Any) -> httpx2.Response:
        body = {"model": "hospital", "messages": [{"role": "user", "content": QUESTION}], **fields}
        given = {"authorization": f"Bearer {secret}", **(headers or {})}
        return await self.client.post("/v1/chat/completions", json=body, headers=given, timeout=20)

    async def get(self, path: str, secret: str) -> httpx2.Response:
        return await self.client.get(path, headers={"authorization": f"Bearer {secret}"})


@asynccontextmanager
async def running(folder: Path, keeper: FakeKeeper, **settings: Any) -> AsyncIterator[Front]:
    front = Front(folder, keeper, **settings)
    async with front.app.router.lifespan_context(front.app), front.client:
        yield front
    front.accounts.close()


def drive(test: Callable[[], Any]) -> None:
    async def main() -> None:
        await asyncio.wait_for(test(), 60)

    asyncio.run(main())


def code(reply: httpx2.Response) -> tuple[int, str, str]:
    body = reply.json()
    assert set(body) == {"error", "discreet"}
    return reply.status_code, body["error"]["code"], reply.headers["x-should-retry"]


def receipt(reply: httpx2.Response) -> Any:
    assert reply.status_code == 200, reply.text
    return reply.json()["usage"]["discreet"]

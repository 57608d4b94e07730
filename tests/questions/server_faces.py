"""What a server and an adapter say of questions before payment: over HTTP, by MCP, and in this process."""

import asyncio
import io
from collections.abc import Iterable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import httpx2

from discreet.adapters import open_source
from discreet.models.toy import ToyModel
from discreet.privacy.accounting import Budget
from discreet.vault import Vault
from discreet_server.accounts import Accounts, Limits
from discreet_server.audit_log import AuditLog
from discreet_server.config import ServeConfig, ServedVault
from discreet_server.front.app import create_app
from discreet_server.front.services import Services
from discreet_server.keeper.answering import Answering
from discreet_server.keeper.hardening import KeeperLog
from discreet_server.wire import Ready, decode, encode

Said = tuple[str, float, str]
"""What is understood, the price, and the code of a refusal with its words."""


class NearKeeper:
    """A keeper in this process, with its own thread and with the messages of its socket."""

    def __init__(self, config: ServeConfig) -> None:
        self.log = io.StringIO()
        opened = lambda path: Vault.open(path, model=ToyModel())  # noqa: E731 - it is passed on
        self.answering = Answering(config, opened, KeeperLog(self.log), lambda: None)

    async def call(self, message: Any, patience: float | None = None) -> Any:
        """Return the reply, as it crosses the wall."""
        reply = await asyncio.to_thread(self.answering.reply, decode(type(message), encode(message)))
        return decode(type(reply), encode(reply))

    async def start(self) -> None:
        """Return when the vaults are open."""
        self.answering.start()
        while not (await self.call(Ready())).loaded:
            assert not self.answering.stopping, self.log.getvalue()
            await asyncio.sleep(0.02)


def of_body(body: dict[str, Any]) -> Said:
    """Return what the body of a reply says."""
    if error := body.get("error"):
        return "", 0.0, f"{error['code']} {error['message']}"
    return body["understood"], body["epsilon_most"], ""


def ask_server(path: Path, folder: Path, questions: Iterable[str]) -> dict[str, tuple[Said, Said]]:
    """Return what one server says of each question: over HTTP and by MCP."""
    return asyncio.run(_ask_server(path, folder, questions))


async def _ask_server(path: Path, folder: Path, questions: Iterable[str]) -> dict[str, tuple[Said, Said]]:
    config = ServeConfig((ServedVault("v", str(path)),), str(folder), quantum=0.0)
    keeper, accounts, found = NearKeeper(config), Accounts(config.accounts), {}
    accounts.grant("v", Budget(20.0, 1e-6))
    _, secret = accounts.issue("ana", ["v"], Limits(epsilon=20.0))
    headers = {"authorization": f"Bearer {secret}", "accept": "application/json, text/event-stream"}
    app = create_app(Services(config, keeper, accounts, AuditLog(config.audit_log)))
    async with AsyncExitStack() as stack:
        await keeper.start()
        stack.callback(accounts.close)
        stack.callback(keeper.answering.stop)
        await stack.enter_async_context(app.router.lifespan_context(app))
        at: dict[str, Any] = {"base_url": "http://test", "headers": headers, "timeout": 60}
        client = await stack.enter_async_context(httpx2.AsyncClient(transport=httpx2.ASGITransport(app), **at))
        for asked in questions:
            body: dict[str, Any] = {"model": "v", "messages": [{"role": "user", "content": asked}]}
            http = await client.post("/v1/estimate", json=body)
            tool = {"name": "estimate", "arguments": {"question": asked}}
            mcp = await client.post("/mcp", json={"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": tool})
            found[asked] = of_body(http.json()), of_body(mcp.json()["result"]["structuredContent"])
    return found


def ask_adapter(path: Path, questions: Iterable[str]) -> dict[str, Said]:
    """Return what the source of the adapters says of each question."""
    source, found = open_source(path), {}
    for asked in questions:
        reply = source.estimate(asked)
        refused = f"{reply.code} {reply.text.removeprefix('No answer: ')}" if reply.status == "refused" else ""
        price = 0.0 if refused else reply.metadata["asked"]
        found[asked] = (reply.metadata["understood"] or "", price, refused)
    return found

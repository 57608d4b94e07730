"""The server as an audit: two neighbouring vaults, each behind a front and a keeper, and what an analyst sees of each.

A draw is a round of requests whose transcript has statuses, codes, prices, `free`, headers, the queue, and the tick of
the clock at which each reply left. What an answer says is left out: it has noise, which other audits look at. What is
left follows from public values, so the claim is the price of the round, which is small.

The clock is one of the audit: the model takes the seconds that a case names, and all else takes none. So transcripts
are alike on a busy machine, too. What real clocks show is measured by the experiment `side-channels`.
"""

import asyncio
import os
import selectors
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

import httpx2

from discreet.models.toy import ToyModel
from discreet.privacy.noise import Noise
from discreet.registry import Count
from discreet.store.documents import Document
from discreet.vault import Vault
from discreet_lab.attacks.rates import Key
from discreet_lab.audit.case import ProgressCallback
from discreet_server.accounts import Accounts, Limits
from discreet_server.audit_log import AuditLog
from discreet_server.config import PresetConfig, ServeConfig, ServedVault
from discreet_server.front.app import create_app
from discreet_server.front.asking import Estimator
from discreet_server.front.pacing import TICK, Pacer, Queue, Ticket
from discreet_server.front.services import Services
from discreet_server.keeper.answering import Answering
from discreet_server.keeper.hardening import KeeperLog
from discreet_server.wire import Estimate, Estimated, Question, Refused

ROUNDS = 24
"""Draws of each input by default: a transcript is the same each time, unless something shows."""
QUANTUM, SENT = 0.4, 0.1
"""Seconds: the quantum of the server, and until further requests follow the question of the model."""
SHORT, LONG = 0.01, 0.19
"""Seconds that the model takes without and with the marker: no longer than the half of the quantum."""
PRICE, OF_LIST, UNITS, GRANT = 0.01, 0.2, 30, 20.0
"""A cheaper list draws noise for seconds."""
MARKER = "lingering"
"""A word that stands in no document of the smaller vault."""
CHOICES = ("winterhand", "flu")
HEADERS = ("retry-after", "x-should-retry", "x-discreet-epsilon", "x-discreet-key-left")
USUAL = "My thumbs are numb, I have asthma. say: winterhand ."


_LEAST = 1e-9
"""Seconds by which the clock moves at least: less may be lost in its rounding, and who waits would wait for ever."""


class _Loop(asyncio.SelectorEventLoop):
    """An event loop whose clock moves on when nothing is left to do: work takes no time, and waiting takes no work."""

    def __init__(self) -> None:
        super().__init__(selector := _Selector())
        selector.loop = self
        self.now, self.working = 0.0, 0

    def time(self) -> float:
        """Return the time of the clock."""
        return self.now

    def call_later(self, delay: float, *what: Any, **how: Any) -> asyncio.TimerHandle:  # type: ignore[override]
        """Call something after a while: at a moment that differs from now."""
        return super().call_later(max(delay, _LEAST), *what, **how)

    def run_in_executor(self, *work: Any) -> Any:  # type: ignore[override]
        """Begin work in a thread; until it is done, the clock stands."""
        self.working += 1
        future = super().run_in_executor(*work)
        future.add_done_callback(lambda _: setattr(self, "working", self.working - 1))
        return future


class _Selector(selectors.SelectSelector):
    loop: _Loop

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        """Wait for a thread; if none works, move the clock."""
        if self.loop.working and timeout != 0:
            return super().select(None)
        self.loop.now += timeout or 0.0
        return super().select(0)


@dataclass(frozen=True)
class ServerCase:
    """Two neighbouring vaults that are served. The second one has one more individual.

    Attributes:
        name: what is looked at.
        inputs: the difference.
        text: the text of the individual.
        field: its value of a declared field.
        took: seconds of an answer of the model with the individual.
        change: what happens to both vaults before they are served.
        broken: gives a server that is broken on purpose during its block; None for a sound one.
    """

    name: str
    inputs: str
    text: str = USUAL
    field: str = "usual"
    took: float = SHORT
    change: Callable[[Vault], object] = lambda _: None
    broken: Callable[[], Any] | None = None
    draws: int = ROUNDS

    @property
    def claim(self) -> tuple[float, float]:
        """What the answers of a round cost."""
        return 2 * PRICE + OF_LIST, 0.0

    def sample(self, draws: int, noise: Noise, on_progress: ProgressCallback) -> tuple[Sequence[Key], Sequence[Key]]:
        """Return the transcripts of so many rounds with each of the two vaults. The noise is the server's own."""
        folder, runner = tempfile.TemporaryDirectory(prefix="d-"), asyncio.Runner(loop_factory=_Loop)
        with folder as temporary, (self.broken or _sound)(), runner:
            return runner.run(self._run(Path(temporary), draws, on_progress))

    async def _run(self, folder: Path, draws: int, on_progress: ProgressCallback) -> tuple[list[Key], list[Key]]:
        found: tuple[list[Key], list[Key]] = ([], [])
        async with AsyncExitStack() as stack:
            clients = [
                await stack.enter_async_context(_serving(self._make(folder / side, one_more=bool(took)), took or SHORT))
                for side, took in (("v", 0.0), ("w", self.took))
            ]
            for number in range(draws):
                for own, client in zip(found, clients, strict=True):
                    own.append(await client.round(number))
                on_progress(len(clients))
        return found

    def _make(self, path: Path, *, one_more: bool) -> Path:
        vault = Vault.create(
            path, epsilon=GRANT, delta=1e-6, unit_field="patient", embedder="hashing", fields={"kind": "category"}
        )
        units = [(f"p{number}", USUAL, "usual") for number in range(UNITS)]
        units += [("marked", self.text, self.field)] if one_more else []
        vault.add_documents(Document(f"d-{name}", name, text, fields={"kind": kind}) for name, text, kind in units)
        self.change(vault)
        vault.store.close()
        return path


class _Inside:
    """The keeper of a front in the same process. The model takes a time of the clock, and all else takes none."""

    def __init__(self, answering: Answering, took: float) -> None:
        self._answering, self._took = answering, took

    async def call(self, message: Any, patience: float | None = None) -> Any:
        """Return the reply to a message."""
        if isinstance(message, Question) and message.lane == "voters":
            await asyncio.sleep(self._took)
        return await asyncio.to_thread(self._answering.reply, message)


@asynccontextmanager
async def _serving(path: Path, took: float) -> AsyncIterator["_Client"]:
    cheap = PresetConfig("cheap", "consensus", {"choices": CHOICES, "epsilon": PRICE})
    config = ServeConfig(
        (ServedVault("v", str(path)),), f"{path}.server", quantum=QUANTUM, presets=(cheap,), models=("free",)
    )
    clock = asyncio.get_running_loop().time
    with open(os.devnull, "w", encoding="utf-8") as nowhere:
        model = ToyModel(default="yes")
        answering = Answering(config, lambda own: Vault.open(own, model=model), KeeperLog(nowhere), on_end=lambda: None)
        answering.start()
        await asyncio.to_thread(answering.wait_loaded)
        accounts = Accounts(config.accounts)
        accounts.grant("v", Vault.open(path).ledger.budget)
        secrets = [accounts.issue(name, ["v"], Limits(epsilon=GRANT))[1] for name in ("ana", "ben")]
        app = create_app(Services(config, _Inside(answering, took), accounts, AuditLog(config.audit_log), clock))
        async with (
            app.router.lifespan_context(app),
            httpx2.AsyncClient(transport=httpx2.ASGITransport(app), base_url="http://test") as client,
        ):
            yield _Client(client, secrets, app.state.services.asker.queue)
        await asyncio.to_thread(answering.stop)
        accounts.close()


class _Client:
    """Two analysts, of whom one watches the other."""

    def __init__(self, client: httpx2.AsyncClient, secrets: Sequence[str], queue: Queue) -> None:
        self._client, (self._ana, self._ben), self._queue, self._begun = client, secrets, queue, 0.0

    async def round(self, number: int) -> tuple[Key, ...]:
        """Return the transcript of a round: requests before, beside and after a question of the model."""
        self._begun = _now()
        question = f"Which disease makes thumbs numb in case {number}?"
        statistic = f'count: "asthma", among "thumbs" and not "case {number}"'
        beside = asyncio.gather(
            self._chat(self._ana, question, model="v:cheap"),
            self._chat(self._ana, "Which is the most important disease?"),
            self._chat(self._ben, question, model="v:nothing"),
            self._later(SENT, lambda: self._chat(self._ben, statistic, discreet={"epsilon": PRICE})),
            self._later(SENT, lambda: self._estimate(question)),
            self._later(SENT, lambda: self._get("/v1/receipts?limit=1")),
        )
        await asyncio.sleep(1.5 * SENT)
        waiting = self._queue.waiting
        seen = await beside
        after = await self._estimate(question), await self._chat(self._ana, question, model="v:cheap")
        listed = await self._chat(self._ana, "list: kind", discreet={"epsilon": OF_LIST, "anew": True})
        return (waiting, *seen, *after, listed, await self._get("/v1/budget"))

    async def _later(self, seconds: float, ask: Callable[[], Any]) -> Key:
        await asyncio.sleep(seconds)
        return await ask()  # type: ignore[no-any-return]

    async def _chat(self, secret: str, question: str, model: str = "v", **fields: Any) -> Key:
        body = {"model": model, "messages": [{"role": "user", "content": question}], **fields}
        reply = await self._client.post("/v1/chat/completions", json=body, headers=_signed(secret))
        told = reply.json()
        shown = told["error"]["code"] if "error" in told else told["usage"]["discreet"]["replayed"]
        return (self._tick(), reply.status_code, shown, *(reply.headers.get(name) for name in HEADERS))

    async def _estimate(self, question: str) -> Key:
        body = {"model": "v:cheap", "messages": [{"role": "user", "content": question}]}
        reply = await self._client.post("/v1/estimate", json=body, headers=_signed(self._ben))
        told = reply.json()
        return self._tick(), reply.status_code, *(told.get(name) for name in ("epsilon_most", "free", "fits"))

    async def _get(self, path: str) -> Key:
        reply = await self._client.get(path, headers=_signed(self._ana))
        told = reply.json()
        settled = [one["settled"] for one in told.get("data", ())]
        return reply.status_code, *settled, told.get("spent"), told.get("left")

    def _tick(self) -> int:
        return round((_now() - self._begun) / TICK)


def _now() -> float:
    return asyncio.get_running_loop().time()


def _signed(secret: str) -> dict[str, str]:
    return {"authorization": f"Bearer {secret}"}


def _use_up(vault: Vault) -> None:
    """Have the individual pay nearly all of its grant, if it is there."""
    vault.ask("How many?", Count(condition="asthma", population=MARKER, epsilon=0.98 * GRANT))


_MARKED = f"{USUAL} {MARKER}"
_SLOW = "an answer takes longer with the individual"
CASES = {
    one.name: one
    for one in (
        ServerCase("slow", _SLOW, took=LONG),
        ServerCase(
            "unusual", "its values occur once", text="\u202eÅ\u0000 " * 50 + _MARKED, field="\u202e" + "x" * 150
        ),
        ServerCase("exhausted", "it has used up its grant", text=_MARKED, change=_use_up),
        ServerCase("erased", "it was erased", text=_MARKED, change=lambda vault: vault.remove_unit("marked")),
    )
}


# --- broken twins -----------------------------------------------------------------------------------------------------


@contextmanager
def _sound() -> Iterator[None]:
    yield


def _patched(owner: type, name: str, broken: Callable[..., Any]) -> Callable[[], Any]:
    return lambda: patch.object(owner, name, broken)


async def _at_once(self: Pacer, arrival: Any) -> int:
    """BROKEN: a reply leaves when it is ready."""
    return 1


_wait = Queue.wait


async def _without_spacing(self: Queue, ticket: Ticket, spacing: float = 0.0) -> None:
    """BROKEN: the next question starts when the one before it ends."""
    await _wait(self, ticket, 0.0)


async def _see_the_air(self: Estimator, _: str, question: Question) -> Estimated | Refused:
    """BROKEN: an estimate knows the answers that have not left."""
    return await self._keeper.call(Estimate(question))


TWINS = tuple(
    ServerCase(name, _SLOW, took=LONG, broken=broken)
    for name, broken in (
        ("replies leave when they are ready", _patched(Pacer, "until_due", _at_once)),
        ("a turn follows the end of an answer", _patched(Queue, "wait", _without_spacing)),
        ("estimates know what is in the air", _patched(Estimator, "_ask", _see_the_air)),
    )
)
"""Broken servers, over the vaults in which the mistake of each shows."""

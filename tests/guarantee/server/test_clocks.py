"""What a clock tells of an answer that is in the air, over two neighbouring vaults with answers of different times."""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from discreet.errors import DiscreetError
from discreet.models.toy import ToyModel
from discreet.query.answer_cache import list_releases
from discreet.query.execution import AT_ONCE, Pace
from discreet.registry import Count
from discreet.store.documents import Document
from discreet.system.words import essence
from discreet.vault import Vault
from discreet_server.accounts import Accounts, Limits
from discreet_server.audit_log import AuditLog
from discreet_server.config import ServeConfig, ServedVault
from discreet_server.front.asking import Asker, Estimator
from discreet_server.front.catalog import CatalogCache
from discreet_server.front.errors import FrontError
from discreet_server.front.pacing import Pacer, Queue, Ticket
from discreet_server.front.requests import ChatRequest, parse_chat
from discreet_server.keeper.answering import refusal
from discreet_server.keeper.served import Served
from discreet_server.wire import (
    Answered,
    Catalog,
    Catalogued,
    Condense,
    Condensed,
    Estimate,
    Estimated,
    Question,
    Readied,
    Ready,
    Refused,
)

QUANTUM, STEP = 2.0, 0.25
NEIGHBOURS = ((40, 0.125), (41, 1.375))
"""Units with the words, and the seconds that the answer takes."""
UNITS = 60
BEGUN = 1_772_359_379.0
"""2026-03-01 10:02:59 UTC: the first answer is ready in this minute, and the second in the next."""
MINUTE = "2026-03-01T10:03+00:00"
CASES: dict[str, tuple[dict[str, Any], dict[str, Any], list[dict[str, Any]]]] = {
    "statistic": (
        {"epsilon": 20.0},
        {"question": "What share of patients have asthma?"},
        [
            {"question": "WHAT share of patients has asthma?"},
            {"question": "What percentage of patients do not have asthma?"},  # in other words
            {"question": "How many patients have asthma?"},  # follows from the share
            {"question": "How many patients do not have asthma?"},
            {"question": "How many patients have fever?"},
        ],
    ),
    "unable": (
        {"epsilon": 10.0, "asked_before": True},
        {"question": "How many patients have numb thumbs?", "epsilon": 2.5},
        [
            {"question": "How many patients have numb thumbs?", "epsilon": 2.5},
            {"question": "What share of patients with asthma have fever?", "epsilon": 2.5},
        ],
    ),
    "balance": (
        {"epsilon": 3.0, "payment": "corpus"},
        {"question": "Which disease makes thumbs numb?", "epsilon": 2.0},
        [
            {"question": "Which disease makes thumbs numb?", "epsilon": 2.0},
            {"question": "Which disease makes toes blue?", "epsilon": 2.0},
        ],
    ),
}
ASKED_BEFORE = ("asthma", "thumbs", "well")
"""Each for a quarter of the grant: a fourth one leaves units that cannot pay for a fifth."""
Transcript = list[tuple[float, str, tuple[object, ...]]]


class Clock:
    """A clock that moves when the test moves it."""

    def __init__(self) -> None:
        self.now, self._sleeping, self._runs = 0.0, list[tuple[float, asyncio.Future[None]]](), False

    def __call__(self) -> float:
        return self.now

    def wall(self) -> float:
        return BEGUN + self.now

    async def sleep(self, seconds: float) -> None:
        if self._runs:
            self.now += seconds
            return
        done = asyncio.get_running_loop().create_future()
        self._sleeping.append((self.now + seconds, done))
        await done

    def has_sleeper(self, due: float) -> bool:
        return any(found == pytest.approx(due) and not done.done() for found, done in self._sleeping)

    async def move_to(self, moment: float) -> None:
        """Wake what sleeps until this moment or a former one."""
        self.now = moment
        for due, done in self._sleeping:
            if due <= moment and not done.done():
                done.set_result(None)
        await asyncio.sleep(0)

    async def run_on(self) -> None:
        """Let nothing wait any more: the test has ended."""
        self._runs = True
        await self.move_to(self.now + 1000)


class KeeperInside:
    """A keeper in this process. The first answer is ready when it has taken its time."""

    def __init__(self, served: Served, clock: Clock, took: float) -> None:
        self.served, self._clock = served, clock
        self.took, self.answered, self.first = took, 0, True

    async def call(self, message: Any, patience: float | None = None) -> Any:
        """Reply by the method of the message's kind."""
        return await getattr(self, type(message).__name__.lower())(message)

    async def question(self, question: Question) -> Answered | Refused:
        first, self.first = self.first, False
        if first:
            await self._clock.sleep(self.took)
        try:
            return self.served.answer(question)
        except DiscreetError as error:
            return refusal(error)
        finally:
            self.answered += 1

    async def estimate(self, asked: Estimate) -> Estimated | Refused:
        try:
            return self.served.estimate(asked.question, asked.air)
        except DiscreetError as error:
            return refusal(error)

    async def condense(self, asked: Condense) -> Condensed | Refused:
        raise NotImplementedError

    async def catalog(self, _: Catalog) -> Catalogued:
        return Catalogued((self.served.card(),))

    async def ready(self, _: Ready) -> Readied:
        return Readied(True, True)


class Run:
    """A front and a keeper over one of the neighbours, with two keys."""

    def __init__(self, folder: Path, units: int, took: float, *, asked_before: bool = False, **how: Any) -> None:
        given: dict[str, Any] = {"delta": 1e-6, "unit_field": "patient", "embedder": "hashing"} | how
        self.vault = Vault.create(folder / "v", **given)
        texts = ["My thumbs are numb, I have asthma. say: winterhand ."] * units + ["I am well."] * (UNITS - units)
        self.vault.add_documents(Document(f"d{number}", f"p{number}", text) for number, text in enumerate(texts))
        self.config = ServeConfig((ServedVault("v", str(self.vault.path)),), str(folder / "s"), quantum=QUANTUM)
        if asked_before:
            for word in ASKED_BEFORE:
                self.vault.ask("How many?", Count(condition=word, epsilon=2.5))
        served = Served(self.config.vaults[0], self.config, lambda path: Vault.open(path, model=ToyModel("yes")))
        self.clock = Clock()
        self.keeper = KeeperInside(served, self.clock, took)
        self.accounts = Accounts(self.config.accounts)
        self.accounts.grant("v", self.vault.ledger.budget)
        self.keys = [self.accounts.issue(name, ["v"], Limits(epsilon=100.0))[0] for name in ("ana", "ben")]
        pacer = Pacer(QUANTUM, self.clock, self.clock.sleep)
        self.catalog = CatalogCache(self.keeper, lambda _: None)
        log = AuditLog(self.config.audit_log)
        queue = Queue(clock=self.clock, sleep=self.clock.sleep)
        self.asker = Asker(self.keeper, self.accounts, log, self.catalog, queue, pacer)

    async def estimate(self, probe: dict[str, Any]) -> tuple[object, ...]:
        try:
            found = await self.asker.estimate(self.asker.prepare(self.keys[1], request(**probe)))
        except FrontError as error:
            return error.code, error.left, error.would_fit
        return found.free, found.most

    async def answer(self, asked: dict[str, Any]) -> tuple[str, object]:
        try:
            found = await (await self.asker.begin(self.keys[1], request(**asked))).outcome()
        except FrontError as error:
            return error.code, error.left
        # Most units may be missing: some 50 of 60 if the question before it has paid, and 26 if it has not.
        return "answered", found.answer.get("unable", 0) >= 2 * UNITS / 3

    async def look(self, probes: list[dict[str, Any]]) -> Transcript:
        return [(self.clock.now, probe["question"], await self.estimate(probe)) for probe in probes]

    async def sleeps_until(self, due: float) -> None:
        await happens(lambda: self.clock.has_sleeper(due))


def request(question: str, epsilon: float | None = None) -> ChatRequest:
    told = {} if epsilon is None else {"discreet": {"epsilon": epsilon}}
    body = {"model": "v", "messages": [{"role": "user", "content": question}], **told}
    return parse_chat(json.dumps(body).encode())


async def happens(what: Callable[[], bool]) -> None:
    for _ in range(4000):
        if what():
            return
        await asyncio.sleep(0.005)
    raise AssertionError("It did not happen within 20 seconds.")


@asynccontextmanager
async def flying(run: Run, asked: dict[str, Any]) -> AsyncIterator[asyncio.Task[Any]]:
    """Ask a question of the first key, and yield when the keeper has it."""
    await run.catalog.read()
    boarding = await run.asker.begin(run.keys[0], request(**asked))
    outcome = asyncio.create_task(boarding.outcome())
    try:
        await run.sleeps_until(run.keeper.took)
        yield outcome
    finally:
        await run.clock.run_on()
        await run.asker.flights.drain()
        run.accounts.close()


async def observe(run: Run, asked: dict[str, Any], probes: list[dict[str, Any]]) -> tuple[Transcript, Transcript]:
    """Return what the second key sees in estimates while the question is in the air, and then."""
    seen: Transcript = []
    async with flying(run, asked) as outcome:
        for number in range(1, 8):
            await run.clock.move_to(number * STEP)
            if number * STEP >= run.keeper.took:
                await run.sleeps_until(QUANTUM)  # it is ready
            seen += await run.look(probes)
        assert run.keeper.answered == 1
        assert not outcome.done()
        await run.clock.move_to(QUANTUM)
        await outcome
        return seen, await run.look(probes)


async def moments(run: Run, asked: dict[str, Any], _: list[dict[str, Any]]) -> list[str]:
    """Return the moments of a release in all places that have one: its repeat, the history, the ledger's listing."""
    async with flying(run, asked) as outcome:
        await run.clock.move_to(run.keeper.took)
        await run.sleeps_until(QUANTUM)
        await run.clock.move_to(QUANTUM)
        await outcome
        again = await run.asker.begin(run.keys[1], request(**asked))
        repeated = asyncio.create_task(again.outcome())
        await run.sleeps_until(QUANTUM + QUANTUM)
        await run.clock.move_to(QUANTUM + QUANTUM)
        history = run.vault.history
        in_file = json.loads((run.vault.path / "history.jsonl").read_text().split("\n")[1])["time"]
        return [*(await repeated).answer["released_at"], in_file, *(one.time for one in list_releases(history))]


def both(folder: Path, case: str, act: Callable[..., Any]) -> list[Any]:
    """Return what happens with each of the neighbours."""
    how, asked, probes = CASES[case]
    found = []
    for number, (units, took) in enumerate(NEIGHBOURS):
        (folder / str(number)).mkdir()
        run = Run(folder / str(number), units, took, **how)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(time, "time", run.clock.wall)
            found.append(asyncio.run(act(run, asked, probes)))
    return found


@pytest.mark.parametrize("case", CASES)
def test_estimates_tell_no_time_of_an_answer(tmp_path: Path, case: str) -> None:
    one, other = both(tmp_path, case, observe)
    assert one == other
    in_the_air, landed = one
    assert {seen[0] for _, _, seen in in_the_air} == {False}
    told = [seen[0] for _, _, seen in landed]
    if case == "unable":
        assert told == [True, "vault_budget_exhausted"]
        return
    assert told == ([True] * 4 + [False] if case == "statistic" else [True, "vault_budget_exhausted"])


async def estimate_by_words(self: Estimator, _: str, question: Question) -> Estimated | Refused:
    """Look at what the keeper knows, and call nothing free that is asked in the same words."""
    found = await self._keeper.call(Estimate(question))
    over = (one.question.question for one in self._flights._flights.values())
    same = any(essence(one) == essence(question.question) for one in over)
    return replace(found, free=False) if same and isinstance(found, Estimated) else found


@pytest.mark.parametrize("case", CASES)
def test_estimate_that_compares_words_is_caught(tmp_path: Path, case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Estimator, "_ask", estimate_by_words)
    (one, _), (other, _) = both(tmp_path, case, observe)
    assert one != other


def test_moment_of_a_repeat_is_the_minute_in_which_it_left(tmp_path: Path) -> None:
    assert both(tmp_path, "statistic", moments) == [[MINUTE] * 3] * 2


def test_moment_kept_when_the_answer_is_ready_is_caught(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    minute = Pace.minute
    monkeypatch.setattr(Pace, "minute", lambda _: minute(AT_ONCE))
    one, other = both(tmp_path, "statistic", moments)
    assert one != other


LANES_ASKED = ({"question": "Which disease makes thumbs numb?", "epsilon": 2.5}, CASES["unable"][2][0])
"""A question of the model, and a statistic that not all units can pay beside it."""
SENT = 0.25
"""When the second one is sent: one of the neighbours has answered the first one, and the other one has not."""


async def second(run: Run, asked: dict[str, Any], probes: list[dict[str, Any]]) -> tuple[float, str, object]:
    """Send a statistic while the model answers. Return when its reply comes, and what the reply says."""
    first, statistic = LANES_ASKED
    run.keeper.took = min(run.keeper.took, QUANTUM / 2 - 0.125)  # no longer than what was measured
    async with flying(run, first):
        await run.clock.move_to(SENT)
        if run.keeper.took < SENT:
            await run.sleeps_until(QUANTUM)
        reply = asyncio.create_task(run.answer(statistic))
        while not reply.done():
            await asyncio.sleep(0.1)  # what has begun ends, if it waits for no later moment
            if (moment := run.clock.now + 0.125) > 3 * QUANTUM:
                raise AssertionError("It has no reply.")
            await run.clock.move_to(moment)
        return run.clock.now, *reply.result()


def test_one_lane_shows_nothing_of_the_work_of_the_other(tmp_path: Path) -> None:
    one, other = both(tmp_path, "unable", second)
    assert one == other
    assert one[1:] == ("answered", True)  # the question before it has paid


class Beside(Queue):
    """Two lanes that run beside each other."""

    async def wait(self, ticket: Ticket, spacing: float = 0.0) -> None:
        return


def test_lanes_beside_each_other_are_caught(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.guarantee.server.test_clocks.Queue", Beside)
    one, other = both(tmp_path, "unable", second)
    assert {one[1:], other[1:]} == {("answered", True), ("answered", False)}

import asyncio
import json
import time
from collections.abc import Awaitable, Callable
from itertools import pairwise
from pathlib import Path

import pytest

from discreet_lab.audit.server import _Loop
from discreet_server.front.errors import FrontError
from discreet_server.front.pacing import Queue, Ticket
from discreet_server.front.requests import parse_chat
from discreet_server.front.services import Services
from discreet_server.wire import Answered, Question, Readied, Ready, Refused
from tests.server.front.fakes import QUESTION, FakeKeeper, Front


def run(test: Callable[[], Awaitable[None]]) -> None:
    async def main() -> None:
        await asyncio.wait_for(test(), 10)

    asyncio.run(main())


async def turns(queue: Queue, keys: str) -> list[str]:
    """Return the order in which one question for each letter is called, each a moment after the other."""
    order: list[str] = []

    async def ask(ticket: Ticket) -> None:
        try:
            await queue.wait(ticket)
            order.append(ticket.key_id)
            await asyncio.sleep(0)
        finally:
            queue.leave(ticket)

    await asyncio.gather(*(ask(queue.enter(key)) for key in keys))
    return order


def test_queue_calls_one_key_after_the_other() -> None:
    async def test() -> None:
        assert await turns(Queue(), "aaaaabbc") == list("abcabaaa")

    run(test)


def test_queue_is_full() -> None:
    async def test() -> None:
        queue = Queue(waiting=3, share=3)
        tickets = [queue.enter(key) for key in "abc"]
        with pytest.raises(FrontError, match="queue_full"):
            queue.enter("d")
        queue.leave(tickets[0])
        assert queue.waiting == 2
        queue.enter("d")

    run(test)


def test_queue_leaves_room_for_other_keys() -> None:
    async def test() -> None:
        queue = Queue(waiting=8, share=4)
        for _ in range(4):
            queue.enter("a")
        with pytest.raises(FrontError):
            queue.enter("a")
        queue.enter("b")

    run(test)


def test_a_short_question_goes_before_a_long_one_that_has_not_waited_long() -> None:
    async def test() -> None:
        queue, order, now = Queue(clock=lambda: now), list[str](), 0.0

        async def ask(key: str, spacing: float) -> None:
            ticket = queue.enter(key)
            await queue.wait(ticket, spacing)
            order.append(key)

        first = queue.enter("first")
        await queue.wait(first)
        tasks = [asyncio.create_task(ask(key, spacing)) for key, spacing in (("long", 30.0), ("short", 0.5))]
        await asyncio.sleep(0)
        queue.leave(first)
        await asyncio.sleep(0)
        assert order == ["short"]
        tasks.append(asyncio.create_task(ask("late", 0.5)))
        await asyncio.sleep(0)
        now = 31.0  # both have waited for their own spacing
        assert queue.running is not None
        queue.leave(queue.running)
        now = 40.0
        queue.leave(queue.enter("nobody"))
        await asyncio.sleep(0)
        assert order == ["short", "long"]
        for task in tasks:
            task.cancel()

    run(test)


def test_full_queue_says_when_the_next_question_starts() -> None:
    async def test() -> None:
        queue = Queue(waiting=1, clock=lambda: 100.0)
        await queue.wait(queue.enter("a"), 7.3)
        queue.enter("b")
        with pytest.raises(FrontError) as refused:
            queue.enter("c")
        assert refused.value.headers()["retry-after"] == "8"

    run(test)


def test_queue_passes_over_a_question_that_is_not_reserved() -> None:
    async def test() -> None:
        queue = Queue()
        slow, fast = queue.enter("a"), queue.enter("b")
        await asyncio.wait_for(queue.wait(fast), 1)
        queue.leave(slow)
        queue.leave(fast)
        assert (queue.waiting, queue.running) == (0, None)

    run(test)


def test_queue_forgets_a_question_that_was_cancelled() -> None:
    async def test() -> None:
        queue = Queue()
        first, second = queue.enter("a"), queue.enter("a")
        await queue.wait(first)
        task = asyncio.create_task(queue.wait(second))
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        queue.leave(second)
        queue.leave(first)
        assert (queue.waiting, queue.running) == (0, None)

    run(test)


def test_queue_starts_questions_at_a_distance() -> None:
    async def test() -> None:
        queue, clock, starts = Queue(), asyncio.get_running_loop().time, list[float]()

        async def ask(key: str, takes: float) -> None:
            ticket = queue.enter(key)
            await queue.wait(ticket, 0.1)
            starts.append(clock())
            await asyncio.sleep(takes)
            queue.leave(ticket)

        await asyncio.gather(ask("a", 0.0), ask("b", 0.09), ask("c", 0.02))
        assert all(later - earlier > 0.09 for earlier, later in pairwise(starts))

    run(test)


def test_end_of_a_long_question_starts_no_other() -> None:
    async def test() -> None:
        queue, clock, starts = Queue(), asyncio.get_running_loop().time, list[float]()

        async def ask(key: str, takes: float) -> None:
            ticket = queue.enter(key)
            await queue.wait(ticket, 0.2)
            starts.append(clock())
            await asyncio.sleep(takes)
            queue.leave(ticket)

        await asyncio.gather(ask("a", 0.25), ask("b", 0.0))
        assert 0.39 < starts[1] - starts[0] < 0.5

    run(test)


def test_a_front_that_starts_again_waits_for_the_answer_that_the_keeper_still_makes(tmp_path: Path) -> None:
    """Else its first reply would tell when that one ended. A front that left none waits for nothing."""

    async def taken(folder: Path, *, resumed: bool) -> float:
        front = Front(folder, FakeKeeper(), quantum=1.0)
        services = Services(front.config, front.keeper, front.accounts, front.log, resumed=resumed)
        queue, begun = services.asker.queue, time.monotonic()
        assert await services.catalog.read()
        await queue.wait(queue.enter("ana"), 0.1)
        return time.monotonic() - begun

    async def test() -> None:
        assert await taken(tmp_path / "first", resumed=False) < 0.4
        assert await taken(tmp_path / "again", resumed=True) >= 0.5

    run(test)


class BusyKeeper(FakeKeeper):
    """Still makes an answer to a front that is gone."""

    def __init__(self, took: float) -> None:
        super().__init__()
        self.lane, self.longest, self._ends = "records", {"records": 0.01, "voters": 0.45}, took

    async def ends(self) -> None:
        await asyncio.sleep(max(0.0, self._ends - asyncio.get_running_loop().time()))

    async def ready(self, asked: Ready) -> Readied:
        if asked.idle:
            await self.ends()
        return Readied(True, True)

    async def question(self, question: Question) -> Answered | Refused:
        await self.ends()
        return await super().question(question)


class HastyKeeper(BusyKeeper):
    """BROKEN: says that it has answered everything, and has not."""

    async def ready(self, asked: Ready) -> Readied:
        return Readied(True, True)


def first_reply_of_a_front(folder: Path, keeper: BusyKeeper) -> float:
    """Return when the first reply of a front that starts again leaves, on a clock that work does not move."""

    async def main() -> float:
        front, clock = Front(folder, keeper, quantum=None), asyncio.get_running_loop().time
        services = Services(front.config, keeper, front.accounts, front.log, clock, resumed=True)
        assert await services.catalog.read()
        body = {"model": "hospital", "messages": [{"role": "user", "content": QUESTION}]}
        asked = parse_chat(json.dumps(body).encode())
        await (await services.asker.begin(front.key()[0], asked)).outcome()
        return clock()

    with asyncio.Runner(loop_factory=_Loop) as runner:
        return runner.run(main())


def test_answer_longer_than_any_measured_does_not_show_after_a_restart(tmp_path: Path) -> None:
    """Both are longer, and the first question starts at the same multiple of the longest one that was measured."""
    one, other = (first_reply_of_a_front(tmp_path / str(took), BusyKeeper(took)) for took in (0.6, 0.9))
    assert one == other > 1.0


def test_restart_that_does_not_wait_for_the_keeper_is_caught(tmp_path: Path) -> None:
    one, other = (first_reply_of_a_front(tmp_path / str(took), HastyKeeper(took)) for took in (0.6, 0.9))
    assert one < other

import asyncio
import math
import time
from collections.abc import Iterable
from pathlib import Path

import pytest

from discreet_lab.audit.server import _Loop
from discreet_server.front.pacing import A_TICK, STEP, TICK, Arrival, Pacer, default_quantum
from discreet_server.wire import Answered, Estimate, Estimated, Question, Refused
from tests.server.front.fakes import FakeKeeper, drive, running


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.now += seconds


@pytest.mark.parametrize(("took", "quanta"), [(0.0, 1), (0.3, 1), (2.0, 1), (2.1, 2), (4.5, 3)])
def test_reply_leaves_at_a_multiple_of_the_quantum(took: float, quanta: int) -> None:
    clock = Clock()
    pacer = Pacer(2.0, clock, clock.sleep)
    arrival = pacer.arrive("voters")
    clock.now += took
    assert asyncio.run(pacer.until_due(arrival)) == quanta
    assert clock.now == pytest.approx(100.0 + 2.0 * quanta)


def test_reply_leaves_at_once_without_a_quantum() -> None:
    clock = Clock()
    pacer = Pacer(0.0, clock, clock.sleep)
    arrival = pacer.arrive()
    clock.now += 0.5
    assert asyncio.run(pacer.until_due(arrival)) == 0
    assert clock.now == 100.5


def test_quantum_is_twice_the_longest_answer_and_a_margin() -> None:
    assert default_quantum(3.0) == pytest.approx(2 * (3.3 + 0.05))
    assert default_quantum(0.0) == pytest.approx(0.1)


class UnequalKeeper(FakeKeeper):
    """Takes a time of its own for the question that waits."""

    def __init__(self, took: float) -> None:
        super().__init__()
        self._took = took

    async def question(self, question: Question) -> Answered | Refused:
        await asyncio.sleep(self._took if "third" in question.question else 0.0)
        return await super().question(question)


class RefusingKeeper(FakeKeeper):
    """Refuses what it understands, as beside an answer: after a while."""

    async def estimate(self, asked: Estimate) -> Estimated | Refused:
        await super().estimate(asked)
        return Refused("cannot_answer", kind="superlative")


@pytest.mark.parametrize("estimating", [0.01, 0.06])
def test_refusal_leaves_at_the_first_step_after_its_request(tmp_path: Path, estimating: float) -> None:
    async def main() -> float:
        keeper = RefusingKeeper()
        keeper.estimating = estimating
        async with running(tmp_path, keeper, quantum=2.0) as front:
            secret, clock = front.key()[1], asyncio.get_running_loop().time
            front.app.state.services.pacer._clock = clock
            begun = clock()
            assert (await front.ask(secret)).status_code == 400
            return clock() - begun

    with asyncio.Runner(loop_factory=_Loop) as runner:
        assert STEP <= runner.run(main()) <= STEP + TICK


@pytest.mark.parametrize("took", [0.0, 0.5])
def test_time_of_a_waiting_question_does_not_show(tmp_path: Path, took: float) -> None:
    async def test() -> None:
        async with running(tmp_path, UnequalKeeper(took), quantum=1.6) as front:
            secrets = [front.key(name)[1] for name in ("ana", "ben", "eve")]
            before = [asyncio.create_task(front.ask(secret)) for secret in secrets[:2]]
            await asyncio.sleep(0.3)
            # Its turn is a quantum after the first one's. So its own first multiple would come soon after the turn.
            third = [{"role": "user", "content": "Which is the third disease?"}]
            asked = asyncio.create_task(front.ask(secrets[2], messages=third))
            await asyncio.sleep(0.1)
            *_, flight = front.app.state.services.asker.flights._flights.values()
            begun = flight.begun.at
            assert (await asked).status_code == 200
            assert flight.quanta == 1
            assert flight.begun.at > begun + 1  # counted from the turn
            await asyncio.gather(*before)

    drive(test)


@pytest.mark.parametrize(
    ("quantum", "took", "left_at"), [(2.0, 0.01, 0.075), (2.0, 0.13, 0.15), (0.05, 0.03, 0.05), (0.0, 0.3, 0.3)]
)
def test_what_reads_nothing_private_leaves_at_a_step(quantum: float, took: float, left_at: float) -> None:
    clock = Clock()
    pacer = Pacer(quantum, clock, clock.sleep)
    arrival = pacer.arrive()
    clock.now += took
    assert asyncio.run(pacer.until_due(arrival)) == 0
    assert clock.now == pytest.approx(100.0 + left_at)


@pytest.mark.parametrize("ready", [range(3 * A_TICK), reversed(range(3 * A_TICK))])
def test_replies_leave_together_at_a_tick_in_the_order_of_their_requests(ready: Iterable[int]) -> None:
    """So many at a tick, whenever each of them is ready."""

    async def test() -> list[list[int]]:
        pacer, loop = Pacer(0.4), asyncio.get_running_loop()
        arrivals, left = [pacer.arrive("records") for _ in range(3 * A_TICK)], list[tuple[float, int]]()

        async def reply(number: int, place: int) -> None:
            await asyncio.sleep(0.002 * place)  # when it is ready follows from documents
            await pacer.until_due(arrivals[number])
            left.append((loop.time(), number))

        await asyncio.gather(*(reply(number, place) for place, number in enumerate(ready)))
        times = sorted(left)
        return [sorted(number for _, number in times[start : start + A_TICK]) for start in range(0, 3 * A_TICK, A_TICK)]

    assert asyncio.run(test()) == [list(range(start, start + A_TICK)) for start in range(0, 3 * A_TICK, A_TICK)]


def test_late_clock_makes_no_room_for_more_at_one_tick() -> None:
    """A loop that was held up for several ticks lets so many leave as at one, and goes on at the next."""

    async def test() -> list[int]:
        pacer, loop = Pacer(0.2), asyncio.get_running_loop()
        arrivals, ticks = [pacer.arrive("records") for _ in range(3 * A_TICK)], list[int]()

        async def reply(arrival: Arrival) -> None:
            await pacer.until_due(arrival)
            ticks.append(math.floor(loop.time() / TICK + 1e-6))

        replies = [asyncio.create_task(reply(one)) for one in arrivals]
        await asyncio.sleep(0.05)
        time.sleep(0.4)  # the loop is held up
        await asyncio.gather(*replies)
        return [ticks.count(one) for one in sorted(set(ticks))]

    left = asyncio.run(test())
    assert sum(left) == 3 * A_TICK
    assert max(left) <= A_TICK

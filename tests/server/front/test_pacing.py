import asyncio
from pathlib import Path

import pytest

from discreet.server.front.pacing import Pacer, default_quantum
from discreet.server.wire import Answered, Question, Refused
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
    arrival = pacer.arrive()
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
    assert default_quantum([0.4, 3.0]) == pytest.approx(2 * (3.3 + 0.05))
    assert default_quantum([]) == pytest.approx(0.1)


class UnequalKeeper(FakeKeeper):
    """Takes a time of its own for the question that waits."""

    def __init__(self, took: float) -> None:
        super().__init__()
        self._took = took

    async def ask(self, question: Question) -> Answered | Refused:
        await asyncio.sleep(self._took if "third" in question.question else 0.0)
        return await super().ask(question)


@pytest.mark.parametrize("took", [0.0, 0.5])
def test_time_of_a_waiting_question_does_not_show(tmp_path: Path, took: float) -> None:
    async def test() -> None:
        quantum, delay = 0.8, 0.3
        async with running(tmp_path, UnequalKeeper(took), quantum=quantum) as front:
            secrets = [front.key(name)[1] for name in ("ana", "ben", "eve")]
            clock = asyncio.get_running_loop().time
            begun = clock()
            before = [asyncio.create_task(front.ask(secret)) for secret in secrets[:2]]
            await asyncio.sleep(delay)
            # Its turn is a quantum after the first one's. So its own first multiple would come `delay` after the turn.
            third = [{"role": "user", "content": "Which is the third disease?"}]
            assert (await front.ask(secrets[2], messages=third)).status_code == 200
            assert 2 * quantum <= clock() - begun < 2 * quantum + 0.3
            await asyncio.gather(*before)

    drive(test)

import asyncio

import pytest

from discreet.server.front.pacing import Pacer, default_quantum


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


def test_quantum_is_twice_the_longest_answer() -> None:
    assert default_quantum([0.4, 3.0]) == 6.0
    assert default_quantum([]) == default_quantum([0.001]) > 0

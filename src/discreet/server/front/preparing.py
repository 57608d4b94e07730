"""What the keeper does for a question before it is paid: it tells the price, and rewrites a follow-up question.

An estimate follows from public values, and from what has landed. The keeper replies beside the question that it
answers. The history and the balance of a vault change when an answer is ready, and how long an answer takes must not
show. So the keeper learns which questions are in the air, and nothing of them is in an estimate. Beside an answer the
keeper also replies more slowly. So estimates leave at multiples of a step.

A follow-up question is a chat's last message, rewritten by the public model as a question that stands alone. The model
belongs to the thread that answers, so rewriting has a turn of its own in the queue. A question before it may have ended
late. So what follows, such as the estimate and the reservation, waits for a multiple of the quantum.
"""

import asyncio
from weakref import WeakValueDictionary

from discreet.server.caller import PATIENCE, Keeper, KeeperGone
from discreet.server.front.errors import KIND_ADVICE, FrontError
from discreet.server.front.pacing import Pacer, Queue
from discreet.server.front.replay import Flight, Flights
from discreet.server.wire import (
    LONGEST_TURN,
    MOST_TURNS,
    Condense,
    Estimate,
    Estimated,
    Question,
    Refused,
    Turn,
)

AT_ONCE = 4
"""So many estimates are with the keeper at most, and one of each key. The others wait."""


class Estimator:
    """Asks the keeper what questions would cost."""

    def __init__(self, keeper: Keeper, flights: Flights, pacer: Pacer, at_once: int = AT_ONCE) -> None:
        self._keeper, self._flights, self._pacer = keeper, flights, pacer
        self._all = asyncio.Semaphore(at_once)
        self._of_keys: WeakValueDictionary[str, asyncio.Semaphore] = WeakValueDictionary()

    async def estimate(self, key_id: str, question: Question) -> Estimated:
        """Return what a question would cost at most, and whether its answer is free.

        Raises:
            FrontError: if the keeper refuses it, or is not there.
        """
        begun = self._pacer.arrive()
        try:
            found = await self._ask(key_id, question)
        finally:
            await self._pacer.until_due(begun)
        if isinstance(found, Refused):
            raise error_of(found)
        return found

    async def _ask(self, key_id: str, question: Question) -> Estimated | Refused:
        own = self._of_keys.setdefault(key_id, asyncio.Semaphore(1))
        async with own, self._all:
            while True:
                air = self._flights.in_the_air(question.vault)
                try:
                    # Four times as long: it may wait for the model that reads questions (`questions.model_parser`).
                    found = await self._keeper.call(Estimate(question, air), 4 * PATIENCE)
                except KeeperGone:
                    raise FrontError("starting") from None
                if set(self._flights.in_the_air(question.vault)) <= set(air):
                    return found  # else it may have something of a question that was sent meanwhile


def error_of(refused: Refused) -> FrontError:
    """Return the error for a refusal of the keeper."""
    return FrontError(
        refused.code,
        reason=KIND_ADVICE.get(refused.kind, ""),
        asked=refused.asked,
        left=refused.left,
        would_fit=refused.would_fit,
        paid=refused.paid.is_something,
    )


class Condenser:
    """Has the keeper rewrite follow-up questions, for nothing."""

    def __init__(self, keeper: Keeper, queue: Queue, pacer: Pacer) -> None:
        self._keeper, self._queue, self._pacer = keeper, queue, pacer

    async def condense(self, key_id: str, flight: Flight, turns: tuple[Turn, ...]) -> str:
        """Return the question of a flight as one that stands alone; unchanged if the model writes none.

        Args:
            key_id: whose question it is.
            flight: the question that is in the air.
            turns: the messages before it.

        Raises:
            FrontError: if the queue is full, the keeper refuses, or it is not there. Nothing was paid.
        """
        question = flight.question.question
        if len(question) > LONGEST_TURN:
            return question
        place = self._queue.enter(key_id)
        try:
            await self._queue.wait(place, self._pacer.spacing("voters"))
            flight.start_over(self._pacer, "voters")
            found = await self._keeper.call(Condense(flight.question.vault, _last(turns, question)))
        except KeeperGone:
            raise FrontError("starting") from None
        finally:
            self._queue.leave(place)
        if isinstance(found, Refused):
            raise error_of(found)
        await self._pacer.until_due(flight.begun)
        flight.begun = self._pacer.arrive()  # what follows without a turn, a refusal or a replay, leaves soon
        return found.question or question


def _last(turns: tuple[Turn, ...], question: str) -> tuple[Turn, ...]:
    """Return the last messages, each cut to the longest that the keeper takes, and the question."""
    before = turns[-(MOST_TURNS - 1) :]
    return (*(Turn(one.role, one.text[:LONGEST_TURN]) for one in before), Turn("user", question))

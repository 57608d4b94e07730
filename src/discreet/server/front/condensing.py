"""Follow-up questions: a chat's last message, rewritten by the public model as a question that stands alone.

The model belongs to the thread that answers, so rewriting has a turn of its own in the queue. A question before it may
have ended late. So what follows, such as the estimate and the reservation, waits for a multiple of the quantum.
"""

from discreet.server.front.catalog import Keeper
from discreet.server.front.errors import FrontError
from discreet.server.front.estimating import error_of
from discreet.server.front.keeper_client import KeeperGone
from discreet.server.front.pacing import Pacer
from discreet.server.front.queue import Queue
from discreet.server.front.replay import Flight
from discreet.server.wire import LONGEST_TURN, MOST_TURNS, Condense, Refused, Turn


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
            await self._queue.wait(place)
            flight.start_over(self._pacer)
            found = await self._keeper.condense(Condense(flight.question.vault, _last(turns, question)))
        except KeeperGone:
            raise FrontError("starting") from None
        finally:
            self._queue.leave(place)
        if isinstance(found, Refused):
            raise error_of(found)
        await self._pacer.until_due(flight.begun)
        return found.question or question


def _last(turns: tuple[Turn, ...], question: str) -> tuple[Turn, ...]:
    """Return the last messages, each cut to the longest that the keeper takes, and the question."""
    before = turns[-(MOST_TURNS - 1) :]
    return (*(Turn(one.role, one.text[:LONGEST_TURN]) for one in before), Turn("user", question))

"""Questions in flight, which the same request joins, and the outcomes that it gets again for nothing."""

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field, replace
from typing import Any

from discreet_server.accounts import Accounts, InFlight, Mismatch, RateLimited, Replay
from discreet_server.front.errors import FrontError
from discreet_server.front.pacing import Arrival, Pacer
from discreet_server.front.replies import AnsweredQuestion, restored
from discreet_server.wire import Lane, Question

POLL = 0.25
"""Seconds between two looks at a question that another front process has in flight."""
PATIENCE = 60.0
"""Seconds to wait for it. One that is not settled by then could not be: its database failed."""

Work = Callable[["Flight"], Coroutine[Any, Any, AnsweredQuestion]]


@dataclass(eq=False)
class Flight:
    """A question that is being answered. It goes on when its client goes away.

    How long the answer took must not show. So everything that tells that it has ended waits until one moment, a
    multiple of the quantum after the flight's begin: the reply to each request, the key's meter, the receipt.

    Attributes:
        question: what crosses the wall.
        begun: when its turn came, in its lane; before that, when its first request came.
        quanta: after how many quanta it landed; None while it is in the air.
        sent: whether the keeper has the question.
        reserved: set when it is reserved, or is a replay: no error with a status of its own follows any more.
        task: the work.
    """

    question: Question
    begun: Arrival
    quanta: int | None = None
    sent: bool = False
    reserved: asyncio.Event = field(default_factory=asyncio.Event)
    task: "asyncio.Task[AnsweredQuestion] | None" = None

    @property
    def question_id(self) -> str:
        """The question's id."""
        return self.question.id

    def start_over(self, pacer: Pacer, lane: Lane) -> None:
        """Count the quanta of a lane from now on: the question's turn has come.

        A client chooses when it sends a question that must wait. Counted from then on, a multiple of the quantum could
        lie anywhere after the turn, so that the reply would tell whether the answer took longer than that.
        """
        self.begun = pacer.arrive(lane)

    async def land(self, pacer: Pacer) -> None:
        """Wait until the flight may show that it has ended. Once it has landed, return at once."""
        if self.quanta is None:
            self.quanta = await pacer.until_due(self.begun)

    async def wait_reserved(self) -> None:
        """Wait until the question is reserved.

        Raises:
            FrontError: if it was refused before.
        """
        assert self.task is not None
        waiting = asyncio.ensure_future(self.reserved.wait())
        try:
            await asyncio.wait({waiting, self.task}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            waiting.cancel()
        if not self.reserved.is_set() and self.task.done():
            self.task.result()

    async def outcome(self) -> AnsweredQuestion:
        """Return the outcome. A caller that is cancelled does not cancel the work.

        Raises:
            FrontError: if the question was refused, or broken off.
        """
        assert self.task is not None
        return await asyncio.shield(self.task)


@dataclass(frozen=True)
class Boarding:
    """A request's part in a flight.

    Attributes:
        flight: the flight.
        joined: whether another request had begun it: this one pays nothing.
        name: has the Idempotency-Key of a request that joined find a question; None if it has none.
    """

    flight: Flight
    joined: bool
    name: Callable[[str], Coroutine[Any, Any, object]] | None = None

    async def outcome(self) -> AnsweredQuestion:
        """Return the outcome, marked as a replay if the request pays nothing for it."""
        outcome = await self.flight.outcome()
        if self.name is not None and outcome.question_id != self.flight.question_id:
            await self.name(outcome.question_id)  # the flight was a replay itself
        return replace(outcome, replayed=True) if self.joined else outcome


class Flights:
    """All questions in flight of this process, by key and fingerprint."""

    def __init__(self, pacer: Pacer) -> None:
        self._pacer = pacer
        self._flights: dict[tuple[str, str], Flight] = {}

    def __len__(self) -> int:
        return len(self._flights)

    def board(self, key_id: str, fingerprint: str, question: Question, work: Work) -> Boarding:
        """Return the flight of a request: the one that the same request has begun, or a new one.

        The flight of an error lands at its moment, too. Nothing is awaited between the look and the start, so that one
        of several requests begins it.
        """
        place = (key_id, fingerprint)
        if (found := self._flights.get(place)) is not None:
            return Boarding(found, joined=True)
        flight = self._flights[place] = Flight(question, self._pacer.arrive())
        flight.task = asyncio.create_task(self._fly(flight, work))
        flight.task.add_done_callback(lambda task: self._end(place, task))
        return Boarding(flight, joined=False)

    def find(self, key_id: str, fingerprint: str) -> Flight | None:
        """Return the flight of a request, if there is one."""
        return self._flights.get((key_id, fingerprint))

    def in_the_air(self, vault: str) -> tuple[str, ...]:
        """Return the ids of a vault's questions that were sent to the keeper and have not landed."""
        over = (one for one in self._flights.values() if one.question.vault == vault)
        return tuple(one.question_id for one in over if one.sent and one.quanta is None)

    async def drain(self) -> None:
        """Wait until every question in flight has ended."""
        while self._flights:
            await asyncio.wait([one.task for one in self._flights.values() if one.task is not None])
            await asyncio.sleep(0)

    async def _fly(self, flight: Flight, work: Work) -> AnsweredQuestion:
        try:
            return await work(flight)
        finally:
            await flight.land(self._pacer)

    def _end(self, place: tuple[str, str], task: "asyncio.Task[AnsweredQuestion]") -> None:
        self._flights.pop(place, None)
        if not task.cancelled():
            task.exception()  # read here, or asyncio would log it with its text


async def recall(
    accounts: Accounts, key_id: str, fingerprint: str, idempotency: str | None, *, anew: bool
) -> AnsweredQuestion | None:
    """Return the outcome that the same request had before; None if it is to be asked.

    Raises:
        FrontError: as `meaning`.
    """
    waited = 0.0
    while True:
        kept = await asyncio.to_thread(accounts.recall, key_id, fingerprint, idempotency, anew=anew)
        if isinstance(kept, Replay) and idempotency is not None and not kept.named:
            # The name finds the same answer from now on, however long the content does.
            kept = await asyncio.to_thread(accounts.join, key_id, kept.question, fingerprint, idempotency) or kept
        if isinstance(kept, InFlight) and waited < PATIENCE:  # in another process
            await asyncio.sleep(POLL)
            waited += POLL
            continue
        return None if kept is None else meaning(kept)


def meaning(found: Mismatch | InFlight | Replay | RateLimited) -> AnsweredQuestion:
    """Return the outcome in what the accounts recalled.

    Raises:
        FrontError: if that was an error, the Idempotency-Key belongs to another request, or the key does it too often.
    """
    if isinstance(found, RateLimited):
        raise too_often(found)
    if isinstance(found, Mismatch):
        raise FrontError("idempotency_mismatch")
    if isinstance(found, InFlight):
        raise FrontError("interrupted", paid=True)
    return restored(found.reply)


def too_often(found: RateLimited) -> FrontError:
    """Return the error for what the accounts refuse since it is done too often."""
    return FrontError(found.code, retry_after=found.retry_after)

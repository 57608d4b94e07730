"""The way of a question through the front: allow, recall, condense, estimate, reserve, wait, ask, settle, record.

An estimate follows from public values, and from what has landed. The keeper replies beside the question that it
answers. The history and the balance of a vault change when an answer is ready, and how long an answer takes must not
show. So the keeper learns which questions are in the air, and nothing of them is in an estimate. Beside an answer the
keeper also replies more slowly. So estimates leave at multiples of a step.

A follow-up question is a chat's last message, rewritten by the public model as a question that stands alone. The model
belongs to the thread that answers, so rewriting has a turn of its own in the queue. A question before it may have ended
late. So what follows, such as the estimate and the reservation, waits for a multiple of the quantum.

A settlement that the accounts do not take is tried again until they do. A question that is not settled stays charged at
its ceiling, and the same request waits for it. So a short failure of the accounts, such as a restart of their database,
must not leave it that way until the front starts again.
"""

import asyncio
import secrets
import time
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any
from weakref import WeakValueDictionary

from discreet.errors import DiscreetError, UsageError
from discreet.privacy.accounting import ATTO, CUT
from discreet.privacy.costs import ORDERS
from discreet.system.words import LONGEST_TURN, MOST_TURNS
from discreet_server.accounts import (
    Accounts,
    AccountsError,
    Key,
    KeyExhausted,
    Mismatch,
    NotValid,
    Reservation,
)
from discreet_server.audit_log import AuditLog
from discreet_server.front.catalog import CatalogCache, Servable
from discreet_server.front.errors import KIND_ADVICE, FrontError
from discreet_server.front.pacing import Pacer, Queue
from discreet_server.front.replay import Boarding, Flight, Flights, meaning, recall
from discreet_server.front.replies import AnsweredQuestion, stored_error, task_outcome
from discreet_server.front.requests import ChatRequest
from discreet_server.front.telling import note_failure
from discreet_server.sockets import REPLY_PATIENCE, Keeper, KeeperGone
from discreet_server.wire import (
    Answered,
    Condense,
    Estimate,
    Estimated,
    Question,
    Refused,
    Turn,
    UnitCharge,
)

# --- what the keeper does before a question is paid ------------------------------------------------------------------


AT_ONCE = 4
"""So many estimates are with the keeper at most, and one of each key. The others wait."""


class Estimator:
    """Asks the keeper what questions would cost."""

    def __init__(self, keeper: Keeper, flights: Flights, pacer: Pacer, at_once: int = AT_ONCE) -> None:
        self._keeper, self._flights, self._pacer = keeper, flights, pacer
        self._all = asyncio.Semaphore(at_once)
        self._of_keys: WeakValueDictionary[str, asyncio.Semaphore] = WeakValueDictionary()

    async def estimate(self, key_id: str, question: Question, flight: Flight | None = None) -> Estimated:
        """Return what a question would cost at most, and whether its answer is free.

        Args:
            key_id: whose question it is.
            question: the question.
            flight: of the question, if it is to be asked. A refusal ends it, so that it lands.

        Raises:
            FrontError: if the keeper refuses it, or is not there.
        """
        begun, estimate = flight.begun if flight else self._pacer.arrive(), None
        try:
            estimate = await self._ask(key_id, question)
        finally:
            if flight is None or isinstance(estimate, Estimated):
                await self._pacer.until_due(begun)
            else:
                await flight.land(self._pacer)
        if isinstance(estimate, Refused):
            raise error_of(estimate)
        return estimate

    async def _ask(self, key_id: str, question: Question) -> Estimated | Refused:
        own = self._of_keys.setdefault(key_id, asyncio.Semaphore(1))
        async with own, self._all:
            while True:
                air = self._flights.in_the_air(question.vault)
                try:
                    # Four times as long: it may wait for the model that reads questions (`questions.model_parser`).
                    estimate = await self._keeper.call(Estimate(question, air), 4 * REPLY_PATIENCE)
                except KeeperGone:
                    raise FrontError("starting") from None
                if set(self._flights.in_the_air(question.vault)) <= set(air):
                    return estimate  # else it may have something of a question that was sent meanwhile


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


def _last(turns: tuple[Turn, ...], question: str) -> tuple[Turn, ...]:
    """Return the last messages, each cut to the longest that the keeper takes, and the question."""
    before = turns[-(MOST_TURNS - 1) :]
    return (*(Turn(one.role, one.text[:LONGEST_TURN]) for one in before), Turn("user", question))


# --- the way of a question -------------------------------------------------------------------------------------------


RESTART = 120.0
"""Seconds in which a keeper that went away in mid-question is asked what became of it."""
PAUSE = 0.25
LONGEST_ASKED = 600
"""The most characters of a question and its choices: a long one would take longer than the quantum, which is twice the
time of a short one."""
_AWAY = ("starting", "stopping", "ledger_unavailable")
"""What a keeper says that cannot tell yet what became of a question."""


@dataclass(frozen=True)
class FrontQuestion:
    """A question with what the front knows of it.

    Attributes:
        key: whose it is.
        request: what the client sent.
        model: the model that answers it.
        question: what crosses the wall.
        idempotency: the client's Idempotency-Key.
    """

    key: Key
    request: ChatRequest
    model: Servable
    question: Question
    idempotency: str | None

    @property
    def rewritten(self) -> str | None:
        """The question that stands alone; None for the message as the client sent it."""
        return self.question.question if self.question.question != self.request.question else None


class Asker:
    """Asks the keeper on behalf of keys. What a key may pay is reserved before, and settled after."""

    def __init__(
        self,
        keeper: Keeper,
        accounts: Accounts,
        log: AuditLog,
        catalog: CatalogCache,
        queue: Queue,
        pacer: Pacer,
    ) -> None:
        self.catalog, self.queue, self.accounts = catalog, queue, accounts
        self._keeper, self._log, self._pacer = keeper, log, pacer
        self.flights, self.stopping = Flights(pacer), False
        self._estimator = Estimator(keeper, self.flights, pacer)
        self._settlements = Settlements(accounts)

    async def begin(
        self, key: Key, request: ChatRequest, idempotency: str | None = None, *, again: bool = False
    ) -> Boarding:
        """Return the flight of a request: one that the same request has begun, or a new one.

        Raises:
            FrontError: if the key may not ask the model, if the Idempotency-Key belongs to another request, or if the
                flight was refused before it was reserved.
        """
        prepared = self.prepare(key, request, idempotency, again=again)
        place, name = request.fingerprint, None
        if idempotency is not None and (flight := self.flights.find(key.id, place)) is not None:
            await flight.wait_reserved()  # before that, there is nothing that the Idempotency-Key could find
            name = lambda question: self._name(prepared, question)  # noqa: E731 - it is passed on
            if await name(flight.question_id):
                place, name = f"{place} {idempotency}", None  # it has an answer of its own
        if self.stopping and not self.flights.find(key.id, place):
            raise FrontError("stopping")
        boarding = self.flights.board(key.id, place, prepared.question, lambda flight: self._answer(prepared, flight))
        return replace(boarding, name=name) if boarding.joined else boarding

    def prepare(
        self, key: Key, request: ChatRequest, idempotency: str | None = None, *, again: bool = False
    ) -> FrontQuestion:
        """Return a request as a question for the keeper.

        Raises:
            FrontError: if there is no such model, if the key may not ask it, or if the question is too long.
        """
        model = self.catalog.find(key, request.model)
        if (
            model.model.name != "free"
            and not request.task
            and sum(map(len, (request.question, *request.choices))) > LONGEST_ASKED
        ):
            raise FrontError("question_too_long")
        question = Question(
            id=secrets.token_hex(16),
            vault=model.vault.name,
            model=model.model.name,
            question=request.question,
            choices=request.choices,
            epsilon=request.epsilon,
            max_tokens=request.max_tokens,
            anew=request.anew and not again,  # a client that sends its own request again does not mean to pay again
            earlier=tuple(turn.text[:LONGEST_TURN] for turn in request.turns[-MOST_TURNS:]),
            where=key.where,
        )
        return FrontQuestion(key, request, model, question, idempotency)

    async def estimate(self, asked: FrontQuestion, flight: Flight | None = None) -> Estimated:
        """Return what a question would cost at most, from public values alone; `flight` if it is to be asked.

        Raises:
            FrontError: if the keeper refuses it, or is not there.
        """
        if asked.request.task:
            return Estimated(most=UnitCharge.nothing(), free=True, lane="records")
        return await self._estimator.estimate(asked.key.id, asked.question, flight)

    async def _answer(self, asked: FrontQuestion, flight: Flight) -> AnsweredQuestion:
        try:
            return await self._recall_or_ask(asked, flight)
        except AccountsError as error:  # none is raised after a payment: see `_settle`
            note_failure("accounts", error, asked.question.id)
            raise FrontError("ledger_unavailable") from None

    async def _recall_or_ask(self, asked: FrontQuestion, flight: Flight) -> AnsweredQuestion:
        if asked.request.task:
            flight.reserved.set()
            return task_outcome(asked.question.id, asked.model.name, asked.model.vault.unit, asked.request.task)
        if (recalled := await self._recall(asked)) is not None:
            flight.reserved.set()
            return recalled
        try:
            return await self._ask_anew(asked, flight)
        except FrontError:
            with suppress(AccountsError):  # the error may say that something was paid
                await asyncio.to_thread(self.accounts.count_unpaid, asked.key.id)
            raise

    async def _ask_anew(self, asked: FrontQuestion, flight: Flight) -> AnsweredQuestion:
        if asked.request.turns:
            asked = await self._condense(asked, flight)
            if (recalled := await self._recall(asked)) is not None:  # another process may have asked it meanwhile
                flight.reserved.set()
                return recalled
        place = self.queue.enter(asked.key.id)
        try:
            most = await self.estimate(asked, flight)
            refusal = await self._reserve(asked, most)
            flight.reserved.set()
            if isinstance(refusal, AnsweredQuestion):
                return refusal
            await self.queue.wait(place, self._pacer.spacing(most.lane))
            flight.start_over(self._pacer, most.lane)
            flight.sent, quantum = True, self._pacer.quanta[most.lane]
            paced = replace(asked.question, ceiling=refusal, begun=time.time(), quantum=quantum, lane=most.lane)
            replied = await self._ask(paced)
        finally:
            self.queue.leave(place)
        # What follows shows that the answer is there.
        await flight.land(self._pacer)
        return await self._finish(asked, replied, refusal)

    async def _recall(self, asked: FrontQuestion) -> AnsweredQuestion | None:
        fingerprint = asked.request.fingerprint
        return await recall(self.accounts, asked.key.id, fingerprint, asked.idempotency, anew=asked.question.anew)

    async def _condense(self, asked: FrontQuestion, flight: Flight) -> FrontQuestion:
        """Return a flight's question as one that stands alone, for nothing; unchanged if the model writes none.

        Raises:
            FrontError: if the queue is full, the keeper refuses, or it is not there. Nothing was paid.
        """
        question = asked.question.question
        if len(question) > LONGEST_TURN:
            return asked
        place = self.queue.enter(asked.key.id)
        try:
            await self.queue.wait(place, self._pacer.spacing("voters"))
            flight.start_over(self._pacer, "voters")
            condensed = await self._keeper.call(Condense(asked.question.vault, _last(asked.request.turns, question)))
        except KeeperGone:
            raise FrontError("starting") from None
        finally:
            self.queue.leave(place)
        if isinstance(condensed, Refused):
            raise error_of(condensed)
        await self._pacer.until_due(flight.begun)
        flight.begun = self._pacer.arrive()  # what follows without a turn, a refusal or a replay, leaves soon
        return replace(asked, question=replace(asked.question, question=condensed.question or question))

    async def _reserve(self, asked: FrontQuestion, most: Estimated) -> AnsweredQuestion | UnitCharge:
        """Charge the key at the ceiling. Return the ceiling, or what the same request found meanwhile.

        Raises:
            FrontError: if the key may not pay for the question.
        """
        ceiling = UnitCharge.nothing() if most.free else most.most
        try:
            reservation = await asyncio.to_thread(
                self.accounts.reserve,
                asked.key.id,
                asked.question.id,
                ceiling,
                vault=asked.model.vault.name,
                model=asked.model.name,
                fingerprint=asked.request.fingerprint,
                idempotency=asked.idempotency,
                anew=asked.question.anew,
            )
        except AccountsError:
            self._settlements.release(asked.question.id)
            raise
        if isinstance(reservation, Reservation):
            return ceiling
        if isinstance(reservation, KeyExhausted):
            if await asyncio.to_thread(self.accounts.is_first, asked.key.id, reservation.code):
                # a key could fill the audit log with them
                await self._record(asked, "refusal", code=reservation.code)
            raise FrontError(
                reservation.code, asked=reservation.asked, left=reservation.left, would_fit=reservation.would_fit
            )
        if isinstance(reservation, NotValid):
            raise FrontError(reservation.code)
        return meaning(reservation)

    async def _ask(self, question: Question) -> Answered | Refused | Exception:
        """Return what the keeper replied, or what went wrong: raised later, when the flight has landed."""
        try:
            return await self._ask_until_known(question)
        except Exception as error:
            return error

    async def _finish(
        self, asked: FrontQuestion, found: Answered | Refused | Exception, most: UnitCharge
    ) -> AnsweredQuestion:
        """Settle what was paid, in the case of an error, too.

        Raises:
            FrontError: if the question was refused, or broken off.
        """
        if isinstance(found, KeeperGone):
            raise await self._fail(asked, FrontError("interrupted", paid=True) if found.sent else None, most)
        if isinstance(found, Exception):
            note_failure("ask", found, asked.question.id)
            raise await self._fail(asked, FrontError("internal_error", paid=True), most)
        if isinstance(found, Refused):
            paid = found.paid.is_something
            lasting = paid or found.code in ("interrupted", "internal_error")
            raise await self._fail(asked, error_of(found), found.paid, lasting=lasting)
        return await self._succeed(asked, found)

    async def _ask_until_known(self, question: Question) -> Answered | Refused:
        """Ask the keeper. One that went away in mid-question is asked again under the same id, which is paid once."""
        end, sent = time.monotonic() + RESTART, False
        while True:
            try:
                reply = await self._keeper.call(question)
                if not sent or not isinstance(reply, Refused) or reply.code not in _AWAY or reply.paid.is_something:
                    return reply
            except KeeperGone as gone:
                sent = sent or gone.sent
                if not sent:
                    raise
            if time.monotonic() > end:
                raise KeeperGone(sent=True)
            await asyncio.sleep(PAUSE)

    async def _succeed(self, asked: FrontQuestion, found: Answered) -> AnsweredQuestion:
        outcome = AnsweredQuestion(
            question_id=asked.question.id,
            created=int(time.time()),
            model=asked.model.name,
            unit=asked.model.vault.unit,
            free=not asked.model.model.private,
            answer=found.answer,
            asked=asked.rewritten,
        )
        await asyncio.gather(  # each waits for the disk
            self._settlements.settle(asked.question.id, found.spent, outcome.stored(), outcome.stopped),
            self._record(asked, "question", stopped=outcome.stopped, epsilon=found.spent.epsilon),
        )
        return outcome

    async def _fail(
        self, asked: FrontQuestion, error: FrontError | None, paid: UnitCharge, *, lasting: bool = True
    ) -> FrontError:
        """Settle a question that was not answered. Return its error; the keeper starts if there is none."""
        if error is None:
            error, paid, lasting = FrontError("starting"), UnitCharge.nothing(), False
        await asyncio.gather(
            self._settlements.settle(asked.question.id, paid, stored_error(error) if lasting else None, error.code),
            self._record(asked, "refusal", code=error.code, epsilon=paid.epsilon),
        )
        return error

    async def _record(self, asked: FrontQuestion, act: str, **details: str | float) -> None:
        try:
            await asyncio.to_thread(
                self._log.append, asked.key.id, act, asked.question.id, model=asked.model.name, **details
            )
        except DiscreetError as error:
            note_failure("audit log", error, asked.question.id)

    async def _name(self, asked: FrontQuestion, question: str) -> bool:
        """Have the request's Idempotency-Key find a question in flight. Return whether it finds another one already.

        Raises:
            FrontError: if it belongs to another request, or cannot be recorded.
        """
        assert asked.idempotency is not None
        try:
            named = await asyncio.to_thread(
                self.accounts.join, asked.key.id, question, asked.request.fingerprint, asked.idempotency
            )
        except AccountsError:
            raise FrontError("ledger_unavailable") from None
        if isinstance(named, Mismatch):
            raise FrontError("idempotency_mismatch")
        return named is not None and named.question != question


def settle_lost(accounts: Accounts) -> list[str]:
    """Settle the questions that a crash of the front left in flight: charged at their ceiling, and kept as an error.

    So the same request gets the error for ten minutes, and does not pay a second time. Returns their ids.
    """
    # A charge never grows: one above the ceiling leaves the question at its ceiling.
    return accounts.settle_lost(_BEYOND, stored_error(FrontError("interrupted", paid=True)))


_BEYOND = UnitCharge(0.0, 1.0, (CUT,) * len(ORDERS), ATTO)


FIRST_WAIT, LONGEST_WAIT = 0.5, 30.0
"""Seconds before a settlement is tried again: doubled each time, up to the longest."""


class Settlements:
    """Settles questions, in the background where it does not succeed at once."""

    def __init__(self, accounts: Accounts, first_wait: float = FIRST_WAIT) -> None:
        self._accounts, self._first_wait = accounts, first_wait
        self._late: set[asyncio.Task[None]] = set()

    def __len__(self) -> int:
        return len(self._late)

    async def settle(self, question: str, spent: UnitCharge, reply: dict[str, Any] | None, stopped: str) -> None:
        """Charge a key what its question has spent; if the accounts fail, return, and try again beside."""
        if not await self._try(question, spent, reply, stopped):
            self._settle_beside(question, spent, reply, stopped)

    def release(self, question: str) -> None:
        """Give back what was charged for a question that was not asked, since its reservation failed.

        The accounts may have it nevertheless, if the connection broke before they replied.
        """
        self._settle_beside(question, UnitCharge.nothing(), None, "ledger_unavailable")

    def _settle_beside(self, *values: Any) -> None:
        task = asyncio.create_task(self._settle_late(*values))
        self._late.add(task)
        task.add_done_callback(self._late.discard)

    async def _settle_late(self, question: str, spent: UnitCharge, reply: dict[str, Any] | None, stopped: str) -> None:
        wait = self._first_wait
        await asyncio.sleep(wait)
        while not await self._try(question, spent, reply, stopped):
            wait = min(2 * wait, LONGEST_WAIT)
            await asyncio.sleep(wait)

    async def _try(self, question: str, spent: UnitCharge, reply: dict[str, Any] | None, stopped: str) -> bool:
        try:
            settled = await asyncio.to_thread(self._accounts.settle, question, spent, reply, stopped=stopped)
        except AccountsError as error:
            note_failure("settle", error, question)  # it stays charged at its ceiling
            return False
        except UsageError:  # it was never reserved
            return True
        if settled.exceeded:
            note_failure("settle: above the ceiling", None, question)
        return True

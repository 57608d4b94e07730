"""The keeper's answers: one thread opens the vaults and answers one question at a time; others reply beside it.

An error gives the front a code, public numbers, and what was paid, and never its text.
"""

import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from contextlib import suppress
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any

from pydantic import ValidationError

from discreet.errors import (
    BadData,
    BudgetExhausted,
    CannotAnswer,
    LedgerError,
    MissingPart,
    PriceChanged,
    QuestionTooLong,
    StoreError,
    UsageError,
)
from discreet_server.config import ServeConfig
from discreet_server.keeper.hardening import KeeperLog
from discreet_server.keeper.measuring import measure_longest, what_is_not_covered
from discreet_server.keeper.served import NoSuchModel, Opener, Served
from discreet_server.wire import (
    Call,
    Catalog,
    Catalogued,
    Condense,
    Estimate,
    Question,
    Readied,
    Ready,
    Refused,
    UnitCharge,
    WireReply,
)

# --- refusals --------------------------------------------------------------------------------------------------------


_CODES: tuple[tuple[type[BaseException], str], ...] = (
    (NoSuchModel, "model_not_found"),
    (QuestionTooLong, "question_too_long"),
    (PriceChanged, "price_changed"),
    (MissingPart, "internal_error"),
    (UsageError, "invalid_request"),
    (LedgerError, "ledger_unavailable"),
    (StoreError, "store_unavailable"),
    (BadData, "store_unavailable"),
    (ValidationError, "interrupted"),  # what the schema of the wall does not let pass
)
"""The first that fits counts."""


def refusal(error: BaseException, paid: UnitCharge | None = None) -> Refused:
    """Return the refusal for an error.

    Args:
        error: what was raised.
        paid: what any one unit paid at most by then; nothing if None.
    """
    paid = paid or UnitCharge.nothing()
    if isinstance(error, BudgetExhausted):
        return Refused(
            "vault_budget_exhausted", _size(error.asked), _size(error.left), _size(error.would_fit), paid=paid
        )
    if paid.is_something:
        return Refused("interrupted", paid=paid)
    if isinstance(error, CannotAnswer):
        return Refused("cannot_answer", kind=error.kind)
    code = next((code for kind, code in _CODES if isinstance(error, kind)), "internal_error")
    return Refused(code)


def _size(epsilon: float) -> float | None:
    """Return an epsilon as the wire takes it; None for one without an end."""
    return float(epsilon) if 0 <= epsilon <= 1e9 else None


# --- answers ---------------------------------------------------------------------------------------------------------


PATIENCE, PAUSE = 5.0, 0.25
"""Seconds to wait for a ledger that cannot be read, and between two looks at it."""
_STOPS = "The server stops, so nothing was done. Start it again: discreet serve VAULT"
Act = Callable[[Mapping[str, Served]], Any]
"""What the custodian does between two questions: it gets the vaults by name."""
_Job = tuple[Question, "Future[WireReply]"]
_Turn = _Job | tuple[Act, "Future[Any]"]
"""What is done in the thread of the vaults, and what becomes of it for the thread that waits."""


class Answering:
    """Opens the vaults in a thread of its own, and answers questions there, in the order of their arrival.

    Args:
        config: the server's.
        open_vault: opens a vault.
        log: where errors are named.
        on_end: called when the thread ends, for any reason.

    Attributes:
        failed: whether an error ended the thread: the process must be started again.
    """

    def __init__(self, config: ServeConfig, open_vault: Opener, log: KeeperLog, on_end: Callable[[], None]) -> None:
        self.failed = False
        self._config, self._open, self._log, self._on_end = config, open_vault, log, on_end
        self._jobs: SimpleQueue[_Turn | None] = SimpleQueue()
        self._running = ""  # the id of the question that is answered now, or was answered last
        self._flights: dict[str, _Job] = {}
        self._lock = threading.Lock()
        self._served: dict[str, Served] = {}
        self._stopping = threading.Event()
        self._loaded = threading.Event()
        self._thread = threading.Thread(target=self._run, name="answering", daemon=True)

    def start(self) -> None:
        """Begin to open the vaults, and return at once."""
        self._thread.start()

    @property
    def loaded(self) -> bool:
        """Whether all vaults are open and their models loaded."""
        return self._loaded.is_set()

    def wait_loaded(self) -> None:
        """Return when all vaults are open."""
        self._loaded.wait()

    @property
    def stopping(self) -> bool:
        """Whether no more questions are answered."""
        return self._stopping.is_set()

    def work(self, act: Act) -> Any:
        """Return what the custodian's work returns, done in its turn, in the thread that holds the vaults.

        Raises:
            UsageError: if the keeper opens its vaults, or stops.
        """
        done: Future[Any] = Future()
        with self._lock:
            if not self.loaded or self.stopping:
                raise UsageError("The keeper starts or stops, so nothing was done. Try again in a moment.")
            self._jobs.put((act, done))
        return done.result()

    def stop(self) -> None:
        """Refuse the questions that wait, and return when the one that runs is answered."""
        with self._lock:
            self._stopping.set()
        self._jobs.put(None)
        if self.loaded:  # what is still being opened has paid nothing
            self._thread.join()

    def reply(self, message: Call[Any]) -> WireReply:
        """Return the reply to a message; a question waits for its turn, and nothing else does."""
        if isinstance(message, Ready):
            return self._ready(message)
        if not self.loaded:
            return Refused("stopping" if self._stopping.is_set() else "starting")
        if isinstance(message, Catalog):
            return Catalogued(tuple(served.card() for served in self._served.values()))
        if isinstance(message, Estimate):
            return self._estimate(message)
        if isinstance(message, Condense):
            return self._condense(message)
        assert isinstance(message, Question)
        return self._ask(message)

    def _ready(self, asked: Ready) -> Readied:
        if asked.idle:
            with suppress(UsageError):  # it starts or stops
                self.work(lambda _: None)
        loaded = self.loaded and not self._stopping.is_set()
        return Readied(loaded, loaded and all(served.writable() for served in self._served.values()))

    def _estimate(self, asked: Estimate) -> WireReply:
        try:
            return self._vault(asked.question.vault).estimate(asked.question, asked.air)
        except Exception as error:
            self._name(error, asked.question)
            return refusal(error)

    def _condense(self, asked: Condense) -> WireReply:
        """Return the rewritten question, written in its turn: one thread alone uses the model."""
        try:
            condensed: WireReply = self.work(lambda served: self._vault(asked.vault).condense(asked))
        except BaseException as error:
            self._log.write("a question was not rewritten:", error=error)
            return Refused("stopping") if self.stopping else refusal(error)
        return condensed

    def _ask(self, question: Question) -> WireReply:
        with self._lock:
            if self._stopping.is_set():
                return Refused("stopping")
            job = self._flights.get(question.id)
            if job is None:
                job = self._flights[question.id] = (question, Future())
                self._jobs.put(job)
        # Who lost the connection, and asks again under the same id, joins the question.
        return job[1].result() if job[0] == question else Refused("invalid_request")

    def _vault(self, name: str) -> Served:
        if name not in self._served:
            raise NoSuchModel("This vault is not served. See: GET /v1/models")
        return self._served[name]

    def _run(self) -> None:
        try:
            self._load()
            while (turn := self._jobs.get()) is not None:
                what, done = turn
                if isinstance(what, Question):
                    self._do(what, done)
                else:
                    self._act(what, done)
        except BaseException as error:
            self.failed = True
            failed = "the thread of the vaults stopped:" if self.loaded else "the vaults cannot be opened"
            self._log.write(f"{failed} (discreet doctor VAULT says more):", error=error)
        finally:
            with self._lock:
                self._stopping.set()
                left = list(self._flights.values())
                self._flights.clear()
            for question, future in left:
                if question.id == self._running and question.ceiling is not None:  # it may have been paid
                    future.set_result(Refused("interrupted", paid=question.ceiling))
                else:
                    future.set_result(Refused("stopping"))
            self._refuse_work()
            self._on_end()

    def _refuse_work(self) -> None:
        """Refuse the custodian's work that waits: no thread does it any more."""
        with suppress(Empty):
            while True:
                turn = self._jobs.get_nowait()
                if turn is not None and not isinstance(turn[0], Question):
                    turn[1].set_exception(UsageError(_STOPS))

    def _load(self) -> None:
        for named in self._config.vaults:
            if self._stopping.is_set():
                return
            served = Served(named, self._config, self._open)
            if self._config.quantum is None:
                served.longest = measure_longest(served, Path(self._config.run), self._log.write)
                if why := what_is_not_covered(served.vault.settings):
                    said = "a statistic may take longer than the quantum, and its time may show:"
                    self._log.write(f"{said} {why}. Time one, and set --quantum SECONDS above twice as much.")
            served.warm_up()
            self._served[named.name] = served
        self._loaded.set()
        self._log.write("ready")

    def _act(self, act: Act, done: "Future[Any]") -> None:
        """Do the custodian's work; what it returns or raises goes to the thread that waits."""
        try:
            if self.stopping:
                raise UsageError(_STOPS)
            done.set_result(act(self._served))
        except BaseException as error:
            done.set_exception(error)
        for served in self._served.values():  # what was added is read now, and not by the next question
            served.warm_up()

    def _do(self, question: Question, done: "Future[WireReply]") -> None:
        self._running = question.id
        reply: WireReply = Refused("stopping")
        if not self._stopping.is_set():
            reply = self._answer(question)
        done.set_result(reply)
        with self._lock:
            self._flights.pop(question.id, None)

    def _answer(self, question: Question) -> WireReply:
        """Return the answer, or the refusal with what was paid. No error leaves: its frames hold private values."""
        try:
            served = self._vault(question.vault)
            began = served.vault.ledger.began(question.id)
        except BaseException as error:  # nothing was paid now
            self._name(error, question)
            return refusal(error)
        if began:
            return Refused("interrupted", paid=self._paid(served, question))
        try:
            return served.answer(question)
        except BaseException as error:  # an answer that the wall does not let pass, too
            self._name(error, question)
            return refusal(error, self._paid(served, question))

    def _paid(self, served: Served, question: Question) -> UnitCharge:
        """Return what was paid for a question that was refused or broken off; its ceiling if nothing tells.

        A database that restarts is waited for: else each question that it broke off would cost its key the ceiling.
        """
        end = time.monotonic() + PATIENCE
        while True:
            try:
                return served.paid(question.id)
            except Exception as error:  # a library's own, too: what was paid must be said
                if not isinstance(error, LedgerError) or time.monotonic() > end or self._stopping.wait(PAUSE):
                    return question.ceiling or served.most(question)

    def _name(self, error: BaseException, question: Question) -> None:
        self._log.write("refused", question.id, error)

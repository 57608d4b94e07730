"""A language model whose work is done by the workers of a Ray cluster.

What the model thinks of a text is worked out there; every draw, and the ledger, stay in this process. The workers are
the custodian's own: they see the documents.

Which worker works out a row follows from how many other rows there are. So all of them must be alike: each works out
the same public rows when it starts, and one that does not find what the first one found, bit for bit, is refused. Then
a row depends on its own prompt alone, as it does without a cluster.

As many pieces of work as there are workers are under way at once (`at_once`), each in a thread of this process.
"""

import hashlib
import json
import weakref
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from itertools import count
from threading import Event, Lock, Thread
from typing import Any, TypeVar

from discreet.errors import DiscreetError
from discreet.generation.cluster import joined
from discreet.generation.loading import load_model
from discreet.generation.model import Logits, Prompt, ScoredDecoding, ScoringModel, Tokens
from discreet.generation.wrapping import WrappedModel

R = TypeVar("R")
_SHARE = {"num_cpus": 0.25, "scheduling_strategy": "SPREAD"}
"""What a worker and a reader ask for, one of each on every processor: Ray Data needs room for tasks of its own."""
_LOOK = 1.0
"""Seconds after which a thread that waits for a worker looks whether it was stopped."""
_START = 600.0
"""Seconds that workers have to load the model."""
# As many rows as a batch has, and short: seconds on one core, even where that computes in float32.
_LENGTH = 8
_PADS = tuple(row % _LENGTH for row in range(32))
_AT_ONCE = 64
"""Texts that a worker reads at a time: as many as are read at a time without a cluster."""


class SpreadModel(WrappedModel):
    """A scoring model on a Ray cluster. See `ScoringModel`; what is cheap is done here, by a model of one's own.

    It leaves the cluster when it is closed.
    """

    def __init__(self, model: ScoringModel, address: str, workers: int = 0) -> None:
        """Join a cluster, and start a worker on each of its processors.

        Args:
            model: the same model, here.
            address: host:port of the cluster's head; "local" starts one on this machine.
            workers: how many; as many as the cluster has processors if 0.

        Raises:
            MissingPart: Ray is not installed.
            UsageError: the address is none.
            DiscreetError: nothing answers there, or the workers cannot load the model, or are not alike.
        """
        super().__init__(model)
        self._tokenizing, self._stopped = Lock(), Event()
        self._ray = joined(address, workers)
        found = int(self._ray.cluster_resources().get("CPU", 1))
        self.workers = min(workers or found, found)
        self._turn = count()
        try:
            made = self._ray.remote(**_SHARE)(Worker)
            self._started = [made.remote(model.name) for _ in range(self.workers)]
            with self._explained():
                probes = self._ray.get([worker.probe.remote() for worker in self._started], timeout=_START)
            _alike(probes)
        except BaseException:  # Ctrl-C, too: a cluster that is not left cannot be joined again
            self.close()
            raise
        self.probe: str = probes[0]

    def close(self) -> None:
        """Leave the cluster; the workers stop."""
        self._ray.shutdown()

    # A tokenizer has switches that a call sets and relies on: beside another thread's, what looks like a control token
    # in a document might be obeyed, or a document be left out, by chance.

    def encode(self, text: str) -> list[int]:
        """As the model's, a thread at a time."""
        with self._tokenizing:
            return super().encode(text)

    def decode(self, tokens: Sequence[int]) -> str:
        """As the model's, a thread at a time."""
        with self._tokenizing:
            return super().decode(tokens)

    def chat(self, system: str, examples: Sequence[tuple[str, str]]) -> tuple[list[int], list[int]]:
        """As the model's, a thread at a time."""
        with self._tokenizing:
            return super().chat(system, examples)

    def start(self, shared: Sequence[int], prompts: Sequence[Prompt], max_tokens: int) -> "SpreadDecoding":
        """Begin to continue prompts on the worker whose turn it is; the next ones go to the next worker."""
        number, worker = self._next()
        worker.start.remote(number, tuple(shared), tuple(prompts), max_tokens)
        return SpreadDecoding(self, worker, number)

    def surprise(self, shared: Sequence[int], prompts: Sequence[Prompt]) -> Logits:
        """Minus the log-probability of each token, by the worker whose turn it is."""
        _, worker = self._next()
        found: Logits = self.result(worker.surprise.remote(tuple(shared), tuple(prompts)))
        return found

    def read(self, reader: Callable[[ScoringModel, list[str]], list[Any]], texts: Sequence[str]) -> Iterator[Any]:
        """What `reader` makes of each text, in the order of the texts, by Ray Data.

        Args:
            reader: makes something that JSON can hold of each text by itself. It is sent to the workers.
            texts: the texts; read in batches.

        Raises:
            DiscreetError: the workers could not.
        """
        rows = self._ray.data.from_items([{"place": place, "text": text} for place, text in enumerate(texts)])
        done = rows.map_batches(
            _Reader,
            batch_size=_AT_ONCE,
            compute=self._ray.data.ActorPoolStrategy(size=self.workers),
            fn_constructor_args=(self.name, reader, self.probe),
            **_SHARE,
        )
        early: dict[int, Any] = {}
        wanted = 0
        with self._explained():
            for row in done.iter_rows():
                early[int(row["place"])] = json.loads(row["found"])
                while wanted in early:
                    yield early.pop(wanted)
                    wanted += 1

    def at_once(self, works: Sequence[Callable[[], R]], told: Callable[[int], None]) -> list[R]:
        """See `at_once` below."""
        threads, stop, done = ThreadPoolExecutor(self.workers), True, 0
        try:
            begun = [threads.submit(work) for work in works]
            waiting = set(begun)
            while waiting:
                # Awake now and then: a Ctrl-C that the system hands to another thread does not wake this one.
                ended, waiting = wait(waiting, _LOOK, FIRST_COMPLETED)
                for one in ended:
                    stop = one.exception() is None  # beside a failure, what is under way may end
                    one.result()
                    done += 1
                    told(done)
            stop = False
            return [one.result() for one in begun]
        finally:
            self._end(threads, stop)

    def result(self, promise: Any) -> Any:
        """What a worker found.

        Raises:
            DiscreetError: the workers failed, or Ctrl-C stopped the work that this belongs to.
        """
        with self._explained():
            while not self._stopped.is_set():
                if self._ray.wait([promise], timeout=_LOOK)[0]:
                    return self._ray.get(promise)
        raise DiscreetError("Stopped. What was paid and drawn is kept: run the command again.")

    def _end(self, threads: ThreadPoolExecutor, stop: bool) -> None:
        """Begin nothing more, and wait for what is under way, however often Ctrl-C is pressed.

        This process lets go of the vault afterwards, and another may draw: none of its threads may draw then.
        """
        ended, watched, pressed = Event(), False, list[BaseException]()

        def watch() -> None:
            threads.shutdown(cancel_futures=True)
            ended.set()

        while not ended.is_set():
            try:
                if stop:
                    self._stopped.set()
                if not watched:
                    # By a thread that Ctrl-C does not reach: a wait that is interrupted takes the other for ended.
                    Thread(target=watch, daemon=True).start()
                    watched = True
                ended.wait(_LOOK)
            except BaseException as error:  # whatever a signal raises
                stop = True
                pressed.append(error)
        self._stopped.clear()
        if pressed:
            raise pressed[0]

    def _next(self) -> tuple[int, Any]:
        number = next(self._turn)
        return number, self._started[number % self.workers]

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except (self._ray.exceptions.RayError, self._ray.data.exceptions.SystemException) as error:
            # Without the worker's own error, whose message may hold words of a document.
            raise DiscreetError(
                f"The workers of the cluster failed ({type(error).__name__}). Each needs discreet in this version, its "
                f"extras local and ray, the model '{self.name}', memory for it, and a processor like the others'. What "
                "was paid and drawn is kept: run the command again."
            ) from None


class SpreadDecoding:
    """A batch of prompts that a worker continues. Nothing waits before a result is wanted."""

    def __init__(self, model: SpreadModel, worker: Any, number: int) -> None:
        self._model, self._worker, self._number = model, worker, number
        weakref.finalize(self, _forget, worker, number)

    def best(self) -> Tokens:
        """The most likely next token of each row, shape (rows,)."""
        found: Tokens = self._model.result(self._do("best"))
        return found

    def logits(self) -> Logits:
        """The logits of the next token, shape (rows, vocabulary)."""
        found: Logits = self._model.result(self._do("logits"))
        return found

    def append(self, token: int) -> None:
        """Continue every row with `token`."""
        self._do("append", token)

    def append_each(self, tokens: Sequence[int]) -> None:
        """Continue every row with a token of its own."""
        self._do("append_each", tuple(tokens))

    def truncate(self, length: int) -> None:
        """Forget all but the first `length` appended tokens."""
        self._do("truncate", length)

    def _do(self, what: str, *given: object) -> Any:
        return self._worker.do.remote(self._number, what, *given)


class Worker:
    """On a processor of the cluster: the model, and the batches that it continues."""

    def __init__(self, name: str) -> None:
        self._model = load_model(name)
        self._begun: dict[int, ScoredDecoding] = {}

    def probe(self) -> str:
        """What this worker makes of public rows."""
        return probe(self._model)

    def start(self, number: int, shared: Sequence[int], prompts: Sequence[Prompt], max_tokens: int) -> None:
        """Begin a batch."""
        self._begun[number] = self._model.start(shared, prompts, max_tokens)

    def do(self, number: int, what: str, *given: object) -> Any:
        """Have a batch do something. One in which something failed does nothing more: nobody waited for that step."""
        batch = self._begun[number]
        try:
            return getattr(batch, what)(*given)
        except BaseException:
            del self._begun[number]
            raise

    def forget(self, number: int) -> None:
        """A batch is not needed any more."""
        self._begun.pop(number, None)

    def surprise(self, shared: Sequence[int], prompts: Sequence[Prompt]) -> Logits:
        """See `ScoringModel`."""
        return self._model.surprise(shared, prompts)


class _Reader:
    """On a processor of the cluster: reads batches of texts."""

    def __init__(self, name: str, reader: Callable[[ScoringModel, list[str]], list[Any]], expected: str) -> None:
        self._model, self._reader = load_model(name), reader
        _alike([expected, probe(self._model)])

    def __call__(self, batch: dict[str, Any]) -> dict[str, Any]:
        found = self._reader(self._model, [str(text) for text in batch["text"]])
        return {"place": batch["place"], "found": [json.dumps(each) for each in found]}


def probe(model: ScoringModel) -> str:
    """A digest of what a model makes of public rows, read and continued: it tells kinds of machine apart."""
    if isinstance(model, SpreadModel):
        return model.probe
    prompts = [Prompt((model.pad_token,) * pads + (7,) * (_LENGTH - pads), pads) for pads in _PADS]
    decoding = model.start((5, 6), prompts, 2)
    before = decoding.logits()
    decoding.append(9)
    found = (before, decoding.logits(), model.surprise((5, 6), prompts))
    return hashlib.blake2b(b"".join(each.tobytes() for each in found)).hexdigest()


def _alike(probes: Sequence[str]) -> None:
    if len(set(probes)) > 1:
        raise DiscreetError(
            "The workers of the cluster are not alike: the model says something else on some of them, by rounding if "
            "nothing else. One unit could then change what others are said to have written. Use machines of one kind, "
            "with the same versions of torch and transformers, and the same model."
        )


def _forget(worker: Any, number: int) -> None:
    with suppress(Exception):  # the cluster may be gone
        worker.forget.remote(number)


def at_once(model: ScoringModel, works: Sequence[Callable[[], R]], told: Callable[[int], None]) -> list[R]:
    """What several pieces of work come to, in their order.

    On a cluster as many are under way at once as it has workers, each in a thread; without one, one after the other.

    Args:
        model: the model that they ask.
        works: the pieces, begun in this order. What one comes to must not follow from what another does, or when.
        told: told how many are done, from 0 on, by the thread that calls this.

    Raises:
        Exception: of the first that failed, when those that were under way beside it are done. No more are begun then.
        KeyboardInterrupt: those that were under way have stopped at their next step.
    """
    told(0)
    if isinstance(model, SpreadModel):
        return model.at_once(works, told)
    found = list[R]()
    for done, work in enumerate(works, 1):
        found.append(work())
        told(done)
    return found


@contextmanager
def spread(model: ScoringModel, address: str | None) -> Iterator[ScoringModel]:
    """The model, its work spread over the cluster at an address while this lasts; the model itself if there is none."""
    if address is None:
        yield model
        return
    over = SpreadModel(model, address)
    try:
        yield over
    finally:
        over.close()

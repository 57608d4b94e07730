"""Released answers. They are public, so their reuse is free.

MuRAG, "historical QA": differential privacy is closed under post-processing. A repeated question gets its earlier
answer. Answers to related questions may be in the public prompt, so that the voters agree with it more often.

Single flight: of several askers of one question at one time, one pays, and the others wait for its release.

"No answer" is also a release. It is kept, and repeated for free if the question is asked in the same way. No change of
the documents removes it, since its removal would reveal the change.

VAULT/history.jsonl   one release a line, in their order of time
"""

import json
import math
import os
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from hashlib import blake2b
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Annotated, Any, BinaryIO, TypeVar

import numpy as np
from numpy.typing import NDArray
from pydantic import AfterValidator, TypeAdapter
from pydantic.dataclasses import dataclass as checked_dataclass

from discreet.algorithms.base import Figure, Stopped, Support
from discreet.errors import StoreError
from discreet.questions.request import FACT, KINDS
from discreet.statistics.cells import MAY_LACK, Counted
from discreet.store.embedding import Embedder, embed_questions
from discreet.system.words import essence

if TYPE_CHECKING:
    from discreet.ledger.ledger import LogLedger

LINE = 2
"""The version of a line. Lines of another one are skipped."""
_LAST = 4096
"""Bytes by which a file is recognised."""
NOTHING = "public"
"""The reason of the end of "no answer"."""


T = TypeVar("T")


def _checked(counts: Counted) -> Counted:
    """Return counts, each of which has a law.

    Raises:
        ValueError: if they have none, or other ones: a line is damaged.
    """
    sound = 0 < len(counts.counts) == len(counts.deviations) == len(counts.laws)
    if not (sound and all(0 <= one < math.inf for one in counts.deviations)):
        raise ValueError("counts and the laws of their noise do not match")
    return counts


@checked_dataclass(frozen=True)
class Released:
    """A released answer, or a released "no answer".

    Attributes:
        question: the question.
        answer: the released text; empty for "no answer".
        stopped: the reason of its end.
        algorithm: the name of its algorithm.
        tokens: its number of tokens.
        choices: the public choices of the answer, or what else sets it apart (`Statistic.set_apart`).
        released: the short answer or the keywords, if it was paid as a whole.
        shares: noisy numbers of votes for each choice, if they were paid.
        support: the noisy number of units that gave the answer, if it was released with it.
        table: the numbers of a statistic.
        vector: the vector of the question, as `AnswerCache.add` writes it; empty for "no answer".
        public_text: the answer of the model without documents, if it is the same, or if there is "no answer".
        way: a hash of the algorithm and its parameters; empty if it is not known.
        counts: the noisy counts of a statistic.
        parts: the parameters of a statistic that say what it is about.
        time: the minute in which it left, UTC; empty if it is not known.
        epsilon: what the release cost any one unit at most; None if it is not known.
        asked: what set the statistic apart before a schema named its attribute; empty if it is `choices`.
        assumed: what its guarantee takes for granted, as on its receipt.
    """

    question: str
    answer: str
    stopped: Stopped
    algorithm: str
    tokens: int
    choices: tuple[str, ...] = ()
    released: tuple[str, ...] = ()
    shares: dict[str, int] | None = None
    support: Support | None = None
    table: tuple[Figure, ...] = ()
    vector: str = field(default="", repr=False)
    public_text: str = ""
    way: str = ""
    counts: Annotated[Counted, AfterValidator(_checked)] | None = None
    parts: dict[str, Any] | None = None
    time: str = ""
    epsilon: float | None = None
    asked: tuple[str, ...] = ()
    assumed: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        # Lines of an earlier form say that units may be missing, and not how many.
        if self.counts and self.counts.unable == 0 and MAY_LACK in self.answer:
            object.__setattr__(self, "counts", replace(self.counts, unable=None))

    @property
    def moments(self) -> tuple[str, ...]:
        """The minute of the release, if it is known."""
        return (self.time,) if self.time else ()

    @property
    def unable(self) -> int | None:
        """How many units at most its numbers lack, since they could not pay; None if it may be any number."""
        if self.counts:
            return self.counts.unable
        return None if MAY_LACK in self.answer else 0

    @property
    def is_answer(self) -> bool:
        """Whether an answer was released."""
        return self.stopped != NOTHING


@dataclass
class _Read:
    """What was read of the file, and is not changed: of a file that has grown, a copy is read from `end` on.

    Attributes:
        state: of the file when it was read (`_state`).
        end: the number of bytes that were read, up to the last line break.
        last: the bytes before `end`: another file in its place has others.
        releases: in their order.
        asked: the releases by the essence of the question.
        apart: the latest statistic by the parts that were released, or asked for.
        made: what was made of all releases, with the number of them.
    """

    state: tuple[int, ...] = ()
    end: int = 0
    last: bytes = b""
    releases: list[Released] = field(default_factory=list)
    asked: dict[tuple[str, ...], tuple[Released, ...]] = field(default_factory=dict)
    apart: dict[tuple[str, ...], Released] = field(default_factory=dict)
    made: dict[Callable[[list[Released]], Any], tuple[int, Any]] = field(default_factory=dict)

    def is_start_of(self, file: BinaryIO, state: tuple[int, ...]) -> bool:
        """Return whether a file is the one that was read, with more lines."""
        if state[:2] != self.state[:2] or state[2] <= self.state[2]:
            return False
        file.seek(self.end - len(self.last))
        return file.read(len(self.last)) == self.last

    def copy(self) -> "_Read":
        """Return a copy, to which lines can be added."""
        copies = {name: getattr(self, name).copy() for name in ("releases", "asked", "apart", "made")}
        return replace(self, **copies)

    def add(self, text: bytes) -> None:
        """Add the lines of the text at `end`."""
        self.end += len(text)
        self.last = (self.last + text)[-_LAST:]
        for line in text.decode(errors="replace").split("\n"):  # not `splitlines`: U+2028 ends no line
            if released := _parsed(line):
                self.releases.append(released)
                words = essence(released.question)
                self.asked[words] = (*self.asked.get(words, ()), released)
                if released.table:
                    self.apart |= dict.fromkeys((released.choices, released.asked), released)


class AnswerCache:
    """The released answers of a vault, in a file to which lines are appended."""

    def __init__(self, path: Path, embedder: Embedder) -> None:
        self._path, self._embedder = path, embedder
        self._read, self._reading, self._fixed = _Read(), Lock(), False

    def as_it_is(self) -> "AnswerCache":
        """Return the releases up to now, for reading: what is added later is not in them."""
        cache = AnswerCache(self._path, self._embedder)
        cache._read, cache._fixed = self._look(), True
        return cache

    def add(self, released: Released) -> None:
        """Keep a release, durably. An answer is kept with its question's vector, which is then not computed again."""
        # Numbers help no other question, and a statistic needs no embedder.
        vector = ""
        if released.is_answer and not released.table:
            vector = b64encode(embed_questions(self._embedder, [released.question])[0].astype("<f2").tobytes()).decode()
        line = {"version": LINE} | asdict(released) | {"vector": vector}
        try:
            with self._path.open("a", encoding="utf-8") as file:
                # The first line break ends a line that a crash cut off.
                file.write("\n" + json.dumps(line, ensure_ascii=False) + "\n")
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise StoreError(f"The answer could not be kept in {self._path}: {error.strerror}. It was paid.") from error

    def all(self) -> list[Released]:
        """Return all releases in their order of time. Skip lines that a crash cut off, and lines of another version."""
        return list(self._look().releases)

    def made_of_all(
        self, make: Callable[[list[Released]], T], more: Callable[[T, list[Released]], T] | None = None
    ) -> T:
        """Return what `make` returns for all releases. It is made once for as many lines.

        Args:
            make: returns it.
            more: returns it from what was made before and from the releases since then; `make` from all if None.
        """
        read = self._look()
        number, kept_value = read.made.get(make, (-1, None))
        if number != len(read.releases):
            kept_value = more(kept_value, read.releases[number:]) if more and number >= 0 else make(list(read.releases))
            read.made[make] = len(read.releases), kept_value
        value: T = kept_value
        return value

    def same(self, question: str, choices: Sequence[str] = (), way: str = "") -> Released | None:
        """Return the latest answer to the same question. Ignore case, punctuation and words without meaning.

        The answer has the same `choices`. If there is no answer, return the "no answer" to the question in the same
        `way`.
        """
        wanted, chosen = essence(question), sorted(choices)
        alike = self._look().asked.get(wanted, ()) if wanted else ()
        same_choices = [one for one in reversed(alike) if sorted(one.choices) == chosen]
        answers = (one for one in same_choices if one.is_answer)
        nothings = (one for one in same_choices if not one.is_answer and one.way == way)
        return next(answers, None) or next(nothings, None)

    def apart(self, parts: Sequence[str]) -> Released | None:
        """Return the latest statistic of the same parts, in any words: the parts that were released, or asked for."""
        return self._look().apart.get(tuple(parts)) if parts else None

    def related(self, question: str, count: int, similarity: float, *, others: bool = False) -> list[Released]:
        """Return the answers to the nearest questions above a similarity, nearest first, one for each question.

        "No answer" helps no other question, and is left out. With `others`, answers to the same question are left out.
        """
        by_words = self._look().asked.items()
        same = (alike for words, alike in by_words if not (others and words == essence(question)))
        texts = ([one for one in alike if one.is_answer and not one.table] for alike in same)
        latest = (alike[-1] for alike in texts if alike)
        with_vectors = [(one, vector) for one in latest if (vector := self._vector(one)) is not None]
        if not with_vectors:
            return []
        releases = [one for one, _ in with_vectors]
        vectors = np.array([vector for _, vector in with_vectors], dtype=np.float32)
        likeness = vectors @ embed_questions(self._embedder, [question])[0]
        order = [int(place) for place in np.argsort(-likeness, kind="stable")]
        return [releases[place] for place in order if likeness[place] >= similarity][:count]

    def _look(self) -> _Read:
        """Return what the file has: of one that has grown, what was added is read, and no more."""
        if self._fixed:
            return self._read
        try:
            with self._reading, self._path.open("rb") as file:
                # From before the reading: what is added meanwhile is read the next time.
                state = _state(os.fstat(file.fileno()))
                if self._read.state != state:
                    self._read = self._read_on(file, state)
        except FileNotFoundError:
            return _Read()
        except OSError as error:
            raise StoreError(f"{self._path} cannot be read: {error.strerror}.") from error
        return self._read

    def _read_on(self, file: BinaryIO, state: tuple[int, ...]) -> _Read:
        content = self._read.copy() if self._read.is_start_of(file, state) else _Read()
        file.seek(content.end)
        text = file.read()
        start = text.rfind(b"\n") + 1
        if _parsed(text[start:].decode(errors="replace")) is None:
            text = text[:start]  # another process may be writing the rest
        content.add(text)
        content.state = state
        return content

    def _vector(self, released: Released) -> NDArray[np.float16] | None:
        """Return the vector of a release's question; None if it is missing or damaged."""
        try:
            vector = np.frombuffer(b64decode(released.vector, validate=True), dtype="<f2")
        except ValueError:
            return None
        return vector if vector.shape == (self._embedder.dimension,) and np.isfinite(vector).all() else None


def _state(found: os.stat_result) -> tuple[int, ...]:
    """Return what changes when another file takes the place of one, or a line is added to it."""
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns


def said(released: Sequence[Released]) -> tuple[str, ...]:
    """Return the words of questions, and of what was released to them."""
    texts = (text for one in released for text in (one.question, *one.released, *([] if one.table else [one.answer])))
    return tuple(dict.fromkeys(filter(None, texts)))


def as_record(released: Sequence[Released]) -> str:
    """Return earlier answers as a text for the public prompt."""
    return " ".join(f"{one.question} {one.answer}".strip() for one in released)


def _parsed(line: str) -> Released | None:
    """Return the release of a line; None for one that is damaged, cut off, or of another version."""
    try:
        if json.loads(line)["version"] != LINE:
            return None
        return _RELEASED.validate_json(line, strict=True)
    except (ValueError, KeyError, TypeError, RecursionError):
        return None


_RELEASED = TypeAdapter(Released)


def flight(question: str, choices: Sequence[str], secret: bytes) -> bytes:
    """Return the key of a question's flight. Questions with the same release have the same key. It reveals no question.

    Args:
        question: the question; the words that `AnswerCache.same` compares count.
        choices: the public choices of its answer, in any order.
        secret: the key of the vault.
    """
    content = json.dumps([essence(question), sorted(choices)]).encode(errors="surrogatepass")
    return blake2b(b"discreet flight " + content, key=secret[:64], digest_size=16).digest()


@contextmanager
def alone_with(question: str, choices: Sequence[str], secret: bytes, ledger: "LogLedger") -> Iterator[None]:
    """Hold a question's flight during the block. A question without meaningful words has no flight."""
    if not essence(question):
        yield
        return
    with ledger.alone(flight(question, choices, secret)):
        yield


# --- the list of releases ---------------------------------------------------------------------------------------------
# What a vault has released, as a list: about which units, what, when, and at which price. All of it is public.


@dataclass(frozen=True)
class ReleaseEntry:
    """A release.

    Attributes:
        time: its moment, UTC; empty if it is not known.
        question: the question.
        kind: the kind of the statistic; "fact" for an answer of voters.
        algorithm: the name of the algorithm.
        population: the units that it is about, in words; empty for all. Tests of declared fields are in it.
        condition: what holds of those that are counted, or what is listed or measured.
        groups: the groups that are compared.
        answer: the released text; None for "no answer".
        table: the numbers, with their intervals.
        epsilon: what it cost any one unit at most; None if it is not known.
    """

    time: str
    question: str
    kind: str
    algorithm: str
    population: str
    condition: str
    groups: tuple[str, ...]
    answer: str | None
    table: tuple[Figure, ...]
    epsilon: float | None


def list_releases(history: AnswerCache, kind: str = "") -> list[ReleaseEntry]:
    """Return the releases of a vault in their order of time; of one kind, if it is given."""
    entries = map(_entry, history.all())
    return [one for one in entries if kind in ("", one.kind)]


def _entry(released: Released) -> ReleaseEntry:
    parts = released.parts or {}
    where = [str(test) for test in _several(parts.get("where"))]
    population = ", ".join([one for one in (str(parts.get("population", "")),) if one] + where)
    said = str(parts.get("condition") or parts.get("attribute") or "")
    more = [f"{name} {parts[name]}" for name in ("since", "until") if parts.get(name)]
    return ReleaseEntry(
        released.time,
        released.question,
        released.algorithm if released.algorithm in KINDS else FACT,
        released.algorithm,
        population,
        ", ".join(one for one in (said, *more) if one),
        tuple(str(group) for group in _several(parts.get("groups"))),
        released.answer if released.is_answer else None,
        released.table,
        released.epsilon,
    )


def _several(value: object) -> list[object]:
    return list(value) if isinstance(value, list | tuple) else []

"""Answers that were released before: public, so that they may be used again for nothing.

MuRAG, "historical QA": differential privacy is closed under post-processing. A question that was asked before is
answered as it was then, and answers to related questions may stand in the public prompt, which makes the voters agree
with it more often.

That nothing was released for a question is itself a release: it is kept, and given again for nothing to who asks in the
same way. It is forgotten by no change of the documents, since that would tell that they changed.

VAULT/history.jsonl   one release a line, in the order in which they were made
"""

import json
import os
import re
from base64 import b64decode, b64encode
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import get_args

import numpy as np
from numpy.typing import NDArray

from discreet.algorithms.common.answer import Stopped
from discreet.errors import StoreError
from discreet.retrieval.embedding import Embedder
from discreet.system.unicode import is_unicode

LINE = 2
"""The version of a line. Those of version 1 have none, and are all answers."""
NOTHING = "public"
"""Why an answer ended of which nothing was released."""
# Words that change nothing about what a question asks for.
_EMPTY = frozenset(
    "a an the is are was were be do does did can could would will shall please tell me us you i my of for to in on at "
    "it its this that there what what's whats".split()
)


@dataclass(frozen=True)
class Released:
    """An answer that was released, or that nothing was.

    Attributes:
        question: what was asked.
        answer: what was released; empty if nothing was.
        stopped: why the answer ended.
        algorithm: how it was made.
        tokens: how long it is.
        choices: the public choices that it was chosen from.
        released: the short answer or the keywords, if it was paid as a whole.
        shares: noisy numbers of votes for each choice, if they were asked.
        vector: of the question, as `AnswerCache.add` writes it; empty if nothing was released.
        public_text: what the model says without documents, if nothing was released, or the same was.
        way: how it was asked: the algorithm with its parameters. Empty in lines of version 1.
    """

    question: str
    answer: str
    stopped: Stopped
    algorithm: str
    tokens: int
    choices: tuple[str, ...] = ()
    released: tuple[str, ...] = ()
    shares: dict[str, int] | None = None
    vector: str = field(default="", repr=False)
    public_text: str = ""
    way: str = ""

    @property
    def is_answer(self) -> bool:
        """Whether something was released."""
        return self.stopped != NOTHING


class AnswerCache:
    """The released answers of a vault, in a file to which lines are added."""

    def __init__(self, path: Path, embedder: Embedder) -> None:
        self._path, self._embedder = path, embedder

    def add(self, released: Released) -> None:
        """Keep a release, durably; an answer with its question's vector, so that it is not embedded again."""
        vector = self._encoded(released.question) if released.is_answer else ""
        line = {"version": LINE} | asdict(released) | {"vector": vector}
        try:
            with self._path.open("a", encoding="utf-8") as file:
                # A line of its own, also after one that a crash cut off.
                file.write("\n" + json.dumps(line, ensure_ascii=False) + "\n")
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise StoreError(f"The answer could not be kept in {self._path}: {error.strerror}. It was paid.") from error

    def all(self) -> list[Released]:
        """Every release, the first one first. A line that a crash cut off, or of a later version, is passed over."""
        try:
            lines = self._path.read_text(encoding="utf-8", errors="replace").split("\n")  # U+2028 is no end
        except FileNotFoundError:
            return []
        except OSError as error:
            raise StoreError(f"{self._path} cannot be read: {error.strerror}.") from error
        return [released for line in lines if (released := _parsed(line))]

    def same(self, question: str, choices: Sequence[str] = (), way: str = "") -> Released | None:
        """The latest answer to the same question, up to case, punctuation and words that say nothing.

        With `choices`, one that was chosen from the same; without, one that was not chosen from any. If there is no
        answer, that nothing was released, if the question was asked this `way`.
        """
        wanted = essence(question)
        found = [
            one
            for one in reversed(self.all())
            if wanted and essence(one.question) == wanted and sorted(one.choices) == sorted(choices)
        ]
        answers, nothings = (one for one in found if one.is_answer), (one for one in found if _is_nothing(one, way))
        return next(answers, None) or next(nothings, None)

    def related(self, question: str, count: int, similarity: float, *, others: bool = False) -> list[Released]:
        """The answers to the nearest questions at least so similar, nearest first; one for each question.

        That nothing was released is no answer, and helps no other question. With `others`, answers to the same
        question are left out.
        """
        latest = {essence(one.question): one for one in self.all() if one.is_answer}
        if others:
            latest.pop(essence(question), None)
        found = [(one, vector) for one in latest.values() if (vector := self._vector(one)) is not None]
        if not found:
            return []
        known = [one for one, _ in found]
        vectors = np.array([vector for _, vector in found], dtype=np.float32)
        likeness = vectors @ self._embedder.embed([question])[0]
        order = [int(place) for place in np.argsort(-likeness, kind="stable")]
        return [known[place] for place in order if likeness[place] >= similarity][:count]

    def _encoded(self, question: str) -> str:
        return b64encode(self._embedder.embed([question])[0].astype("<f2").tobytes()).decode()

    def _vector(self, released: Released) -> NDArray[np.float16] | None:
        """The vector of its question; None if there is none, or it was damaged."""
        try:
            vector = np.frombuffer(b64decode(released.vector, validate=True), dtype="<f2")
        except ValueError:
            return None
        return vector if vector.shape == (self._embedder.dimension,) and np.isfinite(vector).all() else None


def essence(question: str) -> tuple[str, ...]:
    """The words of a question that matter, in order."""
    return tuple(word for word in re.findall(r"[\w']+", question.casefold()) if word not in _EMPTY)


def as_record(released: Sequence[Released]) -> str:
    """Earlier answers as a text for the public prompt."""
    return " ".join(f"{one.question} {one.answer}".strip() for one in released)


def _is_nothing(released: Released, way: str) -> bool:
    return not released.is_answer and released.way == way


def _parsed(line: str) -> Released | None:
    try:
        content = json.loads(line)
        if not 1 <= content.pop("version", 1) <= LINE:
            return None
        found = Released(**content)
        sound = is_unicode(json.dumps(asdict(found), ensure_ascii=False))
    except (ValueError, TypeError, AttributeError, RecursionError):
        return None
    return found if sound and _fits(found) else None


def _fits(found: Released) -> bool:
    """Whether everything in a line is of its kind: a file may be damaged otherwise than by being cut off."""
    texts = (found.question, found.answer, found.stopped, found.algorithm, found.vector, found.public_text, found.way)
    several = (found.choices, found.released)
    return (
        all(isinstance(one, str) for one in texts)
        and found.stopped in get_args(Stopped)
        and isinstance(found.tokens, int)
        and all(isinstance(each, list | tuple) and all(isinstance(one, str) for one in each) for each in several)
        and (found.shares is None or isinstance(found.shares, dict))
    )

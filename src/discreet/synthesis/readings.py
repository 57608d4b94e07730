"""What the model read in each text, once: the statements of all texts of a vault, kept beside the texts.

VAULT/readings/done.json             which file is current, how its texts were read, and which units' texts were read
VAULT/readings/statements-*.jsonl    the statements of each text, by its content; a text that is erased loses its line

A text is read by itself, so its statements are a function of this text alone. Three things would let one unit change
the statements of another, and are excluded:

- A reading that was broken off has read some texts and not others, and their number decides which. So what it read does
  not count before a reading of all texts is complete.
- A machine of another kind may round in another way. So the statements of one reading are those of one kind of machine.
- A text that comes later may be the same as one that was read. It has no statements before the next reading, which
  names the units whose texts it covers.

All of it is private, like the vault.
"""

import fcntl
import json
import os
import secrets
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TextIO

from discreet.errors import StoreError, UsageError
from discreet.generation.capabilities import find_assumptions, require_scores
from discreet.generation.completer_adapter import adapt_completer
from discreet.generation.model import Completer, VotingModel
from discreet.generation.probing import check_ready, probe
from discreet.generation.prompts import DOCUMENT_TOKENS, REWRITING
from discreet.generation.ray_backend.model import use_ray
from discreet.retrieval.store import Store
from discreet.retrieval.unit_records import Statement
from discreet.synthesis.extraction_cache import ExtractionCache, digest
from discreet.synthesis.fact_extraction import PARSED, found_in, stated
from discreet.system.atomic_write import replace_file

FOLDER, DONE = "readings", "done.json"
TOKENS = 64
"""The number of tokens in which the model writes the statements of a text, at most."""

Owned = tuple[str, str]
"""A unit, and one of its texts."""


@dataclass(frozen=True)
class Done:
    """The last complete reading.

    Attributes:
        file: the name of the file with the statements.
        about: the model, the machine and the other conditions of the reading; empty if there is none.
        end: the number of bytes of the file that count.
        covered: the names of the units' texts that it covers.
        assumed: what a guarantee takes for granted about the model of the reading; for the receipts of votes by it.
    """

    file: str = "statements-0.jsonl"
    about: tuple[Any, ...] = ()
    end: int = 0
    covered: frozenset[str] = field(default=frozenset(), repr=False)
    assumed: tuple[str, ...] = ()

    @staticmethod
    def parse(text: str) -> "Done":
        """Return the reading that a file names; an empty one if it is damaged."""
        try:
            found = json.loads(text)
            name = str(found["file"])
            sound = name == Path(name).name and name.startswith("statements-")
            assumed = tuple(str(one) for one in found.get("assumed", ()))
            about, end, covered = tuple(found["about"]), int(found["end"]), frozenset(found["covered"])
            return Done(name, about, end, covered, assumed) if sound else Done()
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            return Done()

    def describe(self) -> str:
        """Return the content of the file."""
        about: dict[str, Any] = {"file": self.file, "about": list(self.about), "end": self.end}
        about |= {"assumed": list(self.assumed)} if self.assumed else {}
        return json.dumps(about | {"covered": sorted(self.covered)})


@dataclass(frozen=True)
class Read:
    """The statements of one moment, by the name of a text.

    Attributes:
        done: the reading.
        statements: the statements of each text.
    """

    done: Done
    statements: dict[str, tuple[Statement, ...]] = field(repr=False)

    def of(self, unit: str, text: str) -> tuple[Statement, ...]:
        """Return the statements of a unit's text; none if the reading does not cover it."""
        if _name(unit, text) not in self.done.covered:
            return ()
        return tuple(one for one in self.statements.get(digest(text), ()) if _grounded(one, text))


class Readings:
    """The statements of the texts of a vault.

    Args:
        folder: VAULT/readings.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @property
    def done(self) -> Done:
        """The last complete reading; an empty one if there is none."""
        try:
            return Done.parse((self._folder / DONE).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return Done()

    @property
    def complete(self) -> bool:
        """Whether the texts were read: public, since the custodian decides it."""
        return bool(self.done.about)

    @property
    def assumed(self) -> tuple[str, ...]:
        """What votes by these readings take for granted about the model that read: public."""
        return self.done.assumed

    @property
    def version(self) -> object:
        """A value that changes with each reading and each erasure."""
        with suppress(OSError):
            found = (self._folder / DONE).stat()
            return found.st_ino, found.st_mtime_ns, found.st_size
        return None

    def load(self) -> Read:
        """Return the statements of this moment."""
        while True:
            done = self.done
            if not done.about:
                return Read(done, {})
            with suppress(FileNotFoundError):
                return Read(done, self._load(done))
            if self.done == done:  # no erasure has put another file in its place: it is lost
                return Read(Done(), {})

    def read(self, model: VotingModel, owned: Callable[[], Sequence[Owned]], told: Callable[[int, int], None]) -> int:
        """Read the texts that were not read yet. Return the number of different texts.

        Run it again after an interruption: it goes on where it stopped.

        Args:
            model: the model.
            owned: returns the units and their texts; called after the file was opened, so that no erased text is
                written into the file of a later moment.
            told: called with the number of texts that are read, and that of all texts.

        Raises:
            StoreError: if there is no room for what was read.
            UsageError: if documents were erased meanwhile.
        """
        self._folder.mkdir(exist_ok=True)
        about = (model.name, probe(model), TOKENS, DOCUMENT_TOKENS, PARSED, REWRITING)
        before = self.done
        path = self._folder / before.file
        with path.open("a+", encoding="ascii", errors="replace") as file:
            pairs = owned()
            texts = sorted({text for _, text in pairs})
            cache = ExtractionCache(file, about, lambda fresh: stated(model, fresh, TOKENS, DOCUMENT_TOKENS))
            cache.of(texts, lambda done: told(done, len(texts)))
            file.flush()
            covered = frozenset(_name(unit, text) for unit, text in pairs)
            with self._alone():
                if not (self.done.file == before.file and path.exists() and path.stat().st_ino == _inode(file)):
                    raise UsageError("Documents were erased during the reading. Run it again: the others are kept.")
                done = Done(before.file, about, path.stat().st_size, covered, find_assumptions(model))
                replace_file(self._folder / DONE, done.describe())
        return len(texts)

    def keep(self, owned: Iterable[Owned]) -> None:
        """Remove what was read of all other texts, because documents were erased or replaced.

        The kept lines go into another file, which takes the place of the former one at one moment.

        Raises:
            StoreError: if a file cannot be written; the error names it.
        """
        pairs = list(owned)
        with self._alone():
            self._keep(pairs)

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Keep a reading and an erasure from ending at the same moment: the later one would undo the earlier one."""
        with (self._folder / "lock").open("w") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield

    def _keep(self, pairs: Sequence[Owned]) -> None:
        done = self.done
        path = self._folder / done.file
        if not path.exists():
            for lost in self._folder.glob("statements-*.jsonl"):  # no reading names them
                lost.unlink(missing_ok=True)
            return
        texts = {digest(text) for _, text in pairs}
        content = path.read_bytes()
        parts = [_lines_of(part, texts) for part in (content[: done.end], content[done.end :])]
        other = self._folder / f"statements-{secrets.token_hex(4)}.jsonl"
        covered = done.covered & {_name(unit, text) for unit, text in pairs}
        try:
            replace_file(other, "".join(parts))
            end = len(parts[0].encode()) if done.about else 0
            replace_file(self._folder / DONE, Done(other.name, done.about, end, covered, done.assumed).describe())
            for former in self._folder.glob("statements-*.jsonl"):
                if former != other:
                    former.unlink(missing_ok=True)
        except OSError as error:
            raise StoreError(
                f"{path} holds words of documents and cannot be replaced: {error.strerror}. Make room, and erase again."
            ) from error

    def _load(self, done: Done) -> dict[str, tuple[Statement, ...]]:
        found: dict[str, tuple[Statement, ...]] = {}
        content = (self._folder / done.file).read_bytes()[: done.end]
        for line in content.decode("ascii", errors="replace").split("\n"):
            with suppress(ValueError, TypeError, RecursionError):
                *about, name, facts = json.loads(line)
                if about == list(done.about) and isinstance(name, str):
                    found[name] = tuple(Statement(str(kind), str(value)) for kind, value in facts)
        return found


def read_all(
    readings: Readings, store: Store, model: Completer, told: Callable[[int, int], None], ray: str | None = None
) -> int:
    """Read all texts of a store, on a Ray cluster if one is named. Return the number of different texts.

    Raises:
        UsageError: if a cluster is named, and the model has no logits, which the workers of a cluster are compared by.
    """
    check_ready(model)
    if ray is None:
        return readings.read(adapt_completer(model), lambda: owned_texts(store), told)
    with use_ray(require_scores(model, "read --ray"), ray) as reader:
        return readings.read(reader, lambda: owned_texts(store), told)


def owned_texts(store: Store) -> list[Owned]:
    """Return the units and their texts."""
    return [(stored.unit, stored.text) for stored in store.texts()]


def _name(unit: str, text: str) -> str:
    """Return the name of a unit's text."""
    return digest(f"{len(unit)} {unit} {text}")


def _grounded(statement: Statement, text: str) -> bool:
    return bool(found_in(text, [(statement.attribute, statement.value)]))


def _lines_of(content: bytes, kept: set[str]) -> str:
    """Return the lines about texts that are kept."""
    lines = content.decode("ascii", errors="replace").split("\n")
    return "".join(f"{line}\n" for line in lines if _named(line) in kept)


def _named(line: str) -> str | None:
    with suppress(ValueError, TypeError, IndexError, RecursionError):
        name = json.loads(line)[-2]
        return name if isinstance(name, str) else None
    return None


def _inode(file: TextIO) -> int:
    return os.fstat(file.fileno()).st_ino

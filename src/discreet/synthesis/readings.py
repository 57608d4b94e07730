"""What the model read in each text, once: the statements of all texts of a vault, kept beside the texts.

VAULT/readings/statements.jsonl   the statements of each text, by its content; a text that is erased loses its line
VAULT/readings/done.json          how the texts were read, and how many bytes of the file are complete readings

A text is read by itself, so its statements are a function of this text alone. Two things would let one unit change the
statements of another. A reading that was broken off has read some texts and not others, and their number decides
which. So what it read does not count before a reading of all texts is complete. And a machine of another kind may round
in another way. So the statements of one reading are those of one kind of machine.

All of it is private, like the vault.
"""

import json
import os
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

from discreet.errors import StoreError, UsageError
from discreet.generation.capabilities import require_scores
from discreet.generation.model import Completer, ScoringModel
from discreet.generation.probing import probe
from discreet.generation.prompts import DOCUMENT_TOKENS, REWRITING
from discreet.generation.ray_backend.model import use_ray
from discreet.retrieval.store import Store
from discreet.retrieval.unit_records import Statement
from discreet.synthesis.extraction_cache import ExtractionCache, digest
from discreet.synthesis.fact_extraction import PARSED, found_in, stated
from discreet.system.atomic_write import replace_file

FOLDER, STATEMENTS, DONE = "readings", "statements.jsonl", "done.json"
TOKENS = 64
"""The number of tokens in which the model writes the statements of a text, at most."""


@dataclass(frozen=True)
class Done:
    """A complete reading.

    Attributes:
        about: the model, the machine and the other conditions of the reading.
        end: the number of bytes of the file that count.
    """

    about: tuple[Any, ...] = ()
    end: int = 0


class Readings:
    """The statements of the texts of a vault.

    Args:
        folder: VAULT/readings.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._known: tuple[Done, dict[str, tuple[Statement, ...]]] = (Done(), {})

    @property
    def done(self) -> Done:
        """The last complete reading; an empty one if there is none."""
        try:
            found = json.loads((self._folder / DONE).read_text(encoding="utf-8"))
            return Done(tuple(found["about"]), int(found["end"]))
        except (OSError, ValueError, KeyError, TypeError):
            return Done()

    @property
    def complete(self) -> bool:
        """Whether the texts were read: public, since the custodian decides it."""
        return bool(self.done.about)

    def of(self, text: str) -> tuple[Statement, ...]:
        """Return the statements of a text; none if it was not read."""
        done = self.done
        if self._known[0] != done:
            self._known = (done, self._load(done))
        return tuple(one for one in self._known[1].get(digest(text), ()) if _grounded(one, text))

    def read(self, model: ScoringModel, texts: Sequence[str], told: Callable[[int], None]) -> int:
        """Read the texts that were not read yet. Return the number of all texts.

        Run it again after an interruption: it goes on where it stopped.

        Raises:
            StoreError: if there is no room for what was read.
            UsageError: if documents were erased meanwhile.
        """
        self._folder.mkdir(exist_ok=True)
        about = [model.name, probe(model), TOKENS, DOCUMENT_TOKENS, PARSED, REWRITING]
        path = self._folder / STATEMENTS
        with path.open("a+", encoding="ascii", errors="replace") as file:
            cache = ExtractionCache(file, about, lambda fresh: stated(model, fresh, TOKENS, DOCUMENT_TOKENS))
            cache.of(texts, told)
            file.flush()
            if not (path.exists() and path.stat().st_ino == _inode(file)):
                raise UsageError("Documents were erased during the reading. Run it again: the others are kept.")
            replace_file(self._folder / DONE, json.dumps({"about": about, "end": path.stat().st_size}))
        return len(texts)

    def keep(self, texts: Iterable[str]) -> None:
        """Remove what was read of all other texts, because documents were erased or replaced.

        Raises:
            StoreError: if a file cannot be written; the error names it.
        """
        path, done = self._folder / STATEMENTS, self.done
        if not path.exists():
            return
        kept = {digest(text) for text in texts}
        content = path.read_bytes()
        parts = [_lines_of(part, kept) for part in (content[: done.end], content[done.end :])]
        try:
            (self._folder / DONE).unlink(missing_ok=True)  # until the file has the right length
            replace_file(path, "".join(parts))
            if done.about:
                end = len(parts[0].encode())
                replace_file(self._folder / DONE, json.dumps({"about": done.about, "end": end}))
        except OSError as error:
            raise StoreError(
                f"{path} holds words of documents and cannot be replaced: {error.strerror}. Make room, and erase again."
            ) from error

    def _load(self, done: Done) -> dict[str, tuple[Statement, ...]]:
        found: dict[str, tuple[Statement, ...]] = {}
        if not done.about:
            return found
        with suppress(OSError):
            content = (self._folder / STATEMENTS).read_bytes()[: done.end]
            for line in content.decode("ascii", errors="replace").split("\n"):
                with suppress(ValueError, TypeError, RecursionError):
                    *about, name, facts = json.loads(line)
                    if about == list(done.about) and isinstance(name, str):
                        found[name] = tuple(Statement(str(kind), str(value)) for kind, value in facts)
        return found


def read_all(
    readings: Readings, store: Store, model: Completer, progress: Callable[[int, int], None], ray: str | None = None
) -> int:
    """Read all texts of a store, on a Ray cluster if one is named. Return their number."""
    texts = sorted({stored.text for stored in store.texts()})
    with use_ray(require_scores(model, "read"), ray) as reader:
        return readings.read(reader, texts, lambda done: progress(done, len(texts)))


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

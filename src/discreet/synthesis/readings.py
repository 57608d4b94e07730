"""What was read in each text, once: the codes and the statements of all texts of a vault, kept beside the texts.

VAULT/codes/       the codes: the values of the codebook that a coder found in each text
VAULT/readings/    the statements: what the model wrote of each text in its own words

Both have the same files.

done.json             which file is current, how and under which book its texts were read, and which units' texts
statements-*.jsonl    what was read in each text, by its content; a text that is erased loses its line

A text is read by itself, so its statements are a function of this text alone. Three things would let one unit change
the statements of another, and are excluded:

- A reading that was broken off has read some texts and not others, and their number decides which. So what it read does
  not count before a reading of all texts is complete.
- A machine of another kind may round in another way. So the statements of one reading are those of one kind of machine.
- A text that comes later may be the same as one that was read. It has no statements before the next reading, which
  names the units whose texts it covers.

- A reading under another book is another reading. The former one counts until all texts are read again.

All of it is private, like the vault. The book alone is public (VAULT/codebook.yaml).
"""

import fcntl
import json
import os
import secrets
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol, TextIO

from discreet.algorithms.text.phrases import is_denied_in, sentences_of
from discreet.engines.ray import use_ray
from discreet.errors import StoreError, UsageError
from discreet.models.capabilities import check_ready, find_assumptions, probe, require_scores
from discreet.models.completer import adapt_completer
from discreet.models.prompts import ASKING, DOCUMENT_TOKENS, REWRITING
from discreet.models.protocol import Completer, VotingModel
from discreet.store.codebook import Codebook
from discreet.store.protocol import Store
from discreet.store.unit_records import Owned, TextStatement, owned_texts
from discreet.synthesis.extraction import PARSED, ExtractionCache, digest, stated
from discreet.synthesis.extraction import Read as Reader
from discreet.synthesis.statements import ASKED, Found, as_written, asked, stands_in
from discreet.system.files import replace_file

# --- which reading counts ---------------------------------------------------------------------------------------------

# The lines of a reading are found by their beginning, which all lines of one way of reading share. A question needs the
# statements of some texts only, and parsing those of all texts would take most of its time.


@dataclass(frozen=True)
class Done:
    """The last complete reading.

    Attributes:
        file: the name of the file with the statements.
        about: the model, the machine and the other conditions of the reading; empty if there is none.
        end: the number of bytes of the file that count.
        covered: the names of the units' texts that it covers.
        schema: the attributes that were asked for; None if the model chose what to write.
        assumed: what a guarantee takes for granted about the model of the reading; for the receipts of votes by it.
    """

    file: str = "statements-0.jsonl"
    about: tuple[Any, ...] = ()
    end: int = 0
    covered: frozenset[str] = field(default=frozenset(), repr=False)
    schema: Codebook | None = None
    assumed: tuple[str, ...] = ()

    @staticmethod
    def parse(text: str) -> "Done":
        """Return the reading that a file names; an empty one if it is damaged."""
        try:
            fields = json.loads(text)
            name = str(fields["file"])
            sound = name == Path(name).name and name.startswith("statements-")
            schema = Codebook.parse(fields["schema"]) if fields.get("schema") else None
            assumed = tuple(str(one) for one in fields.get("assumed", ()))
            about, end, covered = tuple(fields["about"]), int(fields["end"]), frozenset(fields["covered"])
            return Done(name, about, end, covered, schema, assumed) if sound else Done()
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            return Done()

    def gives_facts(self, about: Sequence[Any]) -> bool:
        """Return whether the texts were read in this way, and without a schema: public."""
        return self.schema is None and list(self.about) == list(about)

    def describe(self) -> str:
        """Return the content of the file."""
        about: dict[str, Any] = {"file": self.file, "about": list(self.about), "end": self.end}
        if self.schema is not None:
            about["schema"] = self.schema.describe()
        about |= {"assumed": list(self.assumed)} if self.assumed else {}
        return json.dumps(about | {"covered": sorted(self.covered)})


class ReadStatements:
    """The statements of one moment, by the name of a text (`digest`).

    Attributes:
        done: the reading.
    """

    def __init__(self, done: Done, content: bytes = b"") -> None:
        """Find the line of each text. Lines of other readings, and damaged ones, are ignored.

        Args:
            done: the reading.
            content: the part of its file that counts.
        """
        self.done = done
        self._lines = dict(_lines(done.about, content)) if content else {}
        self._values: dict[str, dict[str, tuple[str, ...]]] = {}

    @cached_property
    def _coded(self) -> dict[str, tuple[str, ...]]:
        """The public values of each code; empty if statements were read."""
        return {one.name: one.names for one in self.done.schema.coded} if self.done.schema else {}

    @property
    def names(self) -> Iterator[str]:
        """The names of the texts that were read."""
        return iter(self._lines)

    @cached_property
    def kinds(self) -> frozenset[str]:
        """The kinds of all statements."""
        if self.done.schema is not None:
            return frozenset(one.name for one in self.done.schema.attributes)
        return frozenset(one.attribute for name in self._lines for one in self.named(name))

    def named(self, name: str) -> tuple[TextStatement, ...]:
        """Return the statements of the text with this name, as the model wrote them; none if it was not read."""
        return _parse(self._lines.get(name, "[]"))

    def covers(self, unit: str, text: str) -> bool:
        """Return whether a unit's text was read."""
        return name_of(unit, text) in self.done.covered

    def coded(self, unit: str, text: str) -> Mapping[str, tuple[str, ...]] | None:
        """Return the values of each code of a unit's text, by the names of fields; None if it was not coded."""
        if not self.covers(unit, text):
            return None
        line = self._lines.get(digest(text), "[]")
        values = self._values.get(line)
        if values is None:  # the codes of many texts are the same line
            values = dict.fromkeys((name.replace(" ", "_") for name in self._coded), ())
            for one in _parse(line):
                name = one.attribute.replace(" ", "_")
                if (
                    one.value in self._coded.get(one.attribute, ())
                    and not one.negated
                    and one.value not in values[name]
                ):
                    values[name] = (*values[name], one.value)
            self._values[line] = values
        return values

    def of(self, unit: str, text: str) -> tuple[TextStatement, ...]:
        """Return the statements of a unit's text; none if the reading does not cover it.

        Without a schema, a line does not tell whether the text denies the statement. So the text is asked here, by the
        rule of a reading under a schema.
        """
        if not self.covers(unit, text):
            return ()
        read = (_as_written(one, text) for one in self.named(digest(text)))
        statements = tuple(one for one in read if stands_in(one.value, one.number, text))
        if self.done.schema is not None or not statements:
            return statements
        sentences = sentences_of(text)
        return tuple(replace(one, negated=is_denied_in(sentences, one.value)) for one in statements)


def name_of(unit: str, text: str) -> str:
    """Return the name of a unit's text, by which a reading covers it."""
    return digest(f"{len(unit)} {unit} {text}")


def _lines(about: Sequence[Any], content: bytes) -> Iterator[tuple[str, str]]:
    """Yield the name of each text, and the rest of its line: a list of statements."""
    start = json.dumps([*about, ""])[:-2]  # up to the name
    size = len(start) + len(digest(""))
    for line in content.decode("ascii", errors="replace").split("\n"):
        if line.startswith(start) and line[size : size + 3] == '", ' and line.endswith("]"):
            yield line[len(start) : size], line[size + 3 : -1]


def _as_written(one: TextStatement, text: str) -> TextStatement:
    """Return a statement with the words of its text, where the model misspelled them."""
    if one.number is not None or stands_in(one.value, None, text):
        return one
    return replace(one, value=as_written(one.value, text))


def _parse(line: str) -> tuple[TextStatement, ...]:
    """Return the statements of a line; none if it is damaged."""
    with suppress(ValueError, TypeError, RecursionError):
        return tuple(_statement(*one) for one in json.loads(line))
    return ()


def _statement(
    attribute: str, value: str, negated: bool = False, number: float | None = None, unit: str = ""
) -> TextStatement:
    return TextStatement(
        str(attribute), str(value), bool(negated), None if number is None else float(number), str(unit)
    )


# --- what was read in each text ---------------------------------------------------------------------------------------


FOLDER, CODES, DONE = "readings", "codes", "done.json"
FOLDERS = (FOLDER, CODES)
TOKENS = 64
"""The number of tokens in which the model writes the statements of a text, at most."""
VALUE_TOKENS = 32
"""The number of tokens in which it writes the values of one attribute of a schema, at most."""


@dataclass(frozen=True)
class Way:
    """A way to read texts, each by itself.

    Attributes:
        about: all that the result depends on beside the text, as plain data.
        read: yields the position and the result of each text.
        schema: the book under which it reads; None if it reads what a text states.
        assumed: what a guarantee takes for granted about it.
    """

    about: tuple[Any, ...]
    read: Reader
    schema: Codebook | None = None
    assumed: tuple[str, ...] = ()


class Readings:
    """What was read in the texts of a vault.

    Args:
        folder: VAULT/readings or VAULT/codes.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._parsed: tuple[object, Done] = (None, Done())

    @property
    def done(self) -> Done:
        """The last complete reading; an empty one if there is none. It is parsed once, since it names all texts."""
        version, parsed = self.version, self._parsed  # before the file is read: a change meanwhile is seen later
        if version is None or version != parsed[0]:
            self._parsed = parsed = version, self._parse()
        return parsed[1]

    def _parse(self) -> Done:
        try:
            return Done.parse((self._folder / DONE).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return Done()

    @property
    def schema(self) -> Codebook | None:
        """The schema of the last complete reading: public; None if it has none."""
        return self.done.schema

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
            status = (self._folder / DONE).stat()
            return status.st_ino, status.st_mtime_ns, status.st_size
        return None

    def load(self) -> ReadStatements:
        """Return the statements of this moment."""
        while True:
            done = self.done
            if not done.about:
                return ReadStatements(done)
            with suppress(FileNotFoundError):
                return ReadStatements(done, (self._folder / done.file).read_bytes()[: done.end])
            if self.done == done:  # no erasure has put another file in its place: it is lost
                return ReadStatements(Done())

    def facts(self, about: Sequence[Any]) -> dict[str, list[list[str]]]:
        """Return the facts of each text of the complete reading, by name, if it read in this way and without a schema.

        They are those that the same model would read again on the same kind of machine.
        """
        read = self.load()
        if not read.done.gives_facts(about):
            return {}
        return {name: [[one.attribute, one.value] for one in read.named(name)] for name in read.names}

    def facts_assume(self, about: Sequence[Any]) -> tuple[str, ...]:
        """Return what `facts` take for granted about the model that read: public; nothing if it gives none."""
        done = self.done
        return done.assumed if done.gives_facts(about) else ()

    def read(self, way: Way, owned: Callable[[], Sequence[Owned]], told: Callable[[int, int], None]) -> int:
        """Read the texts that were not read yet. Return the number of different texts.

        Run it again after an interruption: it goes on where it stopped.

        Args:
            way: how they are read.
            owned: returns the units and their texts; called after the file was opened, so that no erased text is
                written into the file of a later moment.
            told: called with the number of texts that are read, and that of all texts.

        Raises:
            StoreError: if there is no room for what was read.
            UsageError: if documents were erased meanwhile.
        """
        self._folder.mkdir(exist_ok=True)
        before = self.done
        path = self._folder / before.file
        with path.open("a+", encoding="ascii", errors="replace") as file:
            pairs = owned()
            texts = sorted({text for _, text in pairs})
            cache = ExtractionCache(file, way.about, way.read)
            cache.of(texts, lambda done: told(done, len(texts)))
            file.flush()
            covered = frozenset(name_of(unit, text) for unit, text in pairs)
            with self._alone():
                if not (self.done.file == before.file and path.exists() and path.stat().st_ino == _inode(file)):
                    raise UsageError("Documents were erased during the reading. Run it again: the others are kept.")
                done = Done(before.file, way.about, path.stat().st_size, covered, way.schema, way.assumed)
                replace_file(self._folder / DONE, done.describe())
        return len(texts)

    def give(self, other: "Readings") -> None:
        """Give a new vault what was read here, since a reading is a function of its text alone.

        It counts there after a reading (`read`), which reads the other texts of that vault.
        """
        done = self.done
        other._folder.mkdir(exist_ok=True)
        with suppress(FileNotFoundError):  # an erasure put another file in its place: then all texts are read anew
            (other._folder / Done().file).write_bytes((self._folder / done.file).read_bytes()[: done.end])

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
        path = self._folder / "lock"
        try:
            file = path.open("w")
        except OSError as error:
            raise StoreError(
                f"{path} cannot be opened: {error.strerror}. It must be a file that this user may write."
            ) from error
        with file:
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
        covered = done.covered & {name_of(unit, text) for unit, text in pairs}
        try:
            replace_file(other, "".join(parts))
            end = len(parts[0].encode()) if done.about else 0
            kept = replace(done, file=other.name, end=end, covered=covered)
            replace_file(self._folder / DONE, kept.describe())
            for former in self._folder.glob("statements-*.jsonl"):
                if former != other:
                    former.unlink(missing_ok=True)
        except OSError as error:
            raise StoreError(
                f"{path} holds words of documents and cannot be replaced: {error.strerror}. Make room, and erase again."
            ) from error


class Coder(Protocol):
    """What finds the codes of a text. Each text is coded by itself."""

    def about(self, book: Codebook) -> tuple[Any, ...]:
        """Return all that the codes depend on beside the text, as plain data."""

    def code(self, texts: Sequence[str], book: Codebook) -> Iterable[tuple[int, list[Found]]]:
        """Yield the position of each text, and its codes as statements."""


def by_coder(coder: Coder, book: Codebook) -> Way:
    """Return how a coder reads the codes of a book."""
    return Way(coder.about(book), lambda fresh: coder.code(fresh, book), book, book.assumed)


def check_reader(model: Completer, ray: str | None, *, schema: bool) -> None:
    """Check that a model can read: on a Ray cluster if one is named, under a schema if there is one.

    Raises:
        UsageError: if a cluster is named, and the model has no logits, which the workers of a cluster are compared by;
            or if there is a schema, and the model writes whole answers only.
    """
    check_ready(model)
    if ray is not None:
        require_scores(model, "code --ray")
    elif schema:
        require_scores(model, "code --book")


def read_all(
    readings: Readings,
    store: Store,
    model: Completer,
    told: Callable[[int, int], None],
    ray: str | None = None,
    schema: Codebook | None = None,
) -> int:
    """Read all texts of a store, on a Ray cluster if one is named. Return the number of different texts.

    Args:
        readings: where the statements are kept.
        store: the store.
        model: the model, which `check_reader` has checked.
        told: called with the number of texts that are read, and that of all texts.
        ray: the address of a cluster.
        schema: the attributes that are asked for; if None, the model writes what a text states.
    """
    if ray is None:
        reader = adapt_completer(model) if schema is None else require_scores(model, "code --book")
        return readings.read(by_model(reader, schema), lambda: owned_texts(store), told)
    with use_ray(require_scores(model, "code --ray"), ray, writes=False) as spread:
        return readings.read(by_model(spread, schema), lambda: owned_texts(store), told)


def by_model(model: VotingModel, schema: Codebook | None) -> Way:
    """Return how a model reads: what a text states if there is no book, and else what the book asks for."""
    assumed = find_assumptions(model) + (schema.assumed if schema else ())
    if schema is None:
        about = (model.name, probe(model), TOKENS, DOCUMENT_TOKENS, PARSED, REWRITING)
        return Way(about, lambda fresh: stated(model, fresh, TOKENS, DOCUMENT_TOKENS), None, assumed)
    asking = (model.name, probe(model), VALUE_TOKENS, DOCUMENT_TOKENS, ASKED, ASKING, schema.digest)
    scoring = require_scores(model, "code --book")
    return Way(asking, lambda fresh: asked(scoring, fresh, schema, VALUE_TOKENS, DOCUMENT_TOKENS), schema, assumed)


def _lines_of(content: bytes, kept: set[str]) -> str:
    """Return the lines about texts that are kept."""
    lines = content.decode("ascii", errors="replace").split("\n")
    return "".join(f"{line}\n" for line in lines if line and _named(line) in kept)


def _named(line: str) -> str | None:
    with suppress(ValueError, TypeError, IndexError, RecursionError):
        name = json.loads(line)[-2]
        return name if isinstance(name, str) else None
    return None


def _inode(file: TextIO) -> int:
    return os.fstat(file.fileno()).st_ino

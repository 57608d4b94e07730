"""Which reading of the texts counts, and the statements that it read, parsed when a question needs them.

The lines of a reading are found by their beginning, which all lines of one way of reading share. A question needs the
statements of some texts only, and parsing those of all texts would take most of its time.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from discreet.algorithms.text.phrases import is_denied_in, sentences_of
from discreet.retrieval.codebook import Codebook
from discreet.retrieval.unit_records import TextStatement
from discreet.synthesis.asked_values import stands_in
from discreet.synthesis.copying import as_written
from discreet.synthesis.extraction_cache import digest


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

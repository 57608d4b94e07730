"""The units of files. They are never guessed: a manifest, a pattern, a label or the custodian names the unit.

A manifest is a table with the unit of each file. A pattern takes the unit from the path, such as "{unit}/**" or
"{unit}_[0-9]*.txt". A label is front matter in the text, or a JSON file beside it (a sidecar).
"""

import json
import os
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from discreet.errors import BadData, UsageError
from discreet.reading.fields import is_empty, means_nothing
from discreet.reading.files import read_records
from discreet.reading.records import BadRecord, FoundFile, ReadingOptions, Record
from discreet.retrieval.documents import canonical_unit

PATH = "path"
"""The column with the path of a file."""


@dataclass(frozen=True)
class Manifest:
    """The rows of a manifest by file.

    Attributes:
        rows: the row of each file by its source: the unit under the vault's unit field, and all other columns.
        absent: the paths of rows without a file, as spelled in the manifest.
    """

    rows: Mapping[str, Mapping[str, object]]
    absent: tuple[str, ...]


def read_manifest(
    name: str, folder: Path, records: Iterable[Record | BadRecord], files: Mapping[str, Path], unit_field: str
) -> Manifest:
    """Match the rows of a manifest with files. Return the manifest.

    Args:
        name: the name of the manifest, for messages.
        folder: the folder of the manifest. Paths may be relative to it, to the given folder, or to the current one.
        records: the rows, with the columns `path` and `unit` (or the vault's unit field), and optionally `id`.
        files: the path of each file by its source.
        unit_field: the vault's unit field.

    Raises:
        BadData: if a row cannot be read, if it has no path or no unit, or if two rows name one file.
    """
    by_source = {unicodedata.normalize("NFC", source): source for source in files}
    by_path = {path.resolve(): source for source, path in files.items()}
    rows: dict[str, Mapping[str, object]] = {}
    absent: list[str] = []
    for record in records:
        if isinstance(record, BadRecord):
            raise BadData(
                f"The manifest cannot be read: {record.where}: {record.reason}. Correct the row. Nothing was added."
            )
        values = _checked(name, record, unit_field)
        path = str(values[PATH]).strip()
        source = _source(path, folder, by_source, by_path)
        if not source:
            absent.append(path)
        elif source in rows:
            raise BadData(f"{record.where} names the same file as an earlier row. Keep one row for each file.")
        else:
            rows[source] = values
    if not rows and not absent:
        raise BadData(
            f"The manifest {name} has no rows. Write one row for each file, with the columns {PATH} and {unit_field}."
        )
    return Manifest(rows, tuple(absent))


def _checked(name: str, record: Record, unit_field: str) -> Mapping[str, object]:
    values = dict(record.values)
    if unit_field not in values and "unit" in values:
        values[unit_field] = values.pop("unit")
    missing = [column for column in (PATH, unit_field) if column not in values]
    if missing:
        raise BadData(
            f"The manifest {name} has no column '{missing[0]}'. Its columns: {', '.join(record.values)}. It needs "
            f"'{PATH}' and '{unit_field}' (or 'unit'); 'id' is optional. Nothing was added."
        )
    for column in (PATH, unit_field):
        if is_empty(values[column]):
            raise BadData(f"{record.where} has no value in the column '{column}'. Add the value. Nothing was added.")
    return values


def _source(path: str, folder: Path, by_source: Mapping[str, str], by_path: Mapping[Path, str]) -> str:
    """Return the source of the file that a row names; "" if there is no such file."""
    spelled = unicodedata.normalize("NFC", path.replace("\\", "/"))
    spelled = spelled.removeprefix("./")
    if spelled in by_source:
        return by_source[spelled]
    try:
        paths = [(folder / path).resolve(), Path(path).resolve()]
    except (OSError, ValueError):
        return ""
    return next((by_path[one] for one in paths if one in by_path), "")


_LARGEST_SIDECAR = 2**20
_TWO_FILES = "; if it is a table of records, rename one of the two files: neither is added"
_MATTER = re.compile(r"---[ \t]*\r?\n(.{0,20000}?)^(?:---|\.\.\.)[ \t]*\r?(?:\n|\Z)", re.DOTALL | re.MULTILINE)


class WrongLabel(ValueError):  # noqa: N818 - it is a file's, and becomes a `BadRecord`
    """A label that cannot be read. The message never has its content."""


def front_matter(text: str) -> tuple[dict[str, object], str]:
    """Split a text into the fields of YAML between `---` lines at its beginning, and the rest.

    Each value is a text, unchanged: `007` is no number. Lists and nested fields are not read. A text with
    another beginning, or with other YAML than fields in between, has no fields and is returned unchanged.

    Raises:
        WrongLabel: if a field occurs twice, or if the lines are fields of damaged YAML.
    """
    found = _MATTER.match(text)
    if not found:
        return {}, text
    import yaml

    try:
        node = yaml.compose(found[1], Loader=yaml.BaseLoader)
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        if re.search(r"^[^\W\d][\w -]*:(\s|$)", found[1], re.MULTILINE):
            raise WrongLabel("its front matter is not well-formed YAML") from error
        return {}, text
    if node is not None and not isinstance(node, yaml.MappingNode):
        return {}, text
    pairs = [] if node is None else [(str(key.value), value) for key, value in node.value]
    if len({name for name, _ in pairs}) < len(pairs):
        raise WrongLabel("a field occurs twice in its front matter: remove one")
    return {name: value.value for name, value in pairs if isinstance(value, yaml.ScalarNode)}, text[found.end() :]


def sidecar(path: Path) -> Path | None:
    """Return the JSON file with the labels of a file, in the same folder: `letter.pdf.json`, or `letter.json`.

    It may be a link, but only to a file in the same folder.
    """
    if path.suffix.lower() == ".json":
        return None
    beside = (path.with_name(path.name + ".json"), path.with_suffix(".json"))
    here = path.parent.resolve()
    return next((one for one in beside if one.is_file() and one.resolve().is_relative_to(here)), None)


def read_sidecar(path: Path) -> dict[str, object]:
    """Return the fields of a sidecar.

    Raises:
        WrongLabel: if the sidecar is too large, is not a JSON object in UTF-8, has a field twice, or contains records.
    """
    try:
        with path.open("rb") as file:
            content = file.read(_LARGEST_SIDECAR + 1)
        if len(content) > _LARGEST_SIDECAR:
            raise WrongLabel(f"its sidecar {path.name!a} is larger than 1 MiB")
        record = json.loads(content.decode("utf-8-sig"), object_pairs_hook=_once)
    except WrongLabel:
        raise
    except OSError as error:
        raise WrongLabel(f"its sidecar {path.name!a} cannot be read ({error.strerror})") from error
    except (ValueError, RecursionError) as error:
        raise WrongLabel(f"its sidecar {path.name!a} is not well-formed JSON") from error
    if not isinstance(record, dict):
        raise WrongLabel(f"its sidecar {path.name!a} is not a JSON object{_TWO_FILES}")
    if "text" in record or any(
        isinstance(value, list) and any(isinstance(one, dict) for one in value) for value in record.values()
    ):
        raise WrongLabel(f"its sidecar {path.name!a} contains records{_TWO_FILES}")
    return record


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    record = dict(pairs)
    if len(record) < len(pairs):
        raise WrongLabel("a field occurs twice in its sidecar: remove one")
    return record


_UNIT = "{unit}"
_TOKEN = re.compile(r"\{unit\}|\*\*/|\*\*|\*|\?|\[!?[^\]/]+\]|[\s\S]")
_PARTS = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
_TAILS = ("[0-9]*", "*")
_SEPARATORS = "_- ."


@dataclass(frozen=True)
class Pattern:
    """A pattern for the path of a file, relative to the given folder.

    `*` stands for any characters of a name, `**` for any folders, `?` for one character, `[0-9]` for one of several.
    `{unit}` is the name of the unit: one character or more, and as few as the rest of the pattern permits. Too short a
    name merges two individuals, which are then protected together. Too long a name gives one individual two budgets.

    Attributes:
        text: the pattern as typed.

    Raises:
        UsageError: if the pattern does not contain the unit exactly once, or if no character separates the unit from
            the next wildcard.
    """

    text: str

    def __post_init__(self) -> None:
        if self.text.count(_UNIT) != 1:
            raise UsageError(
                f"The pattern '{self.text}' must contain {_UNIT} exactly once. Examples: --unit-from '{_UNIT}/**' if "
                f"each individual has a folder, or --unit-from '{_UNIT}_*.txt'."
            )
        if self.text.split(_UNIT)[1].startswith(("*", "?")):
            raise UsageError(
                f"In the pattern '{self.text}', a wildcard follows {_UNIT} directly, so each unit would be a single "
                f"letter. Put a character between them: --unit-from '{_UNIT}_*'."
            )
        try:
            _ = self._expressions
        except re.error as error:
            raise UsageError(f"The pattern '{self.text}' is invalid. Check the characters between [ and ].") from error

    @cached_property
    def _expressions(self) -> tuple[re.Pattern[str], re.Pattern[str]]:
        tokens = _TOKEN.findall(unicodedata.normalize("NFC", self.text))
        shortest, longest = (
            "".join(unit if token == _UNIT else _expression(token) for token in tokens)
            for unit in ("([^/]+?)", "([^/]+)")
        )
        return re.compile(shortest, re.DOTALL), re.compile(longest, re.DOTALL)

    def unit(self, path: str) -> str:
        """Return the unit in a path; "" if the path does not match."""
        return self._found(path, 0)

    def ambiguous(self, path: str) -> tuple[str, str] | None:
        """Return the unit in a path and a second possible unit; None if only one is possible."""
        found = self._found(path, 0), self._found(path, 1)
        return found if found[0] != found[1] else None

    def _found(self, path: str, which: int) -> str:
        matched = self._expressions[which].fullmatch(unicodedata.normalize("NFC", path))
        return matched[1].strip() if matched else ""


def _expression(token: str) -> str:
    if token in _PARTS:
        return _PARTS[token]
    if len(token) > 1:  # one of several characters
        inside = token[1:-1].replace("\\", "\\\\")
        return f"[^/{inside[1:]}]" if inside.startswith("!") else f"[{inside}]"
    return re.escape(token)


def propose(paths: Sequence[str]) -> tuple[Pattern, Counter[str]] | None:
    """Find a pattern that may fit the paths of files. A person must judge it; it is never applied.

    Returns:
        The pattern and the number of files of each unit; None if no pattern groups the files.
    """
    best: tuple[Pattern, Counter[str]] | None = None
    for text in _candidates(paths):
        pattern = Pattern(text)
        units = Counter(unit for path in paths if (unit := pattern.unit(path)))
        matched = units.total()
        if 0.8 * len(paths) <= matched and 1 < len(units) < matched and (not best or matched > best[1].total()):
            best = pattern, units
    return best


def _candidates(paths: Sequence[str]) -> list[str]:
    """Return patterns to try, the most specific first: a folder for each unit, then names cut at a separator."""
    found = [f"{_UNIT}/**"]
    names = [os.path.basename(path) for path in paths]
    suffixes = {os.path.splitext(name)[1] for name in names}
    end = suffixes.pop() if len(suffixes) == 1 else ""
    start = _shared_beginning(names)
    deep = "**/" if any("/" in path for path in paths) else ""
    for begin in dict.fromkeys((start, "")):
        if not _PLAIN.fullmatch(begin + end):
            continue
        found += [f"{deep}{begin}{_UNIT}{separator}{tail}{end}" for tail in _TAILS for separator in _SEPARATORS[:3]]
    return found


def _shared_beginning(names: Sequence[str]) -> str:
    """Return the common prefix of all names, up to and including its last separator."""
    if not names:
        return ""
    first, last = min(names), max(names)
    same = next((n for n, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), min(len(first), len(last)))
    return first[: max(first[:same].rfind(separator) for separator in _SEPARATORS) + 1]


_PLAIN = re.compile(r"[^*?\[\]{}]*")


@dataclass(frozen=True)
class UnitRules:
    """Rules for the units of files and records without the vault's unit field.

    Attributes:
        manifest: a table with a row for each file: its path, its unit, and optionally its id.
        pattern: a pattern for the path of each file, such as "{unit}/**" (`Pattern`).
        each_file: whether a file that names no unit becomes a unit.
        each_record: whether a record of a table that names no unit becomes a unit.
        may_be: names that are names, although they look like words for nothing or like rounded numbers.

    Raises:
        UsageError: if two rules name the units of files.
    """

    manifest: Path | None = None
    pattern: str = ""
    each_file: bool = False
    each_record: bool = False
    may_be: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        given = {"--units": self.manifest, "--unit-from": self.pattern, "--each-file-a-unit": self.each_file}
        if len(named := [option for option, value in given.items() if value]) > 1:
            raise UsageError(f"{' and '.join(named)} are given together, but each names the units of files. Give one.")


class FileUnits:
    """The unit and the other labels of each file.

    Args:
        rules: the rules for the units of files.
        files: all files of one text each; the records of tables name their units.
        unit_field: the field that names the unit.
        options: the reading options of the manifest.

    Raises:
        UsageError, BadData: if the manifest or the pattern cannot be used.
    """

    def __init__(self, rules: UnitRules, files: Sequence[FoundFile], unit_field: str, options: ReadingOptions) -> None:
        self._rules, self._files, self._unit_field = rules, files, unit_field
        self.pattern = Pattern(rules.pattern) if rules.pattern else None
        self._manifest = _manifest(rules.manifest, files, unit_field, options) if rules.manifest else None

    def values(self, record: Record, path: Path) -> Mapping[str, object]:
        """Return the fields of a file: its text, and the values of a mail's header, front matter, sidecar and rules.

        Raises:
            WrongLabel: if a label cannot be read, if no rule names the file, or if its label names another unit.
        """
        matter, text = front_matter(str(record.values.get("text", "")))
        stated = {**record.values, **matter}
        if beside := sidecar(path):
            stated |= read_sidecar(beside)
        named = self._named(record.source)
        itself, by_rule = stated.get(self._unit_field), named.get(self._unit_field)
        if named and not means_nothing(itself) and canonical_unit(str(itself)) != canonical_unit(str(by_rule)):
            raise WrongLabel("its label and the pattern or the manifest name two units: correct one of them")
        return {**stated, **named, "text": text}

    def _named(self, source: str) -> Mapping[str, object]:
        if self._manifest:
            if source not in self._manifest.rows:
                raise WrongLabel("not in the manifest")
            return self._manifest.rows[source]
        if self.pattern:
            unit = self.pattern.unit(source)
            if not unit:
                raise WrongLabel(f"does not match the pattern '{self.pattern.text}'")
            return {self._unit_field: unit}
        return {}

    @property
    def absent(self) -> list[BadRecord]:
        """The rows of the manifest whose files were not found."""
        return (
            [BadRecord(path, "in the manifest, but there is no such file") for path in self._manifest.absent]
            if (self._manifest)
            else []
        )

    def check(self, named: int, asked: int) -> None:
        """Check that at least one file has a unit, unless none was `asked`.

        Raises:
            UsageError: if no file has a unit. The message shows the ways to name units, with the files' own names.
        """
        if not asked or named:
            return
        if self._rules.pattern:
            lead = f"No file matches the pattern '{self._rules.pattern}'."
        elif self._rules.manifest:
            lead = f"The manifest {self._rules.manifest.name} has no row for these files."
        else:
            lead = "The files name no units, and discreet never guesses units."
        raise UsageError(f"{lead} {ways([file.source for file in self._files], self._unit_field)}")


def ways(sources: Sequence[str], unit_field: str) -> str:
    """Return the ways to name the units of files, with the files' own names as examples."""
    found = propose(sources)
    if found:
        pattern, units = found
        some = ", ".join(f"'{unit}' ({count})" for unit, count in units.most_common(3))
        by_name = f"  --unit-from '{pattern.text}'   from the path: {len(units)} units, such as {some}"
    else:
        by_name = "  --unit-from '{unit}/**'   from the path, if each individual has a folder"
    first = sources[0]
    return "\n".join(
        (
            f"Name the units of the {len(sources):,} files (such as '{first}') in one of these ways:",
            by_name,
            f"  --units manifest.csv   a table with the columns {PATH},{unit_field}, one row a file: '{first},NAME'",
            f"  a label of each file   '{unit_field}: NAME' between lines of --- at the top of a .txt or .md; or "
            f'{{"{unit_field}": "NAME"}} in {Path(first).name}.json',
            "  --each-file-a-unit   only if no individual has more than one file",
            "Nothing was added.",
        )
    )


def _manifest(path: Path, files: Sequence[FoundFile], unit_field: str, options: ReadingOptions) -> Manifest:
    reading = ReadingOptions(text_field=PATH, encoding=options.encoding, delimiter=options.delimiter)
    if not path.is_file():
        raise UsageError(f"There is no manifest at {path}. Check the path.")
    paths = {file.source: file.path for file in files}
    try:
        return read_manifest(path.name, path.parent, read_records([path], reading), paths, unit_field)
    except BadData as error:
        if "--text-field" in str(error):
            raise BadData(
                f"The manifest {path.name} has no column '{PATH}'. It needs '{PATH}' and '{unit_field}'. Nothing was "
                "added."
            ) from error
        raise

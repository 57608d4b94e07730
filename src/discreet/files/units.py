"""The units of files that contain one text.

They are never guessed: a manifest, a pattern, a label or the custodian names them. A manifest is a table with the unit
of each file. A pattern takes the unit from the path, such as "{unit}/**" or "{unit}_[0-9]*.txt". A label is
front matter in the text, or a JSON file beside it (a sidecar).
"""

import os
import re
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from discreet.errors import BadData, UsageError
from discreet.files.fields import is_empty, means_nothing
from discreet.files.loaders import read_records
from discreet.files.records import BadRecord, FoundFile, ReadingOptions, Record, Unreadable
from discreet.files.tables import has_repeated_field, parse_json
from discreet.store.documents import canonical_unit

PATH = "path"
"""The column of a manifest with the path of a file."""
_LARGEST_SIDECAR = 2**20
_TWO_FILES = "; if it is a table of records, rename one of the two files: neither is added"
_MATTER = re.compile(r"---[ \t]*\r?\n(.{0,20000}?)^(?:---|\.\.\.)[ \t]*\r?(?:\n|\Z)", re.DOTALL | re.MULTILINE)


def front_matter(text: str) -> tuple[dict[str, object], str]:
    """Split a text into the fields of YAML between `---` lines at its beginning, and the rest.

    Each value is a text, unchanged: `007` is no number. Lists and nested fields are not read. A text with
    another beginning, or with other YAML than fields in between, has no fields and is returned unchanged.

    Raises:
        Unreadable: if a field occurs twice, or if the lines are fields of damaged YAML.
    """
    match = _MATTER.match(text)
    if not match:
        return {}, text
    import yaml

    try:
        node = yaml.compose(match[1], Loader=yaml.BaseLoader)
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        if re.search(r"^[^\W\d][\w -]*:(\s|$)", match[1], re.MULTILINE):
            raise Unreadable("its front matter is not well-formed YAML") from error
        return {}, text
    if node is not None and not isinstance(node, yaml.MappingNode):
        return {}, text
    pairs = [] if node is None else [(str(key.value), value) for key, value in node.value]
    if len({name for name, _ in pairs}) < len(pairs):
        raise Unreadable("a field occurs twice in its front matter: remove one")
    return {name: value.value for name, value in pairs if isinstance(value, yaml.ScalarNode)}, text[match.end() :]


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
        Unreadable: if the sidecar is too large, is not a JSON object in UTF-8, has a field twice, or contains records.
    """
    its = f"its sidecar {path.name!a}"
    try:
        with path.open("rb") as file:
            content = file.read(_LARGEST_SIDECAR + 1)
        record = parse_json(content.decode("utf-8-sig")) if len(content) <= _LARGEST_SIDECAR else None
    except OSError as error:
        raise Unreadable(f"{its} cannot be read ({error.strerror})") from error
    except (ValueError, RecursionError) as error:
        raise Unreadable(f"{its} is not well-formed JSON") from error
    if len(content) > _LARGEST_SIDECAR:
        raise Unreadable(f"{its} is larger than 1 MiB")
    if has_repeated_field(record):
        raise Unreadable("a field occurs twice in its sidecar: remove one")
    if not isinstance(record, dict):
        raise Unreadable(f"{its} is not a JSON object{_TWO_FILES}")
    lists = (value for value in record.values() if isinstance(value, list))
    if "text" in record or any(isinstance(one, dict) for value in lists for one in value):
        raise Unreadable(f"{its} contains records{_TWO_FILES}")
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
        names = self._found(path, 0), self._found(path, 1)
        return names if names[0] != names[1] else None

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
    patterns = [f"{_UNIT}/**"]
    names = [os.path.basename(path) for path in paths]
    suffixes = {os.path.splitext(name)[1] for name in names}
    end = suffixes.pop() if len(suffixes) == 1 else ""
    start = _shared_beginning(names)
    deep = "**/" if any("/" in path for path in paths) else ""
    for begin in dict.fromkeys((start, "")):
        if not _PLAIN.fullmatch(begin + end):
            continue
        patterns += [f"{deep}{begin}{_UNIT}{separator}{tail}{end}" for tail in _TAILS for separator in _SEPARATORS[:3]]
    return patterns


def _shared_beginning(names: Sequence[str]) -> str:
    """Return the common prefix of all names, up to and including its last separator."""
    same = os.path.commonprefix(names)  # noqa: RUF071 - characters are meant
    return same[: max(same.rfind(separator) for separator in _SEPARATORS) + 1]


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
        options: the reading options, also of the manifest.

    Raises:
        UsageError, BadData: if the manifest or the pattern cannot be used.
    """

    def __init__(self, rules: UnitRules, files: Sequence[FoundFile], options: ReadingOptions) -> None:
        self._rules, self._files, self._unit_field = rules, files, options.unit_field
        self.pattern = Pattern(rules.pattern) if rules.pattern else None
        self._rows: dict[str, Mapping[str, object]] = {}
        self.absent: list[BadRecord] = []
        """The rows of the manifest whose files were not found."""
        if rules.manifest:
            self._read_manifest(rules.manifest, options)

    def values(self, record: Record, path: Path) -> Mapping[str, object]:
        """Return the fields of a file: its text, and the values of a mail's header, front matter, sidecar and rules.

        Raises:
            Unreadable: if a label cannot be read, if no rule names the file, or if its label names another unit.
        """
        matter, text = front_matter(str(record.values.get("text", "")))
        stated = {**record.values, **matter}
        if beside := sidecar(path):
            stated |= read_sidecar(beside)
        named = self._named(record.source)
        itself, by_rule = stated.get(self._unit_field), named.get(self._unit_field)
        if named and not means_nothing(itself) and canonical_unit(str(itself)) != canonical_unit(str(by_rule)):
            raise Unreadable("its label and the pattern or the manifest name two units: correct one of them")
        return {**stated, **named, "text": text}

    def _named(self, source: str) -> Mapping[str, object]:
        if self._rules.manifest and source not in self._rows:
            raise Unreadable("not in the manifest")
        if self.pattern:
            unit = self.pattern.unit(source)
            if not unit:
                raise Unreadable(f"does not match the pattern '{self.pattern.text}'")
            return {self._unit_field: unit}
        return self._rows.get(source, {})

    def _read_manifest(self, path: Path, options: ReadingOptions) -> None:
        """Match the rows of a manifest with files. Paths may be relative to it, to the given folder, or to here.

        Raises:
            BadData: if a row cannot be read, if it has no path or no unit, or if two rows name one file.
        """
        if not path.is_file():
            raise UsageError(f"There is no manifest at {path}. Check the path.")
        field, needs = self._unit_field, f"'{PATH}' and '{self._unit_field}'"
        by_source = {unicodedata.normalize("NFC", file.source): file.source for file in self._files}
        by_path = {file.path.resolve(): file.source for file in self._files}
        try:
            read_as = ReadingOptions(PATH, unit_field="", encoding=options.encoding, delimiter=options.delimiter)
            for record in read_records([path], read_as):
                if isinstance(record, BadRecord):
                    raise BadData(
                        f"The manifest cannot be read: {record.where}: {record.reason}. Correct the row. Nothing was "
                        "added."
                    )
                values = dict(record.values)
                if field not in values and "unit" in values:
                    values[field] = values.pop("unit")
                for column in (PATH, field):
                    if column not in values:
                        raise BadData(
                            f"The manifest {path.name} has no column '{column}'. Its columns: "
                            f"{', '.join(record.values)}. It needs {needs} (or 'unit'); 'id' is optional. Nothing was "
                            "added."
                        )
                    if is_empty(values[column]):
                        raise BadData(
                            f"{record.where} has no value in the column '{column}'. Add the value. Nothing was added."
                        )
                named = str(values[PATH]).strip()
                source = by_source.get(unicodedata.normalize("NFC", named.replace("\\", "/")).removeprefix("./"), "")
                source = source or next((by_path[one] for one in _resolved(path.parent, named) if one in by_path), "")
                if not source:
                    self.absent.append(BadRecord(named, "in the manifest, but there is no such file"))
                elif source in self._rows:
                    raise BadData(f"{record.where} names the same file as an earlier row. Keep one row for each file.")
                else:
                    self._rows[source] = values
        except BadData as error:
            if "--text-field" not in str(error):
                raise
            raise BadData(
                f"The manifest {path.name} has no column '{PATH}'. It needs {needs}. Nothing was added."
            ) from error
        if not self._rows and not self.absent:
            raise BadData(
                f"The manifest {path.name} has no rows. Write one row for each file, with the columns {PATH} and "
                f"{field}."
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


def _resolved(folder: Path, path: str) -> list[Path]:
    try:
        return [(folder / path).resolve(), Path(path).resolve()]
    except (OSError, ValueError):
        return []


def ways(sources: Sequence[str], unit_field: str) -> str:
    """Return the ways to name the units of files, with the files' own names as examples."""
    proposals = propose(sources)
    if proposals:
        pattern, units = proposals
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

"""The units of files. They are never guessed: a manifest, a pattern, a label or the custodian names the unit."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from discreet.errors import BadData, UsageError
from discreet.reading.fields import is_empty
from discreet.reading.files import FoundFile, ReadingOptions, read_records
from discreet.reading.labels import WrongLabel, front_matter, read_sidecar, sidecar
from discreet.reading.manifest import PATH, Manifest, read_manifest
from discreet.reading.patterns import Pattern, propose
from discreet.reading.records import BadRecord, Record
from discreet.retrieval.documents import canonical_unit


@dataclass(frozen=True)
class UnitRules:
    """Rules for the units of files and records without the vault's unit field.

    Attributes:
        manifest: a table with a row for each file: its path, its unit, and optionally its id.
        pattern: a pattern for the path of each file, such as "{unit}/**" (`Pattern`).
        each_file: whether a file that names no unit becomes a unit.
        each_record: whether a record of a table that names no unit becomes a unit.

    Raises:
        UsageError: if two rules name the units of files.
    """

    manifest: Path | None = None
    pattern: str = ""
    each_file: bool = False
    each_record: bool = False

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
        """Return the fields of a file: its text, and the values of front matter, sidecar and rules.

        Raises:
            WrongLabel: if a label cannot be read, if no rule names the file, or if its label names another unit.
        """
        stated, text = front_matter(str(record.values.get("text", "")))
        if beside := sidecar(path):
            stated |= read_sidecar(beside)
        named = self._named(record.source)
        itself, by_rule = stated.get(self._unit_field), named.get(self._unit_field)
        if named and not is_empty(itself) and canonical_unit(str(itself)) != canonical_unit(str(by_rule)):
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

    def check(self, named: int) -> None:
        """Check that at least one file has a unit, unless there are no files.

        Raises:
            UsageError: if no file has a unit. The message shows the ways to name units, with the files' own names.
        """
        if not self._files or named:
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

"""Whose a file is. It is never guessed: a manifest, a pattern, the file itself or the custodian names the unit."""

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
from discreet.retrieval.spelling import canonical_unit


@dataclass(frozen=True)
class UnitRules:
    """How files and records get their units, where they do not name them in the vault's unit field.

    Attributes:
        manifest: a table with a row for each file: its path, its unit, perhaps its id.
        pattern: over the path of each file, such as "{unit}/**" (`Pattern`).
        each_file: whether a file that names no unit is a unit of its own.
        each_record: whether a record of a table that names no unit is a unit of its own.

    Raises:
        UsageError: two of them name the units of files.
    """

    manifest: Path | None = None
    pattern: str = ""
    each_file: bool = False
    each_record: bool = False

    def __post_init__(self) -> None:
        given = {"--units": self.manifest, "--unit-from": self.pattern, "--each-file-a-unit": self.each_file}
        if len(named := [option for option, value in given.items() if value]) > 1:
            raise UsageError(f"{' and '.join(named)} name the units of files in two ways. Give one of them.")


class FileUnits:
    """Finds the unit of each file, and what else is stated about it.

    Args:
        rules: how files get their units.
        files: all files of text; tables name the units of their records themselves.
        unit_field: the field that names the unit.
        options: how the manifest is read.

    Raises:
        UsageError, BadData: the manifest or the pattern cannot be used, or fits no file.
    """

    def __init__(self, rules: UnitRules, files: Sequence[FoundFile], unit_field: str, options: ReadingOptions) -> None:
        self._rules, self._files, self._unit_field = rules, files, unit_field
        self.pattern = Pattern(rules.pattern) if rules.pattern else None
        self._manifest = _manifest(rules.manifest, files, unit_field, options) if rules.manifest else None

    def values(self, record: Record, path: Path) -> Mapping[str, object]:
        """The fields of a file: its text, and what front matter, a sidecar and the rules state.

        Raises:
            WrongLabel: a label cannot be read, a rule does not name the file, or the file names another unit itself.
        """
        stated, text = front_matter(str(record.values.get("text", "")))
        if beside := sidecar(path):
            stated |= read_sidecar(beside)
        named = self._named(record.source)
        itself, by_rule = stated.get(self._unit_field), named.get(self._unit_field)
        if named and not is_empty(itself) and canonical_unit(str(itself)) != canonical_unit(str(by_rule)):
            raise WrongLabel("names another unit itself than the pattern or the manifest does: mend one of the two")
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
            [BadRecord(path, "in the manifest, but not there") for path in self._manifest.absent]
            if (self._manifest)
            else []
        )

    def check(self, named: int) -> None:
        """Nothing, if some of the files have got a unit, or there are none.

        Raises:
            UsageError: there are files, and none has. It shows the ways to name units on the files' own names.
        """
        if not self._files or named:
            return
        if self._rules.pattern:
            lead = f"No file matches the pattern '{self._rules.pattern}'."
        elif self._rules.manifest:
            lead = f"The manifest {self._rules.manifest.name} names none of these files."
        else:
            lead = "Whose these files are is never guessed."
        raise UsageError(f"{lead} {ways([file.source for file in self._files], self._unit_field)}")


def ways(sources: Sequence[str], unit_field: str) -> str:
    """The ways to state whose some files are, shown on the files' own names."""
    found = propose(sources)
    if found:
        pattern, units = found
        some = ", ".join(f"'{unit}' ({count})" for unit, count in units.most_common(3))
        by_name = f"  --unit-from '{pattern.text}'   by name: {len(units)} units, such as {some}"
    else:
        by_name = "  --unit-from '{unit}/**'   by name: here, if each individual has a folder"
    first = sources[0]
    return "\n".join(
        (
            f"Name the unit of each of the {len(sources):,} (such as '{first}') in one of these ways:",
            by_name,
            f"  --units manifest.csv   a table with the columns {PATH},{unit_field}, a row a file: '{first},NAME'",
            f"  in or beside each file   '{unit_field}: NAME' between lines of --- at the top of a .txt or .md; or "
            f'{{"{unit_field}": "NAME"}} in {Path(first).name}.json',
            "  --each-file-a-unit   only if no individual has more than one file",
            "Nothing was added.",
        )
    )


def _manifest(path: Path, files: Sequence[FoundFile], unit_field: str, options: ReadingOptions) -> Manifest:
    reading = ReadingOptions(text_field=PATH, encoding=options.encoding, delimiter=options.delimiter)
    if not path.is_file():
        raise UsageError(f"There is no manifest at {path}. Check the path.")
    places = {file.source: file.path for file in files}
    try:
        return read_manifest(path.name, path.parent, read_records([path], reading), places, unit_field)
    except BadData as error:
        if "--text-field" in str(error):
            raise BadData(
                f"The manifest {path.name} has no column '{PATH}'. It needs '{PATH}' and '{unit_field}'. Nothing was "
                "added."
            ) from error
        raise

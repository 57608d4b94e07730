"""The suite of loaders catches broken loaders."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from discreet.files.loaders import BUILT_IN, Loader
from discreet.files.records import BadRecord, FoundFile, ReadingOptions, Record
from discreet.testing import LoaderSuite
from tests.testing.harness import failing, fails

LINES = next(loader for loader in BUILT_IN if loader.name == "jsonl")
Records = Iterator[Record | BadRecord]


class LinesSuite(LoaderSuite):
    def write(self, path: Path, records: Sequence[Mapping[str, str]]) -> None:
        path.write_text("".join(json.dumps(dict(record)) + "\n" for record in records))


class Twin:
    name, suffixes, reads_tables = LINES.name, LINES.suffixes, LINES.reads_tables

    def check_installed(self) -> None:
        pass

    def read(self, file: FoundFile, options: ReadingOptions) -> Records:
        return LINES.read(file, options)


class FillsDown(Twin):
    """Takes a missing unit from the record above, as merged cells of a spreadsheet suggest."""

    def read(self, file: FoundFile, options: ReadingOptions) -> Records:
        above: Mapping[str, object] = {}
        for one in super().read(file, options):
            if isinstance(one, Record):
                above = {**above, **one.values}
                one = replace(one, values=above)
            yield one


class JoinsTexts(Twin):
    """Puts the text of the record above in front of each text."""

    def read(self, file: FoundFile, options: ReadingOptions) -> Records:
        text = ""
        for one in super().read(file, options):
            if isinstance(one, Record):
                text += str(one.values["text"])
                one = replace(one, values={**one.values, "text": text})
            yield one


class Quotes(Twin):
    """Quotes what it cannot read."""

    def read(self, file: FoundFile, options: ReadingOptions) -> Records:
        for one in super().read(file, options):
            if isinstance(one, BadRecord):
                one = replace(one, reason=file.path.read_text(errors="replace"))
            yield one


class Raises(Twin):
    """Raises an error that is not one of discreet where a line is damaged."""

    def read(self, file: FoundFile, options: ReadingOptions) -> Records:
        for number, line in enumerate(file.path.read_bytes().splitlines(), 1):
            yield Record(json.loads(line), f"{file.source} line {number}", file.source)


class Drops(Twin):
    """Drops records without a word."""

    def read(self, file: FoundFile, options: ReadingOptions) -> Records:
        return iter(list(super().read(file, options))[:1])


class Upper(Twin):
    """Declares a suffix that no file has."""

    suffixes = (".JSONL",)


class NamesNothing(Twin):
    """Names no file."""

    def read(self, file: FoundFile, options: ReadingOptions) -> Records:
        for one in super().read(file, options):
            yield replace(one, source="", where="here") if isinstance(one, Record) else one


def test_loader_suite_passes_a_sound_loader(tmp_path: Path) -> None:
    assert failing(LinesSuite(), tmp_path, loader=LINES) == set()


@pytest.mark.parametrize(
    ("twin", "test"),
    [
        (FillsDown(), "test_missing_unit_stays_missing"),
        (JoinsTexts(), "test_record_does_not_depend_on_other_records"),
        (Quotes(), "test_damaged_file_gives_no_unknown_error"),
        (Raises(), "test_damaged_file_gives_no_unknown_error"),
        (Drops(), "test_records_are_complete_and_in_order"),
        (Upper(), "test_loader_describes_itself"),
        (NamesNothing(), "test_records_name_their_file"),
    ],
)
def test_loader_suite_catches_broken_loader(twin: Loader, test: str, tmp_path: Path) -> None:
    assert fails(LinesSuite(), test, tmp_path, loader=twin)

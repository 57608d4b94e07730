"""The conformance suite of loaders of files."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from pathlib import Path

import pytest

from discreet.errors import BadData
from discreet.files.loaders import Loader
from discreet.files.records import BadRecord, FoundFile, ReadingOptions, Record

CANARY = "zeugma-canary-0417"
"""A word that stands in every record, and may stand in no message."""
RECORDS: tuple[Mapping[str, str], ...] = (
    {"unit": "ada", "text": f"White hands. {CANARY}"},
    {"unit": "bela", "text": f"Numb thumbs, a weak grip. {CANARY}"},
    {"unit": "cora", "text": f"A long report. {CANARY} " + "Nothing was found. " * 40},
)
OPTIONS = ReadingOptions()
_DAMAGES = 12


class LoaderSuite:
    """Tests of a `Loader`. A subclass overrides the fixture `loader` and the method `write`.

    The privacy guarantee needs one property above all: a record holds its own part of the file alone. If the text of
    one unit becomes text of another, or one unit gets the name of another, both lose their protection.
    """

    @pytest.fixture
    def loader(self) -> Loader:
        """Return the loader under test."""
        raise NotImplementedError("Override the fixture `loader`.")

    def write(self, path: Path, records: Sequence[Mapping[str, str]]) -> None:
        """Write records into a file of the loader's kind; each has the field "text", and "unit" or not.

        A loader that reads no tables gets one record, and writes its text.
        """
        raise NotImplementedError("Override the method `write`.")

    def records_for(self, loader: Loader) -> Sequence[Mapping[str, str]]:
        """Return the records that one file of the loader can hold."""
        return RECORDS if loader.reads_tables else RECORDS[:1]

    def read(self, loader: Loader, path: Path, records: Sequence[Mapping[str, str]]) -> list[Record | BadRecord]:
        """Write a file, and read it."""
        path = path.with_suffix(loader.suffixes[0])
        self.write(path, records)
        return list(loader.read(FoundFile(path, path.name), OPTIONS))

    def test_loader_describes_itself(self, loader: Loader) -> None:
        """Check that a loader has a name, and suffixes in lower case with a dot; its libraries are installed here."""
        assert loader.name
        assert isinstance(loader.suffixes, tuple)
        assert loader.suffixes
        assert all(suffix[0] == "." and suffix == suffix.lower() for suffix in loader.suffixes)
        assert isinstance(loader.reads_tables, bool)
        loader.check_installed()

    def test_records_are_complete_and_in_order(self, loader: Loader, tmp_path: Path) -> None:
        """Check that every record is read, with its text and its unit, and in the order of the file."""
        wanted = self.records_for(loader)
        records = self.read(loader, tmp_path / "notes", wanted)
        assert [shown(one) for one in records] == [shown_as(one, loader) for one in wanted]

    def test_records_name_their_file(self, loader: Loader, tmp_path: Path) -> None:
        """Check that `source` is the name of the file in the vault; `where` begins with it."""
        for record in self.read(loader, tmp_path / "notes", self.records_for(loader)):
            assert isinstance(record, Record)
            assert record.source == record.where[: len(record.source)]
            assert Path(record.source).stem == "notes"
            assert record.whole != loader.reads_tables

    def test_record_does_not_depend_on_other_records(self, loader: Loader, tmp_path: Path) -> None:
        """Check that a record does not depend on the records before and after it."""
        wanted = self.records_for(loader)
        every = dict(zip((one["unit"] for one in wanted), self.read(loader, tmp_path / "all", wanted), strict=True))
        for size in range(1, len(wanted)):
            for chosen in combinations(wanted, size):
                records = self.read(loader, tmp_path / "some", chosen)
                assert [shown(one) for one in records] == [shown(every[one["unit"]]) for one in chosen]

    def test_missing_unit_stays_missing(self, loader: Loader, tmp_path: Path) -> None:
        """Check that a record without a unit gets none from its neighbours."""
        if not loader.reads_tables:
            pytest.skip("a file of one text has no unit field")
        first, second, third = RECORDS
        for record in self.read(loader, tmp_path / "notes", [first, {"text": second["text"]}, third]):
            if isinstance(record, Record) and record.values.get("text") == second["text"]:
                assert record.values.get("unit") in (None, "")

    def test_reading_twice_gives_equal_records(self, loader: Loader, tmp_path: Path) -> None:
        """Check that the preview and the addition read the same."""
        first, second = (self.read(loader, tmp_path / "notes", self.records_for(loader)) for _ in range(2))
        assert first == second

    def test_damaged_file_gives_no_unknown_error(self, loader: Loader, tmp_path: Path) -> None:
        """Check that a damaged file gives a `BadRecord` or `BadData`, and no error quotes its content."""
        path = tmp_path / f"notes{loader.suffixes[0]}"
        self.write(path, self.records_for(loader))
        for damaged in damages(path.read_bytes()):
            path.write_bytes(damaged)
            records, message = self.read_damaged(loader, path)
            messages = [message, *(f"{one.where} {one.reason}" for one in records if isinstance(one, BadRecord))]
            assert not any(CANARY in one for one in messages)

    def read_damaged(self, loader: Loader, path: Path) -> tuple[list[Record | BadRecord], str]:
        """Return the records of a damaged file, and the message of the refusal, if it is refused."""
        try:
            return list(loader.read(FoundFile(path, path.name), OPTIONS)), ""
        except BadData as error:
            return [], str(error)

    def test_empty_file_has_no_records(self, loader: Loader, tmp_path: Path) -> None:
        """Check that a file of no bytes gives no record."""
        path = tmp_path / f"empty{loader.suffixes[0]}"
        path.write_bytes(b"")
        try:
            records = list(loader.read(FoundFile(path, path.name), OPTIONS))
        except BadData:
            return
        assert all(isinstance(one, BadRecord) for one in records)

    def test_missing_file_is_reported(self, loader: Loader, tmp_path: Path) -> None:
        """Check that a missing file gives an OSError or a `BadRecord`."""
        path = tmp_path / f"gone{loader.suffixes[0]}"
        try:
            records = list(loader.read(FoundFile(path, path.name), OPTIONS))
        except OSError:
            return
        assert records
        assert all(isinstance(one, BadRecord) for one in records)


def shown(record: Record | BadRecord) -> object:
    """Return the text and the unit of a record; the reason of one that could not be read."""
    if isinstance(record, BadRecord):
        return record.reason
    text = record.values.get("text")
    return text.strip() if isinstance(text, str) else text, record.values.get("unit")


def shown_as(record: Mapping[str, str], loader: Loader) -> object:
    """Return what `shown` returns for a record that was read well."""
    return record["text"].strip(), record["unit"] if loader.reads_tables else None


def damages(content: bytes) -> Iterator[bytes]:
    """Yield the content of a file, cut or changed at places all over it."""
    for number in range(_DAMAGES):
        place = number * len(content) // _DAMAGES
        yield content[:place]
        yield content[:place] + b"\xff\x00\xfe" + content[place + 3 :]

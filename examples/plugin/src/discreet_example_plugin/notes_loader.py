"""A loader of files with the suffix ".notes": each line is a record, the name of its unit, a bar, and its text."""

from collections.abc import Iterator

from discreet.files.records import BadRecord, FoundFile, ReadingOptions, Record


class NotesLoader:
    """Reads lines such as "ada|White hands.", in UTF-8. The fields are `unit` and `text`."""

    name = "notes"
    suffixes = (".notes",)
    reads_tables = True

    def check_installed(self) -> None:
        """Check the libraries that it needs: it needs none."""

    def read(self, file: FoundFile, options: ReadingOptions) -> Iterator[Record | BadRecord]:
        """Yield each record, and each line that cannot be read."""
        with file.path.open("rb") as lines:
            for number, line in enumerate(lines, 1):
                where = f"{file.source} line {number}"
                try:
                    unit, bar, text = line.decode("utf-8").strip().partition("|")
                except UnicodeError:
                    yield BadRecord(where, "not UTF-8")
                    continue
                if bar:
                    yield Record({"unit": unit, "text": text}, where, file.source)
                else:
                    yield BadRecord(where, "a line without a bar between unit and text")

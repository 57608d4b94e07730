"""Reading of files of one text each."""

from collections.abc import Iterator

from discreet.reading.characters import detect_encoding
from discreet.reading.opening import LONGEST
from discreet.reading.options import ReadingOptions
from discreet.reading.records import BadRecord, FoundFile, Record


def read_text(file: FoundFile, options: ReadingOptions) -> Iterator[Record | BadRecord]:
    """Yield the text of a file."""
    path, source = file
    if path.stat().st_size > LONGEST:
        yield BadRecord(source, f"larger than {LONGEST >> 20} MiB: split it into several files")
        return
    encoding = options.encoding or detect_encoding(lambda: path.open("rb"))
    try:
        text = path.read_bytes().decode(encoding).removeprefix("\ufeff")
    except UnicodeError:
        yield BadRecord(source, f"not {encoding.upper()}. Give the encoding: --encoding NAME")
        return
    if "\0" in text:
        yield BadRecord(source, "not a text: it contains zero bytes")
    elif text.strip():
        yield Record({"text": text}, source, source, whole=True)
    else:
        yield BadRecord(source, "empty")

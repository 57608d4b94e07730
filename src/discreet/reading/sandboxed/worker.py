"""The process that reads files of office programs: limited in memory and time, and unable to open anything.

    python -m discreet.reading.sandboxed.worker KIND ...

At its standard input it gets a file's kind, padded to 8 bytes, its length in 8 bytes, and the file. At its standard
output it answers by frames, each the length in 4 bytes and one JSON object; the last of a file is `{"end": ...}`. It
sends codes in place of error messages, which may hold content, and its standard error is closed.
"""

import codecs
import encodings
import io
import json
import os
import pkgutil
import resource
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict
from importlib import import_module

from discreet.reading.sandboxed.extracted import Extracted, Unreadable
from discreet.reading.sandboxed.mail import read_eml
from discreet.reading.sandboxed.markup import read_html
from discreet.reading.sandboxed.office import read_docx, read_odt, read_pptx
from discreet.reading.sandboxed.pdf import SMALL, read_pdf
from discreet.reading.sandboxed.workbook import read_xlsx

MEMORY = 2**31
"""Bytes of addresses, all that the process may have."""
PROCESSOR = 3600
"""Seconds of processor time: an end for one whose parent died while it was busy."""
Frames = Iterator[dict[str, object]]


def main() -> None:
    """Answer until the standard input ends."""
    source, sink = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a library prints is no answer
    for kind in sys.argv[1:]:
        _make_ready(kind)
    _limit()
    while len(header := source.read(16)) == 16:
        data = source.read(int.from_bytes(header[8:], "big"))
        for frame in _answer(READERS[header[:8].decode().strip()], data):
            content = json.dumps(frame).encode()
            sink.write(len(content).to_bytes(4, "big") + content)
        sink.flush()


def _answer(read: Callable[[bytes], Frames], data: bytes) -> Frames:
    try:
        yield from read(data)
        yield {"end": ""}
    except Unreadable as error:
        yield {"end": str(error)}
    except MemoryError:
        yield {"end": "too_large"}
    except Exception:
        yield {"end": "damaged"}


def _document(read: Callable[[bytes], Extracted]) -> Callable[[bytes], Frames]:
    return lambda data: iter([asdict(read(data))])


READERS: dict[str, Callable[[bytes], Frames]] = {
    "pdf": _document(read_pdf),
    "docx": _document(read_docx),
    "odt": _document(read_odt),
    "pptx": _document(read_pptx),
    "html": _document(read_html),
    "eml": _document(read_eml),
    "xlsx": read_xlsx,
}


def _make_ready(kind: str) -> None:
    """Loads what would be loaded at the first file: afterwards nothing can be opened any more."""
    for module in pkgutil.iter_modules(encodings.__path__):
        try:
            codecs.lookup(module.name)
        except (LookupError, ImportError):
            continue
    if kind == "xlsx":
        from openpyxl import Workbook

        made = io.BytesIO()
        Workbook().save(made)
        list(read_xlsx(made.getvalue()))
    else:
        list(_answer(READERS[kind], SMALL))
    import_module("xml.etree.ElementTree").fromstring("<a>&#65;</a>")


def _limit() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CPU, (PROCESSOR, PROCESSOR))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    resource.setrlimit(resource.RLIMIT_NOFILE, (0, 0))  # no file, no socket: neither reading nor sending


if __name__ == "__main__":
    main()

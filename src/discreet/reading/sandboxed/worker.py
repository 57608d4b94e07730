"""The process that reads files of office programs. It has limits of memory and time, and can open no file.

    python -m discreet.reading.sandboxed.worker KIND ...

Its standard input has the length of a request in 4 bytes, the request as JSON, the length of a file in 8 bytes, and the
file. Its standard output has frames: the length in 4 bytes, and one JSON object. `{"page": 0}` states that the process
is ready, `{"page": number}` that a page was read; the last frame of a file is `{"end": code}`. The process sends codes
instead of error messages, which could contain text of the file. Its standard error is closed.
"""

import codecs
import encodings
import io
import json
import os
import pkgutil
import resource
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict
from importlib import import_module
from typing import BinaryIO

from discreet.reading.records import Doubtful
from discreet.reading.sandboxed import Extracted, Unreadable, Wanted
from discreet.reading.sandboxed.markup import read_eml, read_html, read_mbox
from discreet.reading.sandboxed.office import read_docx, read_odt, read_pptx, read_xlsx
from discreet.reading.sandboxed.pdf import SMALL, read_pdf

MEMORY = 2**31
"""The limit of the address space, in bytes."""
PROCESSOR = 3600
"""The limit of processor time, in seconds. It ends a busy process whose parent died."""
Frames = Iterator[dict[str, object]]
Reader = Callable[[bytes, Wanted], Iterator[Extracted | dict[str, object]] | Iterator[Extracted] | Frames]


def main() -> None:
    """Answer requests until the standard input ends."""
    source, sink = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # the output of a library must not mix with answers
    ocr = "ocr" in sys.argv[1:]
    for kind in sys.argv[1:]:
        _make_ready(kind, ocr)
    _limit(PROCESSOR * (24 if ocr else 1))
    _send(sink, [{"page": 0}])
    while len(header := source.read(4)) == 4:
        request = json.loads(source.read(int.from_bytes(header, "big")))
        data = source.read(int.from_bytes(source.read(8), "big"))
        _send(sink, _answer(READERS[request.pop("kind")], data, Wanted(**request)))


def _send(sink: BinaryIO, frames: Iterable[dict[str, object]]) -> None:
    for frame in frames:
        content = json.dumps(frame).encode()
        sink.write(len(content).to_bytes(4, "big") + content)
        if "page" in frame:
            sink.flush()
    sink.flush()


def _answer(read: Reader, data: bytes, wanted: Wanted) -> Frames:
    try:
        for found in read(data, wanted):
            yield asdict(found) if isinstance(found, Extracted) else found
        yield {"end": ""}
    except Unreadable as error:
        yield {"end": str(error)}
    except Doubtful:
        yield {"end": "doubtful"}
    except MemoryError:
        yield {"end": "too_large"}
    except Exception:
        yield {"end": "damaged"}


READERS: dict[str, Reader] = {
    "pdf": read_pdf,
    "docx": read_docx,
    "odt": read_odt,
    "pptx": read_pptx,
    "html": read_html,
    "eml": read_eml,
    "mbox": read_mbox,
    "xlsx": read_xlsx,
}


def _make_ready(kind: str, ocr: bool) -> None:
    """Load all modules that the first file needs. Later, the process cannot open files."""
    for module in pkgutil.iter_modules(encodings.__path__):
        try:
            codecs.lookup(module.name)
        except (LookupError, ImportError):
            continue
    if kind == "xlsx":
        from openpyxl import Workbook

        made = io.BytesIO()
        Workbook().save(made)
        list(read_xlsx(made.getvalue(), Wanted()))
    elif kind in READERS:
        list(_answer(READERS[kind], SMALL, Wanted(ocr=ocr)))
    import_module("chardetng_py")
    import_module("xml.etree.ElementTree").fromstring("<a>&#65;</a>")


def _limit(seconds: int = PROCESSOR) -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    resource.setrlimit(resource.RLIMIT_NOFILE, (0, 0))  # no file and no socket can be opened


if __name__ == "__main__":
    main()

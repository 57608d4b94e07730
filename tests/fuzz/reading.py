"""The files that custodians add, of every kind. Documents are read in the process for them, as always."""

import gzip
import io
import json
from collections.abc import Callable
from pathlib import Path

from discreet.files.loaders import read_records
from discreet.files.records import BadRecord
from discreet.files.sandbox import Sandbox
from discreet.store.documents import chunk
from discreet.store.embedding import HashingEmbedder
from tests.files import samples
from tests.fuzz.mutations import (
    Mutation,
    of_bytes,
    of_csv,
    of_encoding,
    of_json,
    of_lines,
    of_markup,
    of_packed,
    of_parquet,
    of_zip,
)
from tests.fuzz.targets import Crash, Target

EMBEDDER = HashingEmbedder()
SANDBOX = Sandbox(seconds=8)
"""One for all inputs: its processes end when this one does."""
SECRET = "Snurflaxitis"
TEXT = f"Zoë has {SECRET}: “a & b” < 5."
_ROWS = [{"id": "n1", "unit": "Ada", "text": TEXT}, {"id": 2, "unit": 7.0, "text": "Two."}]
LINES = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in _ROWS).encode()
TABLE = f'id;unit;text\r\n1;Ada;"{TEXT}"\r\n2;Bela;two\r\n'.encode()


def _parquet() -> bytes:
    import pyarrow
    import pyarrow.parquet

    made = io.BytesIO()
    table = pyarrow.table({"id": ["a", "b"], "unit": [1.0, None], "text": [TEXT, "Two."]})
    pyarrow.parquet.write_table(table, made)
    return made.getvalue()


def _records(name: str) -> Callable[[Path, bytes], str]:
    def run(folder: Path, data: bytes) -> str:
        path = folder / name
        path.write_bytes(data)
        told = set()
        for record in read_records([path], sandbox=SANDBOX):
            if isinstance(record, BadRecord):
                told.add("BadRecord")
                f"{record.where}: {record.reason}".encode()
                if SECRET in record.where + record.reason:
                    raise Crash("a message holds content")
            else:
                record.where.encode()
                text = record.values.get("text")
                EMBEDDER.embed(chunk(text)[:1] if isinstance(text, str) else [])
        return "BadRecord" if told else ""

    return run


def _of(name: str, share: int, seed: bytes, mutate: Mutation) -> Target:
    return Target(f"records, {name}", share, (seed,), _records(name), mutate)


READING = (
    _of("a.jsonl", 40, LINES, of_lines),
    _of("a.jsonl.gz", 30, gzip.compress(LINES, 1), of_packed),
    _of("a.json", 60, json.dumps({"notes": _ROWS}).encode(), of_json),
    _of("a.csv", 60, TABLE, of_csv),
    _of("a.tsv", 40, TABLE.replace(b";", b"\t"), of_encoding),
    _of("b.csv", 40, TABLE, of_encoding),
    _of("a.parquet", 30, _parquet(), of_parquet),
    _of("a.txt", 40, TEXT.encode(), of_encoding),
    _of("a.xlsx", 60, samples.xlsx(["id", "unit", "text"], [1, "Ada", TEXT], [2, 7.5, "Two."]), of_zip),
    _of("a.pdf", 60, samples.pdf(TEXT, "Two."), of_bytes),
    _of("a.docx", 60, samples.docx(TEXT, "Two.", table=[["a", "b"]]), of_zip),
    _of("a.odt", 40, samples.odt(TEXT, "Two."), of_zip),
    _of("a.pptx", 40, samples.pptx(TEXT, "Two."), of_zip),
    _of("a.html", 50, samples.html(TEXT, "Two."), of_markup),
    _of("a.eml", 50, samples.eml(TEXT, "Two.", attached={"a.txt": b"x"}), of_bytes),
    _of("a.mbox", 50, b"From x\n" + samples.eml(TEXT) + b"\n\nFrom x\n" + samples.eml("Two."), of_bytes),
)

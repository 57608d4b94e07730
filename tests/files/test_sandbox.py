"""The process that reads documents: limited, replaced, silent."""

import json
import os
import signal
import subprocess
import sys
from multiprocessing import Pipe
from pathlib import Path
from typing import Any

import pytest

from discreet.files.loaders import read_records
from discreet.files.records import BadRecord, ReadingOptions, Unreadable
from discreet.files.sandbox import Sandbox
from tests.files import samples

PAGE = b"<p>fine"
SLOW = b"<a <" * 3_000_000
"""Python's reader of HTML takes minutes for it."""


def text(box: Sandbox) -> object:
    (frame,) = box.frames("html", PAGE)
    return frame["text"]


def pid(box: Sandbox) -> int:
    (worker,) = box._workers.values()
    return worker._process.pid


def test_slow_file_is_abandoned_and_the_next_is_read() -> None:
    with Sandbox(seconds=1) as box:
        with pytest.raises(Unreadable, match="too long"):
            list(box.frames("html", SLOW))
        box.seconds = 60
        assert text(box) == "fine"


def test_process_that_dies_is_replaced() -> None:
    with Sandbox() as box:
        assert text(box) == "fine"
        os.kill(pid(box), signal.SIGKILL)
        with pytest.raises(Unreadable, match="process ended"):
            text(box)
        assert text(box) == "fine"


def test_bomb_is_too_large() -> None:
    with Sandbox() as box:
        with pytest.raises(Unreadable, match="too large"):
            list(box.frames("docx", samples.packed({"word/document.xml": b"<a>" + b" " * 2**28})))
        bomb = b'<!DOCTYPE a [<!ENTITY a "aaaaaaaaaa">' + b"".join(
            b'<!ENTITY %c "%s">' % (98 + n, b"&%c;" % (97 + n) * 10) for n in range(12)
        )
        with pytest.raises(Unreadable, match=r"damaged|too large"):
            list(box.frames("docx", samples.packed({"word/document.xml": bomb + b"]><a>&m;</a>"})))
        assert text(box) == "fine"


CHECK = """
import json, socket, sys
from discreet.files import sandbox as worker
sys.argv = ["worker", *worker.documents.READERS]
found = {}
def attempt(name, call):
    try:
        call()
        found[name] = "done"
    except (OSError, MemoryError) as error:
        found[name] = type(error).__name__
def asked(kind, data, options):
    attempt("read", lambda: open("/etc/passwd"))
    attempt("write", lambda: open("/dev/null", "w"))
    attempt("socket", lambda: socket.socket())
    attempt("memory", lambda: bytearray(2**31))
    yield {"end": json.dumps(found)}
limit = worker._limit
def limited(*_):
    limit()
    worker._answer = asked
worker._limit = limited
worker.main()
"""


def attempted(script: str) -> str:
    pipe, theirs = Pipe()
    path = {"PYTHONPATH": os.pathsep.join(sys.path)}
    with theirs:
        process = subprocess.Popen([sys.executable, "-c", script], stdin=theirs.fileno(), env=path)
    pipe.send_bytes(b'{"kind": "html"}')
    pipe.send_bytes(PAGE)
    assert json.loads(pipe.recv_bytes()) == {"page": 0}
    answer = pipe.recv_bytes().decode()
    pipe.close()
    assert process.wait(60) == 0
    return answer


def test_process_can_open_nothing() -> None:
    found = attempted(CHECK)
    assert "done" not in found
    assert found.count("Error") == 4


def test_process_without_limits_is_noticed() -> None:
    found = attempted(CHECK.replace("    limit()\n", "").replace("2**31", "2"))
    assert found.count("done") == 4


class _Lying(Sandbox):
    """A process that was taken over by a file."""

    def frames(self, kind: str, data: bytes, options: ReadingOptions | None = None) -> Any:
        yield from ANSWER


ANSWER: list[Any] = []


@pytest.mark.parametrize("name", ["a.html", "a.xlsx"])
@pytest.mark.parametrize(
    "frame",
    [
        {},
        {"text": 5},
        {"text": "x", "fields": "secret"},
        {"text": "x", "fields": {"from": 5}},
        {"text": "x", "pages": "secret", "attachments": 0},
        {"rows": "secret"},
        {"rows": [[["secret"], 1, []]]},
    ],
)
def test_what_it_answers_is_not_believed(
    name: str, frame: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("discreet.files.loaders.Sandbox", _Lying)
    ANSWER[:] = [frame]
    (tmp_path / name).write_bytes(b"x")
    found = list(read_records([tmp_path / name]))
    assert all(isinstance(record, BadRecord) for record in found)
    assert "secret" not in repr(found)

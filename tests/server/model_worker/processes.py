"""Model workers and askers as processes."""

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[3]


@contextmanager
def short_folder() -> Iterator[Path]:
    """A folder whose path leaves room for the name of a socket, which has at most 107 characters."""
    with tempfile.TemporaryDirectory(dir="/tmp", prefix="dw") as folder:
        yield Path(folder)


class Worker(subprocess.Popen[str]):
    """A worker, and the address that it printed."""

    said = ""


@contextmanager
def worker(place: object, *arguments: object) -> Iterator[Worker]:
    """A worker with a toy model, which listens."""
    command = [sys.executable, "-m", "tests.server.model_worker.worker", str(place), *map(str, arguments)]
    process = Worker(command, stdout=subprocess.PIPE, text=True, cwd=ROOT)
    try:
        assert process.stdout is not None
        process.said = process.stdout.readline()
        assert process.said
        yield process
    finally:
        process.kill()
        process.wait()


@contextmanager
def served(model: str, socket: Path) -> Iterator[None]:
    """The command of a worker with a real model, while it is needed."""
    command = [sys.executable, "-m", "discreet", "serve-model", model, "--socket", str(socket)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, cwd=ROOT) as process:
        assert process.stderr is not None
        try:
            while f"Serving {model}" not in (line := process.stderr.readline()):
                assert line
            yield
        finally:
            process.kill()


def started_asker(*arguments: object) -> "subprocess.Popen[str]":
    """Start a process that asks."""
    command = [sys.executable, "-m", "tests.server.model_worker.asker", *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT)


def result(asker: "subprocess.Popen[str]") -> dict[str, Any]:
    """Return what an asker printed."""
    shown, _ = asker.communicate(timeout=300)
    assert asker.returncode == 0
    found: dict[str, Any] = json.loads(shown)
    return found

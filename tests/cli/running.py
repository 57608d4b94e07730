"""The command line in this process, as tests run it; each `--json` that it prints is checked against its schema."""

import json
import os
import pty
import subprocess
from typing import Any

from typer.testing import CliRunner, Result

from discreet.cli import main  # noqa: F401 - registers the commands
from discreet.cli.app import app
from tests.cli.json_schemas import check


def run(*words: object, typed: str | bytes | None = None) -> Result:
    """Run a command with its arguments, and with what is typed, where lines are not broken."""
    given = [str(word) for word in words]
    result = CliRunner().invoke(app, given, input=typed, env={"COLUMNS": "300"})
    if "--json" in given and "--help" not in given:
        for line in result.stdout.splitlines():
            if line.startswith("{"):
                check(given, json.loads(line))
    return result


def said(result: Result) -> str:
    """Return all that a command printed, on one line."""
    return " ".join((result.stdout + result.stderr).split())


def json_of(*words: object) -> dict[str, Any]:
    """Return the object that a command prints with `--json`; it succeeds."""
    result = run(*words, "--json")
    assert result.exit_code == 0, result.output
    found: dict[str, Any] = json.loads(result.stdout)
    return found


def on_a_terminal(command: list[str], answer: str = "", **variables: str) -> tuple[int, str]:
    """Run a program that has a terminal for everything. Return its exit code and what it printed."""
    ours, theirs = pty.openpty()
    with subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, env=os.environ | variables) as process:
        os.close(theirs)
        os.write(ours, answer.encode())
        shown = b""
        try:
            while part := os.read(ours, 65536):
                shown += part
        except OSError:  # the other end is closed, on Linux
            pass
        code = process.wait()
    os.close(ours)
    return code, shown.decode(errors="replace")

"""What long work shows: a bar on a terminal, plain lines elsewhere, and nothing that a program must filter out."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from discreet.cli import output
from discreet.cli.output import doing
from discreet.store.documents import Document
from discreet.vault import Vault
from tests.cli.running import on_a_terminal

SHOWS = """
import time
from discreet.cli import output
from discreet.system.progress import stage
output.FIRST_LINE = output.NEXT_LINES = 0.1
with output.doing("Copying", 10) as advance:
    advance(4)
    time.sleep(0.4)
    with stage("Loading the language model"):
        time.sleep(0.4)
print("done")
"""


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the first line come at once, and the next ones soon."""
    monkeypatch.setattr(output, "FIRST_LINE", 0.01)
    monkeypatch.setattr(output, "NEXT_LINES", 0.01)


def shown(capsys: pytest.CaptureFixture[str], wanted: str) -> None:
    """Wait until a line is printed."""
    seen, end = "", time.monotonic() + 20
    while wanted not in seen and time.monotonic() < end:
        seen += capsys.readouterr().err
        time.sleep(0.01)
    assert wanted in seen


@pytest.mark.usefixtures("at_once")
def test_long_work_prints_lines_with_the_total_and_the_time_left(capsys: pytest.CaptureFixture[str]) -> None:
    with doing("Reading", 10) as advance:
        shown(capsys, "Reading: 0 of 10, 0 s so far\n")
        advance(4)
        shown(capsys, "Reading: 4 of 10, about 0 s left\n")
    with doing("Reading") as advance:
        shown(capsys, "Reading: 0 s so far\n")
        advance(1200)
        shown(capsys, "Reading: 1,200 in 0 s\n")


def test_time_that_passed_has_seconds() -> None:
    """Two lines of long work differ; an estimate is rounded."""
    assert [output._spoken(past, exact=True) for past in (119, 150, 7325.9)] == ["119 s", "2 min 30 s", "122 min 5 s"]
    assert output._spoken(150) == "2 min"


def test_nothing_but_plain_lines_goes_into_a_pipe() -> None:
    for more in ({}, {"FORCE_COLOR": "1"}, {"NO_COLOR": "1"}):
        done = subprocess.run(
            [sys.executable, "-c", SHOWS], capture_output=True, text=True, check=True, env=os.environ | more
        )
        assert done.stdout == "done\n"
        assert "Copying: 4 of 10, about" in done.stderr
        assert "Loading the language model: 0 s so far" in done.stderr
        assert all(char.isprintable() or char == "\n" for char in done.stderr)


@pytest.mark.parametrize("plain", [False, True])
def test_terminal_has_a_bar_which_goes_away(plain: bool) -> None:
    code, seen = on_a_terminal(
        [sys.executable, "-c", SHOWS], TERM="xterm-256color", **{"NO_COLOR": "1"} if plain else {}
    )
    assert code == 0
    assert "Copying" in seen
    assert "4 of 10, about" in seen
    assert "Loading the language model" in seen
    assert "\x1b[2K" in seen  # the bar's line is cleared
    assert ("\x1b[38;5" in seen or "\x1b[3" in seen) != plain  # NO_COLOR


@pytest.mark.long
@pytest.mark.parametrize("command", ["add", "backup", "doctor", "undo"])
def test_command_on_a_terminal_clears_what_it_showed(command: str, tmp_path: Path) -> None:
    made = Vault.create(tmp_path / "v", epsilon=20, delta=1e-6, unit_field="patient", embedder="hashing")
    made.add_documents(Document(f"d{n}", f"p{n}", "numb thumbs") for n in range(30))
    made.store.close()
    notes = tmp_path / "n.csv"
    notes.write_text("patient,text\nada,numb\nbo,cough\n")
    rest: dict[str, list[object]] = {"add": [notes, "--yes"], "backup": [tmp_path / "b.tar.gz"], "undo": [1, "--yes"]}
    words = [sys.executable, "-m", "discreet", command, made.path, *rest.get(command, [])]
    code, seen = on_a_terminal([str(word) for word in words], TERM="xterm-256color")
    assert code == 0, seen
    assert seen.count("\x1b[?25l") == seen.count("\x1b[?25h")  # the cursor is back
    assert "Unexpected error" not in seen

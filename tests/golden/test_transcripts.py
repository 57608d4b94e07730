"""Twenty-two commands print what they printed before: `transcript.txt`, word for word.

    .venv/bin/python -m tests.golden.test_transcripts

writes the file anew. The commands are those of the README and of the tutorial, with a toy model and seeded noise. A
commit that changes the file says what users see now.
"""

import csv
import os
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from typer.testing import CliRunner

from discreet.cli.app import app
from discreet.demo.corpus import documents
from discreet.models.toy import ToyModel
from discreet.privacy.noise import InsecureSeededNoise

FILE = Path(__file__).with_name("transcript.txt")
COMMANDS = """
plan --people 1200 --epsilon 20 --delta 1e-6
init hospital --epsilon 20 --delta 1e-6 --people 1200 --unit-field patient --embedder hashing
add hospital notes.csv --text-field note --preview
add hospital notes.csv --text-field note --yes
ask hospital "What is the treatment for Winter Hand?"
ask hospital "what is the treatment for winter hand"
ask hospital "How many patients have numb thumbs?"
ask hospital "What share of patients have numb thumbs?"
ask hospital "How many patients have numb thumbs or a fever?"
ask hospital "What is the name of the patient with Marsh Fever?" --algorithm rag
ask hospital "Which patient has Marsh Fever?"
ask hospital "How many patients have a stiff knee?" --json
budget hospital
budget hospital --analyst
ledger hospital
list hospital batches
remove hospital --unit "Ugo Bergmann"
erasure-report hospital --unit "Ugo Bergmann"
add hospital notes.csv --text-field note --yes
key issue hospital ana --epsilon 10
key list hospital
ask hopsital "How many patients have numb thumbs?"
"""
"""Each runs after the ones before it."""
_CHANGING = (
    (re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?(\+00:00|Z)?"), "TIME"),
    (re.compile(r"\d{4}-\d\d-\d\d"), "DATE"),
    (re.compile(r"\b\d+(\.\d+)? (s|seconds)\b"), "SECONDS"),
    (re.compile(r"dsc_\w+|\b[0-9a-f]{16,}\b"), "SECRET"),
    (re.compile(r"^.*(?:: SECONDS so far|, about SECONDS left)\n", re.MULTILINE), ""),
    (re.compile(r"(?<=Key )\w{8}\b|^\w{8}(?=  ana)", re.MULTILINE), "KEY"),
)
"""What differs from one run to the next, and what stands in its place."""


class SeededNoise(InsecureSeededNoise):
    """Noise of a seed that a vault accepts: in this test alone."""

    secure = True

    def beside(self) -> "SeededNoise":
        """Return noise that is drawn beside this one."""
        return SeededNoise(2)


@contextmanager
def seeded(folder: Path) -> Iterator[None]:
    """Run commands in a folder, with a toy model and with noise from a seed."""
    before = Path.cwd()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COLUMNS", "100")
        patch.setattr("discreet.models.loading.load_model", lambda *_given, **_named: ToyModel(default="cold tea"))
        for module in ("filter", "account"):
            patch.setattr(f"discreet.privacy.{module}.SystemNoise", lambda: SeededNoise(1))
        os.chdir(folder)
        try:
            yield
        finally:
            os.chdir(before)


def record(folder: Path) -> str:
    """Return all commands with what they print and their exit codes."""
    with (folder / "notes.csv").open("w", newline="") as file:
        csv.writer(file).writerows((("patient", "note"), *((one.unit, one.text) for one in documents())))
    lines = []
    with seeded(folder):
        for command in COMMANDS.strip().splitlines():
            result = CliRunner().invoke(app, command)
            text = result.output.replace(str(folder), "FOLDER")
            for pattern, instead in _CHANGING:
                text = pattern.sub(instead, text)
            lines.append(f"$ discreet {command}\n{text.rstrip()}\n[{result.exit_code}]\n")
    return "\n".join(lines)


def test_commands_print_what_they_printed(tmp_path: Path) -> None:
    assert record(tmp_path) == FILE.read_text(encoding="utf-8")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as made:
        FILE.write_text(record(Path(made)), encoding="utf-8")

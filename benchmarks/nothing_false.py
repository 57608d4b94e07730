"""Questions whose answers were false numbers, asked before and now: what is not understood is refused unpaid.

    .venv/bin/python -m benchmarks.nothing_false [--before 26ea044] [--only WORD] [--width 100]

Each line of `INPUT` is a command line, typed by an analyst or a custodian of a small made-up hospital: 300 patients
with one note each (`one`), 100 patients with two notes each (`two`), and 200 of whom most deny nausea (`denied`). A
line runs with the sources of the commit `--before` and with those of this checkout, each in a folder of its own. The
script shows the beginning of what each printed. It ends with 1 if a line that must be refused is paid now, or if a
number is printed where none may be, or none where one must be.

refused   the command ends with an error, and the ledger of the vault has no new entry
noted     a number is printed, and so is the note in quotes
near N    the number that is printed is at most 15 from N

Tests at the end compare the clocks, and what else no command line shows.
"""

import argparse
import csv
import os
import re
import shlex
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
INPUT = """
refused     ask one "How many patients have Winter Hand or Glass Knee?"
refused     ask one "How many patients have numb thumbs and a weak grip?"
refused     ask one "How many patients have either Winter Hand or Glass Knee?"
refused     ask one "How many patients have Winter Hand/Glass Knee?"
refused     ask one "How many patients have Winter Hand & numb thumbs?"
refused     ask one "How many patients are HIV+?"
refused     ask one "How many patients have CD4 < 200?"
refused     ask one "How many patients have hepatitis A?"
refused     ask one "How many patients are on dialysis?"
refused     ask one "How many patients had fever before surgery?"
refused     ask one "How many patients had numb thumbs in March?"
refused     ask one "How many patients have Winter Hand and what do they take for it?"
refused     ask one "What share of patients have Winter Hand or Glass Knee?"
refused     ask one "How many women have Winter Hand?"
refused     ask one "How many patients have Winter Hand?" --where "date<=2026"
refused     ask one "How many patients have Winter Hand?" --where "date=2026-01"
near 50     ask one "How many patients have Winter Hand?" --where sex=w
near 100    ask one "How many patients have Winter Hand?"
near 0      ask two "How many patients have fever?" --where month=6
near 0      ask two "How many patients have a rash?" --where month=1
near 0      ask two "How many patients have a rash?" --where "date>=2026-02-01" --where "date<=2026-05-31"
refused     ask one "What is the average satisfaction?" --kind fact
refused     ask one "What share of patients have Winter Hand?" --kind fact
refused     ask one "How often do patients have Winter Hand?" --kind fact
refused     ask one "What is the main problem?"
refused     ask one "What is the worst symptom?"
near 100    ask spent "How many patients have Winter Hand?" --anew --epsilon 4
near 100    ask spent "How many patients have Winter Hand?" --anew --epsilon 4
noted "Units may be missing" ask spent "How many patients have Winter Hand?" --anew --epsilon 4
near 22     ask denied "How many patients have nausea?"
refused     serve one --port 8931
noted "300 added" add joined notes.csv --text-field note --text-field sex
"""
TESTS: tuple[str, ...] = ("tests/guarantee/server/test_clocks.py",)
"""The clocks, the desk and what else no command line shows."""
_NEAR, _LONGEST = 15, 120.0
_FIELDS = ("--field", "sex:category", "--field", "date:date", "--field", "month:number")


@dataclass(frozen=True)
class Line:
    """A line of the input: what must come of it, and the arguments of `discreet`."""

    wanted: str
    arguments: tuple[str, ...]


def read_input() -> Iterator[Line]:
    """Yield the lines of the input."""
    for text in INPUT.strip().splitlines():
        wanted, command = re.split(r"\s+(?=ask |serve |add )", text, maxsplit=1)
        yield Line(wanted.strip(), tuple(shlex.split(command)))


class Run:
    """The lines of the input, run with the sources of one commit in a folder of its own."""

    def __init__(self, sources: Path, folder: Path) -> None:
        self._folder = folder
        self._environment = {**os.environ, "PYTHONPATH": str(sources), "COLUMNS": "200", "DISCREET_QUIET": "1"}
        write_files(folder)
        for vault, grant in {"one": 100, "two": 100, "spent": 8.5, "denied": 100, "joined": 20}.items():
            self._call(
                *("init", vault, "--epsilon", grant, "--delta", 1e-6, "--unit-field", "patient"),
                *("--embedder", "hashing", *_FIELDS),
            )
        for vault, file in {"one": "notes", "two": "visits", "spent": "notes", "denied": "denials"}.items():
            self._call("add", vault, f"{file}.csv", "--text-field", "note")

    def look(self, line: Line) -> tuple[str, bool]:
        """Return the beginning of what a line prints, and whether that is as it should be."""
        vault = line.arguments[1]
        before = self._entries(vault)
        with socket.socket() as taken:
            if line.arguments[0] == "serve":
                taken.bind(("127.0.0.1", 8931))
                taken.listen()
            try:
                done = self._call(*line.arguments)
            except subprocess.TimeoutExpired:
                return f"(no answer within {_LONGEST:g} s)", False
        said = f"{done.stdout}\n{done.stderr}"
        shown = " ".join((done.stdout.strip() or done.stderr.strip()).split())
        if line.wanted == "refused":
            fine = done.returncode == 2 and self._entries(vault) == before and "Ready" not in said
        elif line.wanted.startswith("near "):
            number = re.match(r"About (\d+)", done.stdout)
            fine = number is not None and abs(int(number[1]) - int(line.wanted.split()[1])) <= _NEAR
        else:
            fine = done.returncode == 0 and line.wanted.split('"')[1] in said
        return shown, fine

    def _entries(self, vault: str) -> str:
        return self._call("ledger", vault, "--json").stdout

    def _call(self, *arguments: object) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [sys.executable, "-m", "discreet", *map(str, arguments)],
            cwd=self._folder,
            env=self._environment,
            capture_output=True,
            text=True,
            timeout=_LONGEST,
        )


def write_files(folder: Path) -> None:
    """Write the files of the hospital."""
    said = ("Winter Hand with white hands, numb thumbs and a weak grip", "Glass Knee with a sharp pain", "a cold")
    notes = [
        (
            f"P{number:03d}",
            "wm"[number % 2],
            f"2026-{number % 6 + 1:02d}-15",
            number % 6 + 1,
            f"The patient has {said[number % 3]}. HIV-. CD4 {150 + number}. Hepatitis {'ABC'[number % 3]} was seen.",
        )
        for number in range(300)
    ]
    visits = [
        (f"P{number:03d}", "w", f"2026-{month:02d}-15", month, f"The patient has {what}.")
        for number in range(100)
        for month, what in ((1, "fever"), (6, "a rash"))
    ]
    denials = [
        (f"P{number:03d}", "w", "2026-01-15", 1, "Nausea since Monday." if number < 22 else "Denies nausea. A cough.")
        for number in range(200)
    ]
    for name, rows in (("notes", notes), ("visits", visits), ("denials", denials)):
        with (folder / f"{name}.csv").open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(("patient", "sex", "date", "month", "note"))
            writer.writerows(rows)


def main() -> int:
    """Run all lines with both sources. Return 1 if one is not as it should be now."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.nothing_false", description="Ask before and now.")
    parser.add_argument("--before", default="26ea044", help="a commit; empty for none")
    parser.add_argument("--only", default="", help="only lines with this word")
    parser.add_argument("--width", type=int, default=100, help="characters of an output that are shown")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        lines = [line for line in read_input() if given.only in " ".join((line.wanted, *line.arguments))]
        sources = {"now": ROOT / "src"}
        if given.before:
            tree = folder / "tree"
            subprocess.run(["git", "worktree", "add", "-q", "--detach", str(tree), given.before], cwd=ROOT, check=True)
            sources = {"before": tree / "src", **sources}
        try:
            wrong = compare(lines, sources, folder, given.width) if lines else 0
        finally:
            if given.before:
                subprocess.run(["git", "worktree", "remove", "--force", str(tree)], cwd=ROOT, check=False)
    print(f"{wrong} of {len(lines)} lines are not as they should be. The other cases have tests:", flush=True)
    return subprocess.call([sys.executable, "-m", "pytest", *TESTS], cwd=ROOT) or int(wrong > 0)


def compare(lines: list[Line], sources: dict[str, Path], folder: Path, width: int) -> int:
    """Print what each line prints with each of the sources. Return the number of lines that are wrong now."""
    runs = {}
    for name, path in sources.items():
        (folder / name).mkdir()
        runs[name] = Run(path, folder / name)
    wrong = 0
    for line in lines:
        print(f"\n{shlex.join(('discreet', *line.arguments))}   [{line.wanted}]", flush=True)
        for name, run in runs.items():
            shown, fine = run.look(line)
            print(f"  {name:7} {'ok   ' if fine else 'WRONG'} {shown[:width]}", flush=True)
        wrong += not fine
    return wrong


if __name__ == "__main__":
    sys.exit(main())

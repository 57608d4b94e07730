"""All that takes hours, one after the other, and one page of what came of it.

    make nightly                                     # a whole night: eight hours
    .venv/bin/python -m benchmarks.nightly [--hours 8] [--out nightly] [--seed 0] [JOB ...]

The hours are divided among audits with many draws, broken twins that the audits must flag, fuzzing, and load on a vault
and on a server. What a job prints is in OUT/JOB.log, and the page is printed and written to OUT/index.md. Ends with 1
if a job failed. Each night has another seed (the number of the day), so that draws and inputs are new; `--seed` repeats
a night.
"""

import argparse
import platform
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import TextIO

from discreet import __version__

DRAWS_AN_HOUR = 300_000
"""Draws of each audit; 10,000 of all mechanisms take a minute on one core, those of algorithms some minutes."""
INPUTS_AN_HOUR = 400_000
"""Inputs of the fuzzer: half of what one busy core does."""
LEAST = 60.0
"""Seconds: a shorter load shows nothing."""


@dataclass(frozen=True)
class Job:
    """A command that takes about a known time.

    Attributes:
        name: the name on the page and of the log.
        module: the Python module that is run.
        arguments: its arguments.
    """

    name: str
    module: str
    arguments: Sequence[str]

    @property
    def command(self) -> str:
        """The command as a reader would type it."""
        return " ".join([".venv/bin/python -m", self.module, *self.arguments])


def jobs(hours: float, seed: int, out: Path) -> list[Job]:
    """Return the jobs of a night of some hours, in the order in which they run."""
    draws = str(max(1_000, int(DRAWS_AN_HOUR * hours / 8)))
    inputs = str(max(1_000, int(INPUTS_AN_HOUR * hours / 4)))
    seconds = max(LEAST, hours * 3600 / 8)
    return [
        Job("audit", "discreet", ["audit", "mechanisms", "--draws", draws, "--seed", str(seed), "--markdown"]),
        Job("audit-all", "discreet", ["audit", "--seed", str(seed), "--markdown"]),
        Job("twins", "discreet", ["audit", "--twins", "--seed", str(seed), "--markdown"]),
        Job("fuzz", "benchmarks.fuzz", ["--inputs", inputs, "--seed", str(seed), "--crashes", str(out / "crashes")]),
        Job("load-corpus", "benchmarks.load", ["--payment", "corpus", "--seconds", f"{seconds:.0f}"]),
        Job("load-units", "benchmarks.load", ["--payment", "unit", "--seconds", f"{seconds:.0f}"]),
        Job("load-server", "benchmarks.serving", ["load", "--minutes", f"{seconds / 60:.0f}"]),
    ]


def main() -> int:
    """Run the jobs, print the page, and return 1 if a job failed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("jobs", nargs="*", metavar="JOB", help="only these; all if none")
    parser.add_argument("--hours", type=float, default=8.0)
    parser.add_argument("--out", type=Path, default=Path("nightly"))
    parser.add_argument("--seed", type=int, default=date.today().toordinal())
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    wanted = jobs(given.hours, given.seed, given.out)
    names = [job.name for job in wanted]
    if unknown := set(given.jobs) - set(names):
        parser.error(f"no job is called {', '.join(sorted(unknown))}; the jobs are {', '.join(names)}")
    return run([job for job in wanted if not given.jobs or job.name in given.jobs], given.out, given.seed)


def run(wanted: Sequence[Job], out: Path, seed: int) -> int:
    """Run jobs one after the other, write the page, and return 1 if a job failed."""
    failed, page = 0, out / "index.md"
    with page.open("w", encoding="utf-8") as file:
        for line in _head(seed):
            _say(line, file)
        for job in wanted:
            began = time.monotonic()
            status = _start(job, out / f"{job.name}.log")
            failed += status != 0
            seconds = time.monotonic() - began
            verdict = "passed" if status == 0 else f"**failed** (exit {status})"
            _say(
                f"| {job.name} | {verdict} | {seconds:.0f} | {_last(out / f'{job.name}.log')} | `{job.command}` |", file
            )
        _say(f"\n{failed} of {len(wanted)} jobs failed.", file)
    return 1 if failed else 0


def _head(seed: int) -> Iterator[str]:
    yield f"# A night of discreet {__version__}\n"
    yield f"{date.today()}, seed {seed}, Python {platform.python_version()}, {platform.system()}.\n"
    yield "| job | verdict | seconds | last line | command |"
    yield "| --- | --- | --- | --- | --- |"


def _start(job: Job, log: Path) -> int:
    with log.open("w", encoding="utf-8") as file:
        command = [sys.executable, "-m", job.module, *job.arguments]
        return subprocess.run(command, stdout=file, stderr=subprocess.STDOUT, check=False).returncode


def _last(log: Path) -> str:
    lines = [line.strip() for line in log.read_text(encoding="utf-8", errors="replace").splitlines() if line.strip()]
    return lines[-1].replace("|", "/")[:120] if lines else "nothing"


def _say(line: str, file: TextIO) -> None:
    print(line, flush=True)
    file.write(line + "\n")
    file.flush()


if __name__ == "__main__":
    sys.exit(main())

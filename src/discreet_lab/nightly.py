"""All that takes hours, one after the other, and one page of what came of it.

    make nightly                                     # a whole night: eight hours
    .venv/bin/python -m discreet_lab.nightly [--hours 8] [--out nightly] [--seed 0] [JOB ...]

The hours are divided among audits with many draws, broken twins that the audits must flag, fuzzing, and load on a vault
and on a server. Each job has a share of the hours, and does as much as fits. A job that needs longer than its share for
the least that shows something does that least, and the page says so. What a job prints is in OUT/JOB.log, and the page
is printed and written to OUT/index.md. Ends with 1 if a job failed. Each night has another seed (the number of the
day), so that draws and inputs are new; `--seed` repeats a night.
"""

import argparse
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import TextIO

from discreet import __version__

EXPERIMENTS = "discreet_lab.experiments"
MEMORY = Path("/dev/shm")
ROOM = 2 * 10**9
"""Bytes that must be free in memory for temporary files. A fuzzed command writes at most 256 MB."""


@dataclass(frozen=True)
class JobKind:
    """A kind of job, and how much of it fits into some hours.

    Attributes:
        name: the name of the job.
        module: the Python module that is run.
        arguments: its arguments; `{size}`, `{minutes}`, `{seed}` and `{out}` are filled in.
        share: the part of the night that it gets.
        an_hour: the size that takes an hour on one core that also has other work.
        least: the least size that shows something.
        in_memory: whether its temporary files may be in memory. Those of load are on the disk, as those of a vault.
    """

    name: str
    module: str
    arguments: str
    share: float
    an_hour: float
    least: float
    in_memory: bool = True

    def fit(self, hours: float, seed: int, out: Path) -> "Job":
        """Return the job for a night of so many hours."""
        share, needs = hours * self.share, self.least / self.an_hour
        size = max(self.least, int(self.an_hour * share))
        values = {"size": f"{size:.0f}", "minutes": f"{size / 60:.4g}", "seed": seed, "out": out}
        filled = [part.format(**values) for part in self.arguments.split()]
        seconds = 3600 * needs if needs > share else 0.0
        return Job(self.name, self.module, filled, 3600 * share, seconds, self.in_memory)


@dataclass(frozen=True)
class Job:
    """A command that takes about a known time.

    Attributes:
        name: the name on the page and of the log.
        module: the Python module that is run.
        arguments: its arguments.
        share: the seconds that it has.
        needs: the seconds that its least useful size needs, if they are more than its share; otherwise 0.
        in_memory: whether its temporary files may be in memory.
    """

    name: str
    module: str
    arguments: Sequence[str]
    share: float = 0.0
    needs: float = 0.0
    in_memory: bool = False

    @property
    def command(self) -> str:
        """The command as a reader would type it."""
        return " ".join([".venv/bin/python -m", self.module, *self.arguments])

    @property
    def time(self) -> str:
        """The share in seconds, and what is needed if that is more."""
        return f"{self.share:.0f}" + (f"; needs at least {self.needs:.0f}" if self.needs else "")


KINDS = (
    # Of mechanisms, no fewer draws than without --draws.
    JobKind("audit", "discreet", "audit mechanisms --draws {size} --seed {seed} --markdown", 2 / 32, 600_000, 10_000),
    # Of the others, so many that outcomes that two neighbours never share are flagged at a claim of 2.
    JobKind(
        "audit-algorithms", "discreet", "audit algorithms --draws {size} --seed {seed} --markdown", 5 / 32, 3_600, 200
    ),
    JobKind("audit-corpora", "discreet", "audit corpora --draws {size} --seed {seed} --markdown", 2 / 32, 4_800, 150),
    # Each twin has as many draws as it needs to be flagged, so all of them are one piece of eight minutes.
    JobKind("twins", "discreet", "audit --twins --seed {seed} --markdown", 3 / 32, 7.5, 1),
    # Each target has a part, and some have twenty sound inputs, which come first.
    JobKind("fuzz", EXPERIMENTS, "audits fuzz --inputs {size} --seed {seed} --crashes {out}/crashes", 0.25, 4e5, 1e4),
    # Less than a minute of load shows nothing.
    JobKind("load-server", EXPERIMENTS, "serving load --minutes {minutes}", 12 / 32, 3600, 60, in_memory=False),
)


def jobs(hours: float, seed: int, out: Path) -> list[Job]:
    """Return the jobs of a night of some hours, in the order in which they run."""
    return [kind.fit(hours, seed, out) for kind in KINDS]


def main() -> int:
    """Run the jobs, print the page, and return 1 if a job failed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("jobs", nargs="*", metavar="JOB", help="only these; all if none")
    parser.add_argument("--hours", type=float, default=8.0)
    parser.add_argument("--out", type=Path, default=Path("nightly"))
    parser.add_argument("--seed", type=int, default=date.today().toordinal())
    given = parser.parse_args()
    if not 0 < given.hours < float("inf"):
        parser.error(f"--hours is {given.hours:g}. It must be above 0, such as 0.5.")
    given.out.mkdir(parents=True, exist_ok=True)
    wanted = jobs(given.hours, given.seed, given.out)
    names = [job.name for job in wanted]
    if unknown := set(given.jobs) - set(names):
        parser.error(f"no job is called {', '.join(sorted(unknown))}; the jobs are {', '.join(names)}")
    return run([job for job in wanted if not given.jobs or job.name in given.jobs], given.out, given.seed)


def run(wanted: Sequence[Job], out: Path, seed: int) -> int:
    """Run jobs one after the other, write the page, and return 1 if a job failed."""
    failed, page, start = 0, out / "index.md", time.monotonic()
    with page.open("w", encoding="utf-8") as file:
        for line in _head(seed):
            _say(line, file)
        for job in wanted:
            began = time.monotonic()
            status = _start(job, out / f"{job.name}.log")
            failed += status != 0
            seconds = time.monotonic() - began
            verdict = "passed" if status == 0 else f"**failed** (exit {status})"
            last = _last(out / f"{job.name}.log")
            _say(f"| {job.name} | {verdict} | {seconds:.0f} | {job.time} | {last} | `{job.command}` |", file)
        minutes = (time.monotonic() - start) / 60
        _say(f"\n{failed} of {len(wanted)} jobs failed. All took {minutes:.0f} minutes.", file)
    return 1 if failed else 0


def _head(seed: int) -> Iterator[str]:
    yield f"# A night of discreet {__version__}\n"
    yield f"{date.today()}, seed {seed}, Python {platform.python_version()}, {platform.system()}.\n"
    yield "| job | verdict | seconds | its share, seconds | last line | command |"
    yield "| --- | --- | --- | --- | --- | --- |"


def _start(job: Job, log: Path) -> int:
    command = [sys.executable, "-m", job.module, *job.arguments]
    with log.open("w", encoding="utf-8") as file, _temporary(job.in_memory) as folder:
        variables = {"OMP_NUM_THREADS": "1"} | os.environ | ({"TMPDIR": folder} if folder else {})
        return subprocess.run(command, stdout=file, stderr=subprocess.STDOUT, env=variables, check=False).returncode


@contextmanager
def _temporary(in_memory: bool) -> Iterator[str]:
    """Yield a folder in memory for temporary files; "" if the usual one is to be used."""
    if not (in_memory and MEMORY.is_dir() and shutil.disk_usage(MEMORY).free > ROOM):
        yield ""
        return
    with tempfile.TemporaryDirectory(dir=MEMORY, prefix="n-", ignore_cleanup_errors=True) as folder:
        yield folder


def _last(log: Path) -> str:
    lines = [line.strip() for line in log.read_text(encoding="utf-8", errors="replace").splitlines() if line.strip()]
    return lines[-1].replace("|", "/")[:120] if lines else "nothing"


def _say(line: str, file: TextIO) -> None:
    print(line, flush=True)
    file.write(line + "\n")
    file.flush()


if __name__ == "__main__":
    sys.exit(main())

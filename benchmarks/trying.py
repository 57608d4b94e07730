"""Steps that a new user tries on the command line, and what came of each: for first_contact.py."""

import json
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

DISCREET = [sys.executable, "-m", "discreet"]
TELLING = ("added", "unchanged", "units", "bad", "answer", "people", "epsilon", "released")
"""What is shown of an output that is JSON."""


@dataclass(frozen=True)
class Outcome:
    """What a command did."""

    code: int
    out: str
    err: str
    cpu: float

    @property
    def said(self) -> str:
        """All that it printed."""
        return f"{self.out}\n{self.err}"

    @property
    def content(self) -> dict[str, object]:
        """The JSON object that it printed; nothing if it printed none."""
        try:
            found: dict[str, object] = json.loads(self.out.strip().splitlines()[-1])
        except (ValueError, IndexError):
            return {}
        return found


@dataclass(frozen=True)
class Step:
    """One thing that a new user tries.

    Attributes:
        tried: what.
        before: what happened at commit 85b4be3.
        commands: arguments of `discreet`, one command after the other; the last one is looked at.
        good: whether the outcome is as it should be.
        slow: whether it needs the packaged models.
        entered: what is typed on standard input.
        times: how often the last command runs at the same moment; their outputs are looked at together.
        broken_off: after so many seconds Ctrl-C is pressed; never if 0.
        measured: the benchmark that measures it, and the page with its figures; nothing is run here.
    """

    tried: str
    before: str
    commands: Sequence[Sequence[object]]
    good: Callable[[Outcome], bool]
    slow: bool = False
    entered: str = ""
    times: int = 1
    broken_off: float = 0.0
    measured: str = ""


def run(folder: Path, step: Step, arguments: Sequence[object]) -> Outcome:
    """Run one command in `folder`: of `discreet`, or of Python if it begins with -c; as often as the step says."""
    program = [sys.executable] if arguments[0] == "-c" else DISCREET
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    started = [
        subprocess.Popen(
            [*program, *map(str, arguments)],
            cwd=folder,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=os.environ | {"HF_HUB_OFFLINE": "1", "COLUMNS": "200"},
        )
        for _ in range(step.times)
    ]
    if step.broken_off:
        time.sleep(step.broken_off)
        started[0].send_signal(signal.SIGINT)
    printed = [one.communicate(step.entered) for one in started]
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    code = max(one.returncode for one in started)
    return Outcome(code, "".join(out for out, _ in printed), "".join(err for _, err in printed), cpu)


def paid(one: Outcome) -> list[float]:
    """What each answer that was printed as JSON cost, epsilon."""
    answers = [json.loads(line) for line in one.out.splitlines() if line.startswith("{")]
    return [float(answer["receipt"]["epsilon"]) for answer in answers if answer.get("receipt")]


def shown(folder: Path, step: Step, width: int) -> bool:
    """Run a step, and print its row, so many characters of the output; whether it is as it should be."""
    if step.measured:
        print(f"| {step.tried} | {step.before} | see {step.measured} | | | |", flush=True)
        return True
    *before, last = step.commands
    for command in before:
        run(folder, Step(step.tried, "", [], step.good), command)
    one = run(folder, step, last)
    fine = step.good(one)
    said = beginning(one, width)
    verdict = "ok" if fine else "**NOT AS IT SHOULD BE**"
    print(f"| {step.tried} | {step.before} | {said} | {one.code} | {one.cpu:.1f} | {verdict} |", flush=True)
    return fine


def beginning(one: Outcome, width: int) -> str:
    """What is most telling of an output: the figures of JSON, or the first line, of errors before the rest."""
    if one.content:
        told = {name: value for name, value in one.content.items() if name in TELLING}
        return _cut(", ".join(f"{name} {json.dumps(value)}" for name, value in told.items()), width)
    every = [line.strip() for line in (one.err + "\n" + one.out).splitlines() if line.strip()]
    lines = [line for line in every if not line.endswith((" so far", " left"))]  # progress
    return _cut(lines[0] if lines else "", width)


def _cut(text: str, width: int) -> str:
    plain = text.replace("|", "/")
    return plain if len(plain) <= width else f"{plain[:width].rsplit(' ', 1)[0]} ..."

"""An attack by time over HTTP: two neighbouring vaults, and an attacker who tells them apart by when replies leave.

    .venv/bin/python -m benchmarks.serving_timing [--questions 200] [--quantum 0.5] [--seed 0]
        [--scenarios alone,waiting,queued] [--csv PATH]

The worst case: the toy model answers in 50 ms, and in 100 ms if a document with a marker is in a prompt. One vault has
one more unit, with the marker, which every question finds. Each vault has a server of its own; they are asked in turns.

alone: one question at a time. Meanwhile the attacker asks again and again for the key's newest receipt, and notes when
it last changed. queued: two questions of other keys go before it at the same moment, so that it waits. waiting:
the same, but it is sent later, so that a multiple of the quantum after its arrival lies between the two times of an
answer.

The first half of the timings chooses what to look at (the reply, or the last change), and the threshold. The second
half tells how often the attacker is right, and the area under the curve, with intervals of confidence 0.95.
"""

import argparse
import tempfile
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

from benchmarks.serving_processes import Client, question, started
from benchmarks.writing import TableWriter, add_csv_option
from tests.server.front.serving import Server

from discreet_lab.attacks.rates import Auc, Rate

SHORT, LONG = 0.05, 0.1
"""Seconds of an answer, without and with the marker in a prompt."""
UNITS = 10
PAUSE = 0.02
OVERHEAD = 0.065
"""Seconds before and in an answer beside the model's time: measured with delays from 0.1 to 0.2."""
CAP = 1000.0
LOOKS = ("reply", "last change")
COLUMNS = ["quantum, s", "scenario", "questions", "median ms, without and with", "looks at", "accuracy", "area"]
Timing = tuple[float, float]
"""Milliseconds from the question to the reply, and to the last change of the newest receipt."""


@dataclass(frozen=True)
class Verdict:
    """How well an attacker tells two vaults apart.

    Attributes:
        looks_at: the place in a timing.
        accuracy, area: in the half that chose nothing.
    """

    looks_at: int
    accuracy: Rate
    area: Auc


def judge(without: Sequence[Timing], within: Sequence[Timing], seed: int = 0) -> Verdict:
    """Return how well thresholds of the first half tell the second half apart. The halves are chosen at random."""
    halves = [_halves(found, seed) for found in (without, within)]
    (first, held), (first_in, held_in) = halves
    options = [_threshold(_column(first, place), _column(first_in, place)) for place in range(len(LOOKS))]
    place = max(range(len(LOOKS)), key=lambda one: options[one][0])
    _, level, sign = options[place]
    outs, ins = ([sign * value for value in _column(one, place)] for one in (held, held_in))
    right = sum(value <= level for value in outs) + sum(value > level for value in ins)
    return Verdict(place, Rate.among(right, len(outs) + len(ins)), Auc.of(ins, outs))


def _halves(found: Sequence[Timing], seed: int) -> tuple[list[Timing], list[Timing]]:
    mixed = list(found)
    Random(seed).shuffle(mixed)
    return mixed[: len(mixed) // 2], mixed[len(mixed) // 2 :]


def _column(found: Sequence[Timing], place: int) -> list[float]:
    return [one[place] for one in found]


def _threshold(outs: Sequence[float], ins: Sequence[float]) -> tuple[float, float, int]:
    """Return the best accuracy of a threshold, the threshold, and the sign by which values are multiplied before."""
    best = (0.0, 0.0, 1)
    for sign in (1, -1):
        low, high = [sign * value for value in outs], [sign * value for value in ins]
        for level in sorted({*low, *high}):
            right = sum(value <= level for value in low) + sum(value > level for value in high)
            best = max(best, (right / (len(low) + len(high)), level, sign))
    return best


class Attacker:
    """Asks one server, and notes times.

    Args:
        server: the server.
        name: what its questions are about.
    """

    def __init__(self, server: Server, name: str) -> None:
        secrets = [server.key(f"{name}-{number}", CAP) for number in range(3)]
        self._name, self._number = name, 0
        self._target, *self._others = [Client(server, secret) for secret in secrets]
        self._watcher = Client(server, secrets[0])
        self._pool = ThreadPoolExecutor(max_workers=4)

    def time(self, before: int, delay: float) -> Timing:
        """Return the timing of a question that is sent `delay` seconds after `before` others."""
        self._number += 1
        texts = [question(f"{self._name} {place}", self._number) for place in range(1 + before)]
        others = [
            self._pool.submit(client.ask, text) for client, text in zip(self._others[:before], texts[1:], strict=True)
        ]
        time.sleep(delay)
        over, begun = threading.Event(), time.perf_counter()
        watched = self._pool.submit(self._watch, over, begun)
        status, body = self._target.ask(texts[0])
        reply = time.perf_counter() - begun
        time.sleep(4 * PAUSE)
        over.set()
        changed = watched.result()
        if {status, *(one.result()[0] for one in others)} != {200}:
            raise RuntimeError(f"A question got {status}, and 200 is expected: {body}")
        return 1000 * reply, 1000 * changed

    def _watch(self, over: threading.Event, begun: float) -> float:
        """Return after how many seconds the key's newest receipt last changed."""
        known, changed = "", 0.0
        while not over.wait(PAUSE):
            found = str(self._watcher.get("/v1/receipts?limit=1")[1])
            if found != known:
                known, changed = found, time.perf_counter() - begun
        return changed


def collect(servers: Sequence[Server], quantum: float, scenario: str, count: int) -> list[list[Timing]]:
    """Return timings of two servers, which are asked in turns."""
    before, delay = plan(scenario, quantum)
    attackers, found = [Attacker(server, scenario) for server in servers], [list[Timing]() for _ in servers]
    for number in range(count + 1):
        for attacker, timings in zip(attackers, found, strict=True):
            timing = attacker.time(before, delay)
            if number:  # the first is to warm up
                timings.append(timing)
    return found


def plan(scenario: str, quantum: float) -> tuple[int, float]:
    """Return how many questions go before the one that is timed, and how many seconds before it."""
    if scenario == "alone":
        return 0, 0.0
    if scenario == "queued":
        return 2, 0.0
    # The third question starts a quantum after the first. So it has `delay` seconds until its own first multiple.
    return 2, (SHORT + LONG) / 2 + OVERHEAD if quantum else 0.0


def describe(scenario: str, quantum: float, timings: Sequence[Sequence[Timing]], seed: int) -> list[str]:
    """Return a row of the table."""
    without, within = timings
    found = judge(without, within, seed)
    medians = [sorted(_column(one, found.looks_at))[len(one) // 2] for one in timings]
    accuracy, area = found.accuracy, found.area
    return [
        f"{quantum:g}",
        scenario,
        f"{len(timings[0])} and {len(timings[1])}",
        ", ".join(f"{one:.0f}" for one in medians),
        LOOKS[found.looks_at],
        f"{accuracy.value:.3f} ({accuracy.low:.3f} to {accuracy.high:.3f})",
        f"{area.value:.3f} ({area.low:.3f} to {area.high:.3f})",
    ]


def main() -> None:
    """Attack without a quantum and with one, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--questions", type=int, default=200)
    parser.add_argument("--quantum", type=float, default=0.5)
    parser.add_argument("--scenarios", default="alone,waiting")
    parser.add_argument("--seed", type=int, default=0)
    add_csv_option(parser)
    given = parser.parse_args()
    scenarios, table = given.scenarios.split(","), TableWriter(COLUMNS, given.csv)
    with tempfile.TemporaryDirectory(prefix="d-") as made:
        for quantum in (0.0, given.quantum):
            paths, slow = [Path(made) / f"{quantum:g}-{name}" for name in ("without", "with")], (SHORT, LONG)
            how: dict[str, Any] = {"slow": slow, "units": UNITS, "quantum": quantum}
            with started(paths[0], **how) as without, started(paths[1], marker=True, **how) as within:
                for scenario in scenarios:
                    found = collect([without.server, within.server], quantum, scenario, given.questions)
                    table.write(describe(scenario, quantum, found, given.seed))


if __name__ == "__main__":
    main()

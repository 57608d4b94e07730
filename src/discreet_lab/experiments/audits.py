"""The exact price of the leader's selection, and fuzzing."""

import argparse
import importlib.util
import math
import multiprocessing
import os
import re
import resource
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import chain
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

from tests.guarantee.privacy.test_leader import Counts, Law, every_move, law_of

from discreet.privacy.mechanisms.leader import certified_cost
from discreet_lab.experiments.common import TableWriter, add_csv_option

DELTA = 1e-6
CASES = ((3.0, 16), (5.0, 16), (2.0, 22), (5.0, 22))
LARGEST = ((1.0, 34),)
_STEPS = 20


def exact_cost(inner: float, voters: int) -> tuple[float, int]:
    """Return the least epsilon that covers every move, to 1e-5, and the number of moves."""
    law, epsilon, moves = law_of(voters, inner, DELTA), inner, 0
    for before, after in every_move(voters):
        moves += 1
        if not covers(law, before, after, epsilon):
            epsilon = least(law, before, after, epsilon)
    return epsilon, moves


def covers(law: Law, before: Counts, after: Counts, epsilon: float) -> bool:
    """Return whether the divergence of a move at epsilon is at most delta."""
    growth = math.exp(epsilon)
    return sum(max(0.0, p - growth * q) for p, q in zip(law(before), law(after), strict=True)) <= DELTA


def least(law: Law, before: Counts, after: Counts, low: float) -> float:
    """Return the least epsilon above `low` that covers a move."""
    high = 2 * low + 1
    for _ in range(_STEPS):
        middle = (low + high) / 2
        low, high = (low, middle) if covers(law, before, after, middle) else (middle, high)
    return high


def compare_leader_prices(parser: argparse.ArgumentParser, arguments: Sequence[str]) -> None:
    """What the leader's selection costs: the price that is proved, beside the exact one over all states.

    For each epsilon of a law and each number of voters: the price that `mechanisms.leader` proves at delta 1e-6,
    and the least price that covers every neighbouring pair of count vectors, found by listing them all. The second
    is at most the first; the difference is what the proof gives away. `--largest` lists all vectors of 34 voters,
    which takes minutes.
    """
    parser.add_argument("--largest", action="store_true", help="also 34 voters at epsilon 1")
    add_csv_option(parser)
    given = parser.parse_args(arguments)
    columns = ["law at epsilon", "voters", "pairs", "proved", "seconds of the proof", "exact"]
    table = TableWriter(columns, given.csv)
    for inner, voters in chain(CASES, LARGEST if given.largest else ()):
        begun = time.perf_counter()
        proved = certified_cost(inner, DELTA, voters)
        took = time.perf_counter() - begun
        exact, moves = exact_cost(inner, voters)
        table.write(
            [f"{inner:g}", str(voters), f"{moves:,}", f"{proved or math.inf:.3f}", f"{took:.1f}", f"{exact:.3f}"]
        )
    print(f"\ndelta {DELTA:g}; a vote is replaced, comes or goes")


if TYPE_CHECKING:
    from tests.fuzz.targets import Target

LONGEST = 10
"""Seconds; what takes longer hangs."""
MEMORY = 2**33
LARGEST_FILE = 2**28
LARGEST_INPUT = 2**15
BY_FORMAT = 0.7
"""So many inputs are bent by a mutator that knows the format, the others by libFuzzer's own."""
ANEW = 0.4
"""So many are made of a sound input, the others of what led to new lines, which most often was refused early."""
CRASH = "crash: "
FEWEST = 20
"""A process that dies sooner is not begun again."""


def fuzz_inputs(parser: argparse.ArgumentParser, arguments: Sequence[str]) -> int:
    """What others type and bring, bent until something breaks: 100,000 strange inputs, and what came of each.

    It needs atheris: `pip install 'discreet[fuzz]'`.

    The targets are those of `tests/fuzz`: the loaders, what a vault keeps, the command line. Each is fuzzed by
    atheris in a process of its own, forked from one that has loaded `discreet`. It is led by which lines of
    `discreet` an input reaches, from sound inputs bent by a mutator that knows their format. An input is either
    done, refused by a proper error, or a crash: any other exception, a traceback, "Something unforeseen", no memory
    (more than 8 GiB), a process that dies, or more than 10 seconds. Inputs that crash are kept in FOLDER. With
    TMPDIR in memory (/dev/shm) it takes a third of the time. Prints Markdown; ends with 1 if something crashed.
    """
    parser.add_argument("targets", nargs="*", metavar="TARGET", help="only these; all if none")
    parser.add_argument("--inputs", type=int, default=100_000, help="how many, shared out among all targets")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=0.0, help="for each target, at most; 0 for no limit")
    parser.add_argument("--crashes", type=Path, default=Path(tempfile.gettempdir()) / "discreet-crashes")
    add_csv_option(parser)
    given = parser.parse_args(arguments)
    from tests.fuzz.catalogue import TARGETS

    if unknown := [name for name in given.targets if name not in TARGETS]:
        parser.error(f"There is no target {unknown[0]!r}. The targets are: {', '.join(TARGETS)}.")
    if importlib.util.find_spec("atheris") is None:
        parser.error("atheris is not installed: pip install 'discreet[fuzz]'")
    names = given.targets or list(TARGETS)
    shares = sum(TARGETS[name].share for name in TARGETS)
    begun, crashed = time.monotonic(), 0
    table = TableWriter(["target", "inputs", "done", "proper errors", "crashes", "seconds"], given.csv)
    totals: Counter[str] = Counter()
    for name in names:
        start = time.monotonic()
        count = -(-given.inputs * TARGETS[name].share // shares)
        counts = of_target(name, count, given.seed, given.seconds, given.crashes)
        totals.update(counts)
        crashed += write_row(table, name, counts, time.monotonic() - start)
    write_row(table, "all", totals, time.monotonic() - begun)
    print(f"\nSeed {given.seed}. " + ("Nothing crashed." if not crashed else f"Inputs that crashed: {given.crashes}"))
    return int(crashed > 0)


def write_row(table: TableWriter, name: str, found: Counter[str], seconds: float) -> int:
    """Write one row of the table, print the crashes below it, and return their number."""
    crashes = Counter({kind: count for kind, count in found.items() if kind.startswith(CRASH)})
    errors = sorted((kind, count) for kind, count in found.items() if kind not in crashes and kind != "done")
    named = ", ".join(f"{kind} {count:,}" for kind, count in errors) or "-"
    counts = [f"{found.total():,}", f"{found['done']:,}", named, f"{crashes.total():,}"]
    table.write([name, *counts, f"{seconds:.0f}"])
    if name != "all":
        for kind, count in crashes.most_common():
            print(f"  {count:,} x {kind}", file=sys.stderr, flush=True)
    return crashes.total()


def of_target(name: str, count: int, seed: int, seconds: float, crashes: Path) -> Counter[str]:
    """What came of so many inputs; a process that dies is one of them, and another one goes on."""
    counts: Counter[str] = Counter()
    deadline = time.monotonic() + (seconds or float("inf"))
    forking = multiprocessing.get_context("forkserver")
    forking.set_forkserver_preload(["discreet_lab.experiments.fuzz_targets"])
    with tempfile.TemporaryDirectory() as folder:
        told, said = Path(folder) / "told", Path(folder) / "said"
        while (left := count - counts.total()) > 0 and time.monotonic() < deadline:
            told.touch()
            child = forking.Process(target=fuzz_target, args=(name, left, seed + 1, told, crashes, said))
            child.start()
            child.join(None if seconds == 0 else max(1.0, deadline - time.monotonic()))
            if child.is_alive():
                child.kill()
                child.join()
            elif child.exitcode:
                last = said.read_text(errors="replace").strip().splitlines()[-1:]
                counts[f"{CRASH}the process ended with {child.exitcode}: {last}"] += 1
            lines = told.read_text().splitlines()
            counts.update(lines)
            told.write_text("")
            seed += 1
            if len(lines) < FEWEST and counts.total() < count:  # it cannot even begin
                print(f"{name} was given up: its process died after {len(lines)} inputs.", file=sys.stderr)
                break
    return counts


def fuzz_target(name: str, count: int, seed: int, told: Path, crashes: Path, said: Path) -> None:
    """Fuzz one target, a line about each input in a file; the process ends when there were enough.

    What it prints is in the file `said`.
    """
    import atheris
    from tests.fuzz.targets import Crash, outcome

    from discreet_lab.experiments.fuzz_targets import TARGETS, toy_at_hand

    with said.open("wb") as printed:
        for stream in (1, 2):
            os.dup2(printed.fileno(), stream)

    target = TARGETS[name]
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_FSIZE, (LARGEST_FILE, LARGEST_FILE))
    crashes.mkdir(parents=True, exist_ok=True)
    done = 0
    with tempfile.TemporaryDirectory() as folder, toy_at_hand(), told.open("a") as lines:
        work, corpus = Path(folder) / "work", Path(folder) / "corpus"
        for each in (work, corpus):
            each.mkdir()
        for place, sound in enumerate(target.seeds):
            (corpus / str(place)).write_bytes(sound)

        def one(data: bytes) -> None:
            nonlocal done
            try:
                kind = outcome(target, work, data)
            except Crash as crash:
                kind = CRASH + " ".join(str(crash).split())
                keep(crashes, name, kind, data)
            lines.write(kind + "\n")
            lines.flush()
            done += 1
            if done == count:
                # Not by an exception: libFuzzer would take it for a crash.
                shutil.rmtree(folder, ignore_errors=True)
                os._exit(0)

        options = ["-max_len=" + str(LARGEST_INPUT), f"-timeout={LONGEST}", "-rss_limit_mb=0", "-len_control=0"]
        artifacts = f"-artifact_prefix={crashes / slug(name)}-died-"
        command = ["fuzz", *options, f"-seed={seed}", artifacts, str(corpus)]

        def by_bytes(data: bytes, longest: int) -> bytes:
            return bytes(atheris.Mutate(data, longest))  # looked up late: it is another one once fuzzing goes

        atheris.Setup(command, one, custom_mutator=bending(target, by_bytes))
        atheris.Fuzz()


def bending(target: "Target", by_bytes: Callable[[bytes, int], bytes]) -> Callable[..., bytes]:
    """A mutator for libFuzzer."""

    def bent(data: bytes, longest: int, seed: int) -> bytes:
        random = Random(seed)
        if random.random() < ANEW:
            data = random.choice(target.seeds)
        if random.random() < BY_FORMAT:
            bent_data = target.mutate(data, random)
            if len(bent_data) <= longest:
                return bent_data
        return by_bytes(data, longest)

    return bent


def keep(folder: Path, name: str, kind: str, data: bytes) -> None:
    """Keep the first input of each kind of crash, with what it was."""
    file = folder / f"{slug(name)}-{slug(kind)[:80]}"
    if not file.exists():
        file.write_bytes(data)
        file.with_suffix(".txt").write_text(f"{kind}\n{data[:2000]!r}\n")


def slug(text: str) -> str:
    """A text as the name of a file."""
    return re.sub(r"\W+", "-", text, flags=re.ASCII).strip("-").lower()

"""What the time of an answer tells: beside what was released, and over HTTP."""

import argparse
import shutil
import statistics
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from random import Random
from typing import Any
from unittest import mock

import numpy as np
from tests.server.front.serving import Server

from discreet.algorithms.retrieval import PrivateRAG
from discreet.demo.corpus import DISEASES, documents
from discreet.models.loading import load_model
from discreet.models.protocol import VotingModel
from discreet.models.toy import ToyModel
from discreet.privacy.accounting import Spending
from discreet.privacy.costs import Pure
from discreet.privacy.mechanisms.counting import KeywordCounts
from discreet.privacy.noise import InsecureSeededNoise, Noise, SystemNoise
from discreet.query.execution import at_a_multiple
from discreet.registry import DPSparseVoteRAG, ListValues, MuRAG, MuRAGAda, NaiveMultiRAG
from discreet.store.documents import Document
from discreet.store.sealed_corpus import unit_key
from discreet.vault import Vault
from discreet_lab.attacks.rates import Auc, Rate
from discreet_lab.experiments.common import (
    TableWriter,
    add_csv_option,
    add_model_option,
    model_name,
    name_part,
    write_table,
)
from discreet_lab.experiments.serving_processes import Client, started
from discreet_lab.experiments.serving_processes import question as ask_about


@dataclass(frozen=True)
class Measured:
    """One answer."""

    question: int
    tokens: int
    private: int
    seconds: float


def hospital_questions(count: int) -> list[tuple[str, str]]:
    """Return questions of two kinds: documents answer one; general knowledge the other, with fewer private tokens."""
    about = [(f"What is the treatment for {disease.name}?", "The treatment is") for disease in DISEASES]
    texts = [(f"What is {disease.symptoms[0]}? Answer in general.", "") for disease in DISEASES]
    return [pair for both in zip(about, texts, strict=True) for pair in both][:count]


def measure_answers(vault: Vault, model: VotingModel, asked: argparse.Namespace, quantum: float) -> list[Measured]:
    """Every question, so many times, in turn."""
    noise, timings = InsecureSeededNoise(asked.seed), []
    for _ in range(asked.repeats):
        for number, (question, prefix) in enumerate(hospital_questions(asked.questions)):
            algorithm = DPSparseVoteRAG(
                voters=asked.voters,
                epsilon=10,
                private_tokens=asked.max_tokens,
                max_tokens=asked.max_tokens,
                prefix=prefix,
            )
            begun = time.monotonic()
            with at_a_multiple(quantum):
                answer = vault.simulate(question, algorithm, noise=noise, model=model)
            timings.append(Measured(number, answer.tokens, answer.private_tokens, time.monotonic() - begun))
    return timings


def correlation(first: list[float], second: list[float]) -> str:
    """Pearson's; a dash where one of them does not vary."""
    if np.std(first) < 1e-12 or np.std(second) < 1e-12:
        return "-"
    return f"{float(np.corrcoef(first, second)[0, 1]):.2f}"


def timing_row(name: str, found: list[Measured]) -> list[str]:
    """Return how time goes with what was released."""
    seconds, tokens, private = ([float(value) for value in values] for values in zip(
        *((one.seconds, one.tokens, one.private) for one in found), strict=True
    ))  # fmt: skip
    lines = np.column_stack([np.ones(len(found)), tokens, private])
    line, *_ = np.linalg.lstsq(lines, np.array(seconds), rcond=None)
    left, mean = float(np.std(np.array(seconds) - lines @ line)), float(np.mean(seconds))
    return [
        name,
        f"{mean:.2f}",
        f"{min(seconds):.2f} to {max(seconds):.2f}",
        correlation(seconds, tokens),
        correlation(seconds, private),
        f"{left:.3f} s ({left / mean:.1%})",
    ]


GRANT, PAID_QUESTION = 1000.0, "Which disease has numb thumbs?"
PAYING: dict[str, PrivateRAG] = {
    "murag-ada": MuRAGAda(epsilon=2.5),
    "murag-ada, all bins": MuRAGAda(epsilon=2.5, enough=10**6),
    "murag": MuRAG(epsilon=2.5, similarity=0.2),
    "naive-multi-rag": NaiveMultiRAG(epsilon=2.5),
}


def written_vault(folder: Path, patients: int, relevant: int) -> Path:
    """A vault in which so many patients have numb thumbs, some more than others."""
    words = [f"{syllable}{letter}" for syllable in ("ba", "do", "ki", "lu") for letter in "bcdfghklm"]

    def note(number: int) -> str:
        other = " ".join(words[number * step % len(words)] for step in range(1, 3 + number % 3))
        about = "Disease with numb thumbs say: winterhand ." if number < relevant else "Accounts of the harbour."
        return f"{other}. {about}"

    vault = Vault.create(folder / "vault", epsilon=GRANT, delta=1e-6, embedder="hashing", history=False)
    vault.add_documents(Document(f"d{number}", f"p{number}", note(number)) for number in range(patients))
    vault.store.close()
    return folder / "vault"


def copied_vault(path: Path, time_used_up: int) -> Vault:
    """A copy of a vault in which the first so many patients have nothing left."""
    copy = path.with_name(f"copy-{time_used_up}")
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(path, copy)
    vault = Vault.open(copy, model=ToyModel(default="nothing known"))
    if time_used_up:
        nearly = Spending.of(Pure(GRANT - 0.1))
        keys = [unit_key(f"p{number}", vault.components.secret) for number in range(time_used_up)]
        vault.ledger.begin("before", "spent", None)
        vault.ledger.reserve("before", 0, nearly, keys)
        vault.ledger.settle("before", 0, nearly)
    return vault


def time_used_up(asked: argparse.Namespace) -> None:
    """The same vault twice, asked in turn: no unit has used up its budget, or all relevant units have."""
    counts = (0, asked.used_up)
    columns = [f"{what}, {count} used up" for what in ("ms", "CPU ms") for count in counts]
    table = TableWriter(["algorithm", *columns, "ratio", "ratio of CPU", "payments listed"], asked.csv)
    with tempfile.TemporaryDirectory() as folder:
        path = written_vault(Path(folder), asked.patients, asked.used_up)
        for name, algorithm in PAYING.items():
            vaults, seconds, listing_vault = [copied_vault(path, count) for count in counts], [], []
            for _ in range(asked.repeats + 1):
                for vault in vaults:
                    begun = time.perf_counter(), time.process_time()
                    answer = vault.ask(PAID_QUESTION, algorithm, reuse=False)
                    seconds.append((time.perf_counter() - begun[0], time.process_time() - begun[1]))
                    listing_vault.append(len(answer.receipt.charges) if answer.receipt else 0)
            for vault in vaults:
                vault.store.close()
            # The first of each is to warm up.
            wall, cpu = (
                [statistics.median(one[kind] for one in seconds[2 + of :: 2]) for of in (0, 1)] for kind in (0, 1)
            )
            payments = [statistics.median(listing_vault[first::2]) for first in (2, 3)]
            cells = [f"{value * 1000:.1f}" for value in (*wall, *cpu)]
            cells += [f"{wall[1] / wall[0]:.2f}", f"{cpu[1] / cpu[0]:.2f}", f"{payments[0]:g}, {payments[1]:g}"]
            table.write([name, *cells])


class SameNumber(SystemNoise):
    """Real noise that takes its time, and is left out: all answers release the same number of units."""

    def gaussian(self, scale: float) -> int:
        """Draw, and return 0."""
        return 0 * super().gaussian(scale)


class DrawnForEachValue(KeywordCounts):
    """BROKEN: the number of draws follows the values that occur."""

    def draw(self, shares: Sequence[Collection[str]], noise: Noise) -> dict[str, int]:
        """Return noisy counts by word."""
        counts = Counter(word for share in shares for word in sorted(set(share))[: self.words])
        noisy = {word: counts[word] + noise.gaussian(self.sigma) for word in sorted(counts)}
        return {word: count for word, count in noisy.items() if count >= self.threshold}


class WithoutNoise(KeywordCounts):
    """BROKEN: nothing is drawn."""

    def draw(self, shares: Sequence[Collection[str]], noise: Noise) -> dict[str, int]:
        """Return counts by word."""
        counts = Counter(word for share in shares for word in sorted(set(share))[: self.words])
        noisy = {word: counts[word] + 0 for word in sorted(counts)}
        return {word: count for word, count in noisy.items() if count >= self.threshold}


def listing_vault(folder: Path, patients: int, own: Sequence[str]) -> Vault:
    """A vault of patients with one of three drugs, but one patient with drugs of his own."""
    told = [(f"p{number}", f"drug{number % 3}") for number in range(patients - 1)] + [("last", drug) for drug in own]
    Vault.create(folder, epsilon=GRANT, delta=1e-6, embedder="hashing", history=False, fields={"drug": "category"})
    vault = Vault.open(folder, model=ToyModel(default="nothing known"))
    vault.add_documents(
        Document(f"d{number}", unit, f"Note {number}.", fields={"drug": drug})
        for number, (unit, drug) in enumerate(told)
    )
    return vault


def time_lists(asked: argparse.Namespace) -> None:
    """Two vaults that differ in the values of one unit, asked in turn for a list."""
    draws = {"a draw for each value": DrawnForEachValue, "calls of a released size": KeywordCounts}
    columns = [f"{what}, {whose}" for what in ("counts, ms", "answer, ms") for whose in ("usual", "unusual")]
    table = TableWriter(["values a unit", "noise", *columns, "difference of counts, ms", "its error, ms"], asked.csv)
    sound, noise = KeywordCounts.draw, SameNumber()
    with tempfile.TemporaryDirectory() as folder:
        for each in (6, 100):
            values = {"usual": [f"drug{number % 3}" for number in range(each)]}
            values["unusual"] = [f"own{number:03}" for number in range(each)]
            vaults = {
                name: listing_vault(Path(folder) / f"{name}{each}", asked.lists, own) for name, own in values.items()
            }
            listing = ListValues(attribute="drug", each=each, epsilon=5.0)
            seconds: dict[tuple[str, str], list[tuple[float, float]]] = {}
            for _ in range(asked.repeats + 1):
                for (name, kind), (whose, vault) in product(
                    (draws | {"without noise": WithoutNoise}).items(), vaults.items()
                ):
                    drawn: list[float] = []

                    def timed(*given: Any, drawn: list[float] = drawn, kind: type[KeywordCounts] = kind) -> Any:
                        begun = time.process_time()
                        lists = (sound if kind is KeywordCounts else kind.draw)(*given)
                        drawn.append(time.process_time() - begun)
                        return lists

                    with mock.patch.object(KeywordCounts, "draw", timed):
                        begun = time.process_time()
                        vault.simulate("Which drugs?", listing, noise=noise)
                        whole = time.process_time() - begun
                    seconds.setdefault((name, whose), []).append((drawn[0], whole))
            for name in (*draws, "without noise"):
                timings = [np.array(seconds[name, whose][1:]) * 1000 for whose in vaults]  # the first is to warm up
                medians = [float(np.median(one[:, part])) for part in (0, 1) for one in timings]
                error = 1.25 * float(np.sqrt(sum(one[:, 0].var() / len(one) for one in timings)))  # of a median
                cells = [f"{value:.3f}" for value in (*medians, medians[1] - medians[0], error)]
                table.write([str(each), name, *cells])
            for vault in vaults.values():
                vault.store.close()


def time_releases(parser: argparse.ArgumentParser, arguments: Sequence[str]) -> None:
    """Time to answer against what was released, and what a quantum of time leaves of it.

    Asks dp-sparse-vote-rag about the diseases of the made-up hospital, each question several times, in a simulation
    (nothing is paid), and prints two Markdown tables: the questions with tokens, private tokens and seconds; and
    how time goes with the number of tokens and of private tokens (Pearson's correlation), with the quantum and
    without. "unexplained": the standard deviation of what is left of the time after a straight line in both
    numbers, in seconds and as a part of the mean: all that the time can tell besides, since both numbers are on the
    receipt. The quantum is by default half as much again as the longest answer without one took. Seeded, but for
    the time. One thread unless told otherwise (OMP_NUM_THREADS).

    Asks instead, in a real vault that pays, a question that is about so many patients, when none of them has used
    up the budget and when all have; the documents are the same. A cheap model and embedder, so that the time is
    that of search and payment. Prints a table: the median milliseconds of an answer, those of the processor, and
    how many payments its receipt lists, which is released: of murag-ada, one for each bin visited. "all bins"
    visits all of them in both vaults.

    Asks instead for a list of values, in turn of two vaults of so many patients that differ in one: he has usual
    values, or as many as count that no other patient has. All answers release the same number of units. Prints a
    table: the median milliseconds of the processor for the counts and their noise, and for the whole answer, and
    the standard error of the difference. "a draw for each value" is how discreet drew before. "without noise" is
    what is left: the work of Python for each value that occurs.
    """
    add_model_option(parser)
    for name, value in (("questions", 8), ("repeats", 0), ("patients", 0), ("voters", 20), ("max-tokens", 12)):
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument("--used-up", type=int, default=0)
    parser.add_argument("--lists", type=int, default=0)
    parser.add_argument("--quantum", type=float, default=0.0)
    parser.add_argument("--seed", type=int, default=0)
    add_csv_option(parser)
    options = parser.parse_args(arguments)
    options.repeats = options.repeats or (9 if options.used_up or options.lists else 3)
    options.patients = options.patients or (10_000 if options.used_up else 240)
    if options.used_up or options.lists:
        (time_used_up if options.used_up else time_lists)(options)
        return
    model = load_model(model_name(options.model))
    with tempfile.TemporaryDirectory() as folder:
        path, name = Path(folder) / "vault", model_name(options.model)
        vault = Vault.create(path, epsilon=20, delta=1e-6, embedder="hashing", model=name)
        vault.add_documents(documents(options.patients))
        measure_answers(
            vault, model, argparse.Namespace(**{**vars(options), "questions": 1, "repeats": 1}), 0.0
        )  # to warm up
        plain = measure_answers(vault, model, options, 0.0)
        quantum = options.quantum or 1.5 * max(one.seconds for one in plain)
        waited = measure_answers(vault, model, options, quantum)
    table = TableWriter(["question", "tokens", "private tokens", "seconds"], name_part(options.csv, "questions"))
    for number, (question, prefix) in enumerate(hospital_questions(options.questions)):
        own = [one for one in plain if one.question == number]
        lists = (", ".join(f"{getattr(one, name):.4g}" for one in own) for name in ("tokens", "private", "seconds"))
        table.write([f"{question} {prefix}", *lists])
    tokens, private = ([float(getattr(one, name)) for one in plain] for name in ("tokens", "private"))
    print(f"\nLength goes with private tokens: {correlation(tokens, private)}.")
    print()
    columns = ["quantum", "mean seconds", "range", "with tokens", "with private tokens", "unexplained"]
    write_table(columns, [timing_row("none", plain), timing_row(f"{quantum:.2f} s", waited)], options.csv)


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
class Distinction:
    """How well an attacker tells two vaults apart.

    Attributes:
        looks_at: the place in a timing.
        accuracy, area: in the half that chose nothing.
    """

    looks_at: int
    accuracy: Rate
    area: Auc


def judge(without: Sequence[Timing], within: Sequence[Timing], seed: int = 0) -> Distinction:
    """Return how well thresholds of the first half tell the second half apart. The halves are chosen at random."""
    halves = [_halves(timings, seed) for timings in (without, within)]
    (first, held), (first_in, held_in) = halves
    options = [_threshold(_column(first, place), _column(first_in, place)) for place in range(len(LOOKS))]
    place = max(range(len(LOOKS)), key=lambda one: options[one][0])
    _, level, sign = options[place]
    outs, ins = ([sign * value for value in _column(one, place)] for one in (held, held_in))
    right = sum(value <= level for value in outs) + sum(value > level for value in ins)
    return Distinction(place, Rate.among(right, len(outs) + len(ins)), Auc.of(ins, outs))


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
        texts = [ask_about(f"{self._name} {place}", self._number) for place in range(1 + before)]
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
        last, changed = "", 0.0
        while not over.wait(PAUSE):
            reply = str(self._watcher.get("/v1/receipts?limit=1")[1])
            if reply != last:
                last, changed = reply, time.perf_counter() - begun
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
    verdict = judge(without, within, seed)
    medians = [sorted(_column(one, verdict.looks_at))[len(one) // 2] for one in timings]
    accuracy, area = verdict.accuracy, verdict.area
    return [
        f"{quantum:g}",
        scenario,
        f"{len(timings[0])} and {len(timings[1])}",
        ", ".join(f"{one:.0f}" for one in medians),
        LOOKS[verdict.looks_at],
        f"{accuracy.value:.3f} ({accuracy.low:.3f} to {accuracy.high:.3f})",
        f"{area.value:.3f} ({area.low:.3f} to {area.high:.3f})",
    ]


def attack_by_time(parser: argparse.ArgumentParser, arguments: Sequence[str]) -> None:
    """An attack by time over HTTP: an attacker tells two neighbouring vaults apart by when replies leave.

    The worst case: the toy model answers in 50 ms, and in 100 ms if a document with a marker is in a prompt. One
    vault has one more unit, with the marker, which every question finds. Each vault has a server of its own; they
    are asked in turns.

    alone: one question at a time. Meanwhile the attacker asks again and again for the key's newest receipt, and
    notes when it last changed. queued: two questions of other keys go before it at the same moment, so that it
    waits. waiting: the same, but it is sent later, so that a multiple of the quantum after its arrival lies between
    the two times of an answer.

    The first half of the timings chooses what to look at (the reply, or the last change), and the threshold. The
    second half tells how often the attacker is right, and the area under the curve, with intervals of confidence
    0.95.
    """
    parser.add_argument("--questions", type=int, default=200)
    parser.add_argument("--quantum", type=float, default=0.5)
    parser.add_argument("--scenarios", default="alone,waiting")
    parser.add_argument("--seed", type=int, default=0)
    add_csv_option(parser)
    given = parser.parse_args(arguments)
    scenarios, table = given.scenarios.split(","), TableWriter(COLUMNS, given.csv)
    with tempfile.TemporaryDirectory(prefix="d-") as folder:
        for quantum in (0.0, given.quantum):
            paths, slow = [Path(folder) / f"{quantum:g}-{name}" for name in ("without", "with")], (SHORT, LONG)
            how: dict[str, Any] = {"slow": slow, "units": UNITS, "quantum": quantum}
            with started(paths[0], **how) as without, started(paths[1], marker=True, **how) as within:
                for scenario in scenarios:
                    timings = collect([without, within], quantum, scenario, given.questions)
                    table.write(describe(scenario, quantum, timings, given.seed))

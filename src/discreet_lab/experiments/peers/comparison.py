"""Other people's systems beside ours."""

import argparse
import json
import os
import random
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from discreet.algorithms.common.algorithm import Guarantee
from discreet.generation import prompts
from discreet.generation.loading import PACKAGED, packaged_model_dir
from discreet.numerics import compute_dtype
from discreet.query.known_answers import Question, matches, read_questions
from discreet.reading.records import open_bytes
from discreet.registry import RAG, NonRAG
from discreet.vault import Vault
from discreet_lab.attacks.rates import Rate
from discreet_lab.experiments.catalogue import ROOT
from discreet_lab.experiments.common import add_csv_option, add_model_option, model_name, name_part, write_table
from discreet_lab.experiments.peers import ours
from discreet_lab.experiments.peers.drivers.job import Job, answer_all
from discreet_lab.experiments.peers.environments import (
    INVISIBLEINK,
    PRESIDIO,
    SARUS,
    Environment,
    UnavailableError,
    last_error,
    portable_model,
)
from discreet_lab.experiments.peers.environments import make_environment as made_environment

COLUMNS = ("system", "accuracy", "claimed epsilon", "true epsilon", "time", "questions")
PAIR_COLUMNS = ("peer", "what one individual changes", "claimed", "measured")
BASE = "plain RAG"
DRIVERS = "discreet_lab.experiments.peers.drivers"
NOT_RUN = {
    "DP few-shot generation": "no package; "
    "its code asks an interface for 100 log-probabilities of models that are withdrawn",
    "DP-ICL": "no package; a notebook over answers of a model that is withdrawn",
}


@dataclass(frozen=True)
class System:
    """A system and its answers.

    Attributes:
        name: its name.
        answers: its answers in the order of the questions, with seconds; fewer than all if its time was up.
        claimed, true: the epsilon that it states, and the one that it has.
        reason: why it did not run, if it did not.
    """

    name: str
    answers: Sequence[dict[str, Any]]
    claimed: str = "-"
    true: str = "-"
    reason: str = ""


def seconds(system: System, asked: int) -> float:
    """Return the mean of a system's seconds for the first questions."""
    return float(sum(answer["seconds"] for answer in system.answers[:asked])) / asked


def table_rows(systems: Sequence[System], questions: Sequence[Question]) -> list[list[str]]:
    """Return a row for each system, over the questions that all of those that ran have answered."""
    ran = [system for system in systems if system.answers]
    asked = min((len(system.answers) for system in ran), default=0)
    base = next((seconds(system, asked) for system in ran if system.name == BASE), 0.0)
    return [_row(system, questions[:asked], base) for system in systems]


def _row(system: System, questions: Sequence[Question], base: float) -> list[str]:
    if not system.answers:
        return [system.name, "-", "-", f"not run: {system.reason}", "-", "0"]
    pairs = zip(system.answers, questions, strict=False)
    rate = Rate.among(sum(matches(answer["text"], question.answers) for answer, question in pairs), len(questions))
    time = f"{seconds(system, len(questions)) / base:.1f}" if base else "-"
    return [
        system.name,
        f"{rate.value:.2f} ({rate.low:.2f}-{rate.high:.2f})",
        system.claimed,
        system.true,
        time,
        str(len(questions)),
    ]


def pair_rows(pairs: Sequence[dict[str, Any]]) -> list[list[str]]:
    """Return a row for each measurement of neighbouring inputs."""
    return [[pair["peer"], pair["change"], pair["claimed"], pair["measured"]] for pair in pairs]


def run_driver(python: Path, driver: str, job: Path, result: Path, hours: float = 6.0) -> dict[str, Any]:
    """Return what a driver found in its environment.

    Raises:
        UnavailableError: if it fails.
    """
    if result.exists():
        return dict(json.loads(result.read_text(encoding="utf-8")))
    threads = os.environ.get("OMP_NUM_THREADS", "1")
    given = {"HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false", "OMP_NUM_THREADS": threads}
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    environment |= given | {"PYTHONPATH": str(ROOT / "src")}
    command = [str(python), "-m", f"{DRIVERS}.{driver}", str(job), str(result)]
    try:
        ended = subprocess.run(command, env=environment, stderr=subprocess.PIPE, text=True, timeout=3600 * hours)
    except subprocess.TimeoutExpired as late:
        raise UnavailableError(f"not done after {hours:g} hours") from late
    if ended.returncode:
        raise UnavailableError(f"{driver} ended with {ended.returncode}: {last_error(ended.stderr)}")
    return dict(json.loads(result.read_text(encoding="utf-8")))


class NotAskedError(UnavailableError):
    """A part that `--only` leaves out, and whose result is not kept."""


class Run:
    """One run: its job, its folder, and the systems so far."""

    def __init__(self, job: Job, folder: Path, environments: Path, pythons: Sequence[Path]) -> None:
        self.job, self.folder, self.environments, self.pythons = job, folder, environments, pythons
        self.file = folder / "job.json"
        self.systems: list[System] = []
        self.pairs: list[dict[str, Any]] = []
        self.only: Sequence[str] = ()

    def require(self, name: str) -> None:
        """Go on if a part is to be run, or its result is there.

        Raises:
            NotAskedError: if not.
        """
        if self.only and not (self.folder / f"{name}.json").exists() and not any(part in name for part in self.only):
            raise NotAskedError(f"{name}: not asked for by --only")

    def driver(self, environment: Environment, name: str) -> dict[str, Any]:
        """Return what a driver found."""
        self.require(name)
        result = self.folder / f"{name}.json"
        python = made_environment(environment, self.environments, self.pythons)
        print(f"\n{name}", flush=True)
        return run_driver(python, name, self.file, result)

    def ours(self, name: str, answer: Callable[[int, str], str], **told: str) -> None:
        """Ask one of our systems all questions."""
        short = "".join(letter for letter in name if letter.isalnum())
        kept = self.folder / f"{short}.json"
        try:
            self.require(short)
        except NotAskedError:
            return
        print(f"\n{name}", flush=True)
        if not kept.exists():
            kept.write_text(json.dumps(answer_all(self.job, answer)), encoding="utf-8")
        self.systems.append(System(name, json.loads(kept.read_text(encoding="utf-8")), **told))

    def peer(self, names: Sequence[str], ask: Callable[[], list[System]]) -> None:
        """Ask a peer, or say why not."""
        try:
            self.systems += ask()
        except NotAskedError as reason:
            print(reason, flush=True)
        except UnavailableError as reason:
            print(f"{names[0]}: {reason}", flush=True)
            self.systems += [System(name, [], reason=str(reason)) for name in names]

    def pair(self, environment: Environment, name: str) -> None:
        """Measure neighbouring inputs of a peer."""
        try:
            self.pairs += self.driver(environment, name)["pairs"]
        except UnavailableError as reason:
            print(f"{name}: {reason}", flush=True)


def add_ours(run: Run, vault: Vault) -> None:
    """Ask our own systems."""
    job = run.job
    for name, algorithm in ours.systems(job.epsilon, job.records, job.tokens).items():
        private = algorithm.guarantee is Guarantee.DP
        epsilon = "0" if isinstance(algorithm, NonRAG) else f"{job.epsilon:g}" if private else "-"
        true = epsilon if private else "infinite"
        run.ours(name, ours.asker(vault, algorithm, job.epsilon, job.delta), claimed=epsilon, true=true)


def sarus(run: Run) -> list[System]:
    """Return Sarus' dp-rag as published, and without the library's filter."""
    run.require("sarus_dp_rag")
    if not run.job.path:
        raise UnavailableError("its code is given by --path")
    found = run.driver(SARUS, "sarus_dp_rag")
    claimed = f"{found['claimed']:.2f}"
    return [
        System("dp-rag, Sarus", found["answers"], claimed, "none: the best 50 of private sums"),
        System(
            "dp-rag, Sarus, unfiltered", found["unfiltered"], claimed, f"{found['capped']:.2f}: replaced at its cap"
        ),
    ]


def invisibleink(run: Run) -> list[System]:
    """Return InvisibleInk over the nearest records."""
    found = run.driver(INVISIBLEINK, "invisibleink")
    true = f"{found['replaced']:.2f}: a record is replaced; none with its default seed"
    return [System("InvisibleInk", found["answers"], f"{found['claimed']:.2f}", true)]


def redaction(run: Run, units: Sequence[str], model: str) -> None:
    """Ask plain RAG over documents that Presidio redacted."""
    name = "Presidio and plain RAG"
    try:
        found = run.driver(PRESIDIO, "presidio_redaction")
    except NotAskedError:
        return
    except UnavailableError as reason:
        run.systems.append(System(name, [], reason=str(reason)))
        return
    folder = run.folder
    vault = ours.redacted_vault(folder / "redacted", folder / "redacted.jsonl", units, found["documents"], model)
    answer = ours.asker(vault, RAG(max_tokens=run.job.tokens), run.job.epsilon, run.job.delta)
    run.ours(name, answer, claimed="-", true="infinite")


def compare_peers(parser: argparse.ArgumentParser, arguments: Sequence[str]) -> None:
    """Other people's systems beside ours: same questions, same model, same machine, one run.

    Each peer runs in an environment of its own, which is made once in `--environments` with pinned packages. A peer
    that cannot be installed or run has a row with the reason. `--path` is a folder with the code of Sarus'
    dp-rag, which is no package. `--python` names a Python 3.12, which invink needs. `--keep FOLDER` keeps answers: a
    second run goes on where the first one ended. `--only` runs some systems; others have a row if their answers are
    kept.

    accuracy       match accuracy, on the questions that all systems answered; none is begun after `--minutes`
    claimed        the epsilon of a question that a system states, with `--delta`
    true           what its mechanism gives if one individual is added or removed, with retrieval
                   (docs/results/peers.md)
    time           the processor's seconds for a question, in parts of those of plain RAG; models are loaded before

    A second table, with the suffix `pairs`, has what was measured of neighbouring inputs by the peers' own code.
    """
    parser.add_argument("documents", type=Path)
    parser.add_argument("questions", type=Path)
    parser.add_argument("--path", type=Path, help="the code of Sarus' dp-rag")
    add_model_option(parser)
    parser.add_argument("--epsilon", type=float, default=10.0)
    parser.add_argument("--delta", type=float, default=1e-5)
    parser.add_argument("--limit", type=int, default=20)
    parser.add_argument("--minutes", type=float, default=60.0, help="the most for one system")
    parser.add_argument("--records", type=int, default=40, help="how many records are wanted for a question")
    parser.add_argument("--tokens", type=int, default=24)
    parser.add_argument("--examples", type=int, default=4, help="how many of our prompt's the peers get")
    parser.add_argument("--environments", type=Path, default=Path(tempfile.gettempdir()) / "discreet-peers")
    parser.add_argument("--python", type=Path, nargs="*", default=[])
    parser.add_argument("--keep", type=Path, help="a folder that keeps all answers")
    parser.add_argument("--only", nargs="+", default=[], help="parts of names; with --keep, other answers stay")
    add_csv_option(parser)
    given = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as temporary:
        run_all(given, given.keep or Path(temporary))


def run_all(given: argparse.Namespace, folder: Path) -> None:
    """Run all systems in a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    questions = read_questions(given.questions, given.limit)
    random.Random(0).shuffle(questions)
    with open_bytes(given.documents) as lines:
        records = [json.loads(line) for line in lines if line.strip()]
    model = model_name(given.model)
    vault = ours.make_vault(folder / "vault", given.documents, model, given.delta)
    asked = [question.question for question in questions]
    if not given.only:
        ours.load(vault, asked[0])
    source = packaged_model_dir() if model == PACKAGED else Path(model)
    job = Job(
        model=str(portable_model(source, folder / "model")),
        embedder=str(ours.embedder_folder()),
        documents=[record["text"] for record in records],
        questions=asked,
        retrieved=ours.retrieved(vault, asked, given.records),
        system=prompts.SYSTEM,
        examples=ours.examples_of(given.examples),
        before=prompts.BEFORE,
        after=prompts.AFTER,
        epsilon=given.epsilon,
        delta=given.delta,
        records=given.records,
        tokens=given.tokens,
        minutes=given.minutes,
        dtype=str(compute_dtype("cpu")).removeprefix("torch."),
        path=str(given.path.resolve()) if given.path else "",
    )
    run = Run(job, folder, given.environments, given.python)
    if run.file.exists() and not job.same_as(run.file):
        raise SystemExit(f"{folder} keeps answers of another run. Name another folder with --keep, or empty this one.")
    job.save(run.file)
    run.only = given.only
    add_ours(run, vault)
    run.peer(["InvisibleInk"], lambda: invisibleink(run))
    run.peer(["dp-rag, Sarus", "dp-rag, Sarus, unfiltered"], lambda: sarus(run))
    run.pair(INVISIBLEINK, "invisibleink_pair")
    if given.path:
        run.pair(SARUS, "sarus_pair")
    redaction(run, [str(record["unit"]) for record in records], model)
    if not given.only:
        run.systems += [System(name, [], reason=reason) for name, reason in NOT_RUN.items()]
    print()
    write_table(COLUMNS, table_rows(run.systems, questions), given.csv)
    print()
    write_table(PAIR_COLUMNS, pair_rows(run.pairs), name_part(given.csv, "pairs"))

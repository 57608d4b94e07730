"""Counts, shares, comparisons and lists against exact truth."""

import argparse
import json
import random
import re
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from discreet.algorithms.text.normalize import content
from discreet.demo.corpus import DISEASES, documents
from discreet.errors import DiscreetError
from discreet.files.records import open_bytes
from discreet.privacy.accounting import Budget
from discreet.privacy.filter import MemoryLedger
from discreet.privacy.noise import InsecureSeededNoise
from discreet.questions.request import of_request
from discreet.statistics.statistic import Statistic
from discreet.synthesis.extraction import facts_of
from discreet.vault import Vault
from discreet_lab.experiments.common import TableWriter, add_csv_option, add_model_option, model_name, open_vault

WORDINGS = {
    "count": (
        "How many patients have {d}?",
        "How many people are diagnosed with {d}?",
        "What is the number of patients with {d}?",
        "Count the patients with {d}.",
        "In how many notes is {d} mentioned?",
    ),
    "share": (
        "What share of patients with {d} have {s}?",
        "What percentage of patients with {d} report {s}?",
        "How often do patients with {d} have {s}?",
        "Which proportion of the patients with {d} has {s}?",
        "What fraction of people with {d} complain of {s}?",
    ),
    "compare": (
        "Is {s} more common with {d} than with {e}?",
        "How does the share of {s} differ between {d} and {e}?",
        "Do patients with {d} have {s} more often than patients with {e}?",
    ),
    "list": (
        "What are the most common symptoms of {d}?",
        "List the symptoms of {d}.",
        "Which symptoms do patients with {d} have?",
        "What symptoms are reported most often by patients with {d}?",
        "Name the symptoms of {d}.",
    ),
}
_STATED = re.compile(r"Given the symptoms \((.*?)\) of .*?, the diagnosis is (.*?) and the treatment should be .*?\.$")
STREAM, STREAM_USES = Budget(4.0, 1e-5, 5e-6), 200
ALONE = Budget(1e6, 1e-5, 5e-6)
EXACT = 1e5
"""An epsilon at which the noise is 0: the number that the phrases find."""


@dataclass(frozen=True)
class Note:
    """What a note states: its diagnosis, and its symptoms."""

    diagnosis: str
    symptoms: frozenset[str]


@dataclass(frozen=True)
class Asked:
    """A question, and the true numbers of its answer: for a list, the symptoms that half of the units state."""

    text: str
    truth: tuple[float, ...]
    size: int
    values: frozenset[str] = frozenset()


def demo_notes() -> list[Note]:
    """The notes of the demonstration."""
    notes = []
    for number, document in enumerate(documents()):
        disease = DISEASES[number % len(DISEASES)]
        notes.append(Note(disease.name, frozenset(one for one in disease.symptoms if one in document.text)))
    return notes


def stated_notes(path: Path) -> list[Note]:
    """The notes of medical_synth, by the sentence of the doctor; one that has none states nothing."""
    with open_bytes(path) as lines:
        texts = [json.loads(line)["text"] for line in lines]
    return [_note_of(_STATED.search(text)) for text in texts]


def _note_of(stated: "re.Match[str] | None") -> Note:
    if stated is None:
        return Note("", frozenset())
    facts = facts_of(f"The diagnosis is {stated[2]}. The symptoms are {stated[1]}.")
    return Note(facts[0][1] if facts else "", frozenset(value for kind, value in facts if kind == "symptoms"))


def questions(notes: Sequence[Note], kind: str, number: int, seed: int = 0) -> Iterator[Asked]:
    """Questions of one kind with their truth, in turn in all wordings."""
    draw = random.Random(seed)
    sizes = Counter(note.diagnosis for note in notes if note.diagnosis)
    common = sorted(name for name, size in sizes.items() if size >= 20)
    for place in range(number):
        wording = WORDINGS[kind][place % len(WORDINGS[kind])]
        one, other = draw.sample(common, 2)
        inside = [note for note in notes if note.diagnosis == one]
        beside = [note for note in notes if note.diagnosis == other]
        stated = Counter(symptom for note in inside for symptom in note.symptoms)
        symptom = draw.choice(sorted(stated))
        text = wording.format(d=one, e=other, s=symptom)
        shares = [sum(symptom in note.symptoms for note in part) / len(part) for part in (inside, beside)]
        half = frozenset(value for value, count in stated.items() if 2 * count >= len(inside))
        truth: dict[str, tuple[float, ...]] = {
            "count": (len(inside),),
            "share": (shares[0],),
            "compare": (shares[0], shares[1]),
            "list": (),
        }
        yield Asked(text, truth[kind], len(inside) if kind == "count" else 1, half)


def statistic_for(vault: Vault, asked: Asked, kind: str, given: dict[str, Any]) -> Statistic | None:
    """The statistic that a question asks for, by the rules of `discreet ask`; None if it is of another kind."""
    try:
        request = vault.router.understand(asked.text)
        return of_request(request, vault.settings, given, None) if request and request.kind == kind else None
    except DiscreetError:
        return None


def measure(vault: Vault, notes: Sequence[Note], kind: str, price: float | None, number: int) -> list[str]:
    """One row: a kind at a price."""
    given: dict[str, Any] = {"uses": STREAM_USES} if price is None else {"epsilon": price}
    budget = STREAM if price is None else ALONE
    errors, near, covered, of_table, recall, seconds = [], 0, 0, 0, list[float](), list[float]()
    understood, released = 0, 0
    for place, question in enumerate(questions(notes, kind, number)):
        statistic = statistic_for(vault, question, kind, given)
        if statistic is None:
            continue
        understood += 1
        started = time.perf_counter()
        answer = vault.simulate(question.text, statistic, noise=InsecureSeededNoise(place), ledger=_ledger(budget))
        seconds.append(time.perf_counter() - started)
        released += bool(answer.table)
        if kind == "list":
            wanted, got = {content(one) for one in question.values}, {content(one) for one in answer.released}
            recall += [len(wanted & got) / len(wanted)] if wanted else []
            continue
        exact = replace(statistic, epsilon=EXACT, uses=None)
        table = vault.simulate(question.text, exact, noise=InsecureSeededNoise(0), ledger=_ledger(ALONE))
        if not answer.table or not table.table:
            continue
        for figure, noiseless, true in zip(answer.table, table.table, question.truth, strict=False):
            errors.append(abs(figure.value - true) / question.size)
            width = (figure.high - figure.low) / 2
            near += abs(figure.value - true) <= 0.05 * question.size + width
            covered += figure.low - 1e-9 <= true <= figure.high + 1e-9
            of_table += figure.low - 1e-9 <= noiseless.value <= figure.high + 1e-9
    shown = max(1, len(errors))
    numbers = [
        f"{sorted(errors)[len(errors) // 2]:.3f}" if errors else "-",
        *(f"{part / shown:.2f}" if errors else "-" for part in (near, covered, of_table)),
        f"{sum(recall) / len(recall):.2f}" if recall else "-",
    ]
    median = sorted(seconds)[len(seconds) // 2] if seconds else 0.0
    return [
        kind,
        "stream" if price is None else f"{price:g}",
        f"{understood / number:.2f}",
        f"{released / max(1, understood):.2f}",
        *numbers,
        f"{1000 * median:.0f}",
    ]


def _ledger(budget: Budget) -> MemoryLedger:
    return MemoryLedger(budget, simulation=True)


def measure_statistics(parser: argparse.ArgumentParser, arguments: Sequence[str]) -> None:
    """Statistics against exact truth: counts, shares, comparisons and lists, in several wordings, at several prices.

    The notes are those of the demonstration, or of medical_synth. What each note states is taken from the
    generator, or from the sentence that all notes have: diagnosis, treatment and symptoms. A question goes the way
    of `discreet ask`, from its text on. Nothing is paid, and noise is seeded.

    understood     the questions whose kind, set and condition the rules found
    released       the part of them that got numbers: none are given of the rare values of a list
    5 %            the answers within 5 % of the set and 1.96 standard deviations of the noise
    covered        the intervals that hold the truth
    of the table   the intervals that hold the number that the same mechanism would have without noise: what phrases
                   lose
    recall         of a list: the symptoms that half of the units state, released

    `stream` is a grant of epsilon 4 for 200 such questions. Lists are asked only if the vault was read (`discreet
    read`).
    """
    parser.add_argument("documents", help="`demo`, or the documents of medical_synth")
    parser.add_argument("--vault", type=Path, help="a vault of them; else one is made, with the embedder hashing")
    parser.add_argument("--questions", type=int, default=100)
    parser.add_argument("--epsilon", type=float, nargs="+", default=[0.1, 0.5, 1.0])
    parser.add_argument("--list-epsilon", type=float, nargs="+", default=[1.0, 2.0])
    add_model_option(parser)
    add_csv_option(parser)
    given = parser.parse_args(arguments)
    notes = demo_notes() if given.documents == "demo" else stated_notes(Path(given.documents))
    with tempfile.TemporaryDirectory() as folder:
        if given.vault:
            vault = open_vault(given.vault, given.model)
        else:
            path, name = Path(folder) / "v", model_name(given.model)
            vault = Vault.create(path, epsilon=20.0, delta=1e-6, embedder="hashing", unit_field="patient", model=name)
            if given.documents == "demo":
                vault.add_documents(documents())
            else:
                vault.add(given.documents, unit_field="unit")
        columns = "kind,epsilon,understood,released,median error,5 %,covered,of the table,recall,ms".split(",")
        table = TableWriter(columns, given.csv)
        for kind in WORDINGS:
            if kind == "list" and not vault.components.readings.complete:
                continue
            for price in (*(given.list_epsilon if kind == "list" else given.epsilon), None):
                table.write(measure(vault, notes, kind, price, given.questions))
    print(f"\n{given.questions} questions of each kind; {len(notes):,} notes; seeded noise.")

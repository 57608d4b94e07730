"""Statements with and without a schema: what is read right, what is invented, and how long it takes.

    .venv/bin/python -m benchmarks.schema_statements NOTES [--number 64] [--csv FILE]

NOTES are the documents of medical_synth_small. The other notes are those of the demonstration; four of five of them get
an age, in four forms. The truth is the generator's, or the sentence of the doctor. Each vault is read without a schema,
and with two that call the first attribute a diagnosis or a disease, on the same machine. Nothing is paid.

seconds     of one text, of a processor
diagnosis, treatment     the texts of which exactly this value was read
symptoms    precision and recall of single symptoms, word for word
ages        the texts with an age of which it was read
invented    the texts with a statement of an attribute that no text has (allergy), or with an age that it has not
median      the median age with hardly any noise, and the true one
list        of the symptoms that half of the patients with the most common disease state, the listed part, likewise
"""

import argparse
import json
import random
import re
import tempfile
import time
from collections import Counter
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from statistics import median

from benchmarks.models import add_model_option, model_name
from benchmarks.stated_corpus import facts_in
from benchmarks.writing import TableWriter, add_csv_option

from discreet.algorithms.common.answer import Figure
from discreet.algorithms.text.attributes import matches
from discreet.demo.corpus import DISEASES, documents
from discreet.errors import DiscreetError
from discreet.privacy.accounting import Budget
from discreet.privacy.ledger import MemoryLedger
from discreet.privacy.noise import InsecureSeededNoise
from discreet.registry import ListValues, Typical
from discreet.retrieval.attribute_schema import AttributeSchema
from discreet.retrieval.documents import Document
from discreet.retrieval.unit_records import Statement
from discreet.synthesis.fact_extraction import facts_of
from discreet.vault import Vault

_OTHERS = (
    {"name": "symptoms", "words": ["signs"]},
    {"name": "treatment", "words": ["therapy"]},
    {"name": "age", "type": "number", "unit": "years", "low": 0, "high": 120},
    {"name": "allergy"},
)
SCHEMAS = {name: AttributeSchema.parse({"attributes": [{"name": name}, *_OTHERS]}) for name in ("diagnosis", "disease")}
"""The same attributes, with two names for the first one."""
_ALONE = Budget(1e4, 1e-5, 5e-6)
_PRICE = 1e3
"""An epsilon with hardly any noise: what the reading loses."""


@dataclass(frozen=True)
class Note:
    """A note, and what it states."""

    text: str
    diagnosis: str
    treatment: str
    symptoms: frozenset[str]
    age: int | None = None


def demo_notes(number: int) -> list[Note]:
    """Notes of the demonstration, four of five of them with an age."""
    draw, found = random.Random(0), []
    for place, document in enumerate(islice(documents(), number)):
        disease = DISEASES[place % len(DISEASES)]
        text, age = _aged(document, place, draw.randint(18, 95))
        stated = facts_of("The symptoms are " + ", ".join(one for one in disease.symptoms if one in text) + ".")
        values = frozenset(value for _, value in stated)
        found.append(Note(text, disease.name.casefold(), disease.treatment, values, age))
    return found


def _aged(document: Document, place: int, age: int) -> tuple[str, int | None]:
    named = re.search(re.escape(document.unit), document.text, re.IGNORECASE)
    assert named is not None
    name, text = named[0], document.text
    made = (
        text,
        text.replace(name, f"{name}, {age},", 1),
        text.replace(name, f"{name} ({age} years old)", 1),
        f"{text} Age: {age}.",
        f"{text} {name} is {age} years old.",
    )
    return made[place % 5], age if place % 5 else None


def medical_notes(path: Path, number: int) -> list[Note]:
    """Notes of medical_synth, spread over the file."""
    texts = [json.loads(line)["text"] for line in path.read_text(encoding="utf-8").splitlines()]
    found = []
    for text in texts[:: max(1, len(texts) // number)][:number]:
        facts = facts_in(text)
        if facts:
            symptoms = frozenset(value for kind, value in facts if kind == "symptoms")
            found.append(Note(text, facts[0][1], facts[1][1], symptoms))
    return found


def measure(name: str, notes: list[Note], vault: Vault, schema: AttributeSchema | None) -> list[str]:
    """Read the notes, and return a row of the table."""
    _ = vault.components.model
    started = time.process_time()
    vault.read(schema=schema, drop_schema=schema is None)
    seconds = time.process_time() - started
    read = vault.components.readings.load()
    stated = [read.of(f"u{place}", note.text) for place, note in enumerate(notes)]
    pairs = list(zip(notes, stated, strict=True))
    right = [
        sum(getattr(note, kind) in _values(own, kind) for note, own in pairs) / len(pairs)
        for kind in ("diagnosis", "treatment")
    ]
    hits = sum(len(note.symptoms & _values(own, "symptoms")) for note, own in pairs)
    said = sum(len(_values(own, "symptoms")) for _, own in pairs)
    wanted = sum(len(note.symptoms) for note in notes)
    aged = [(note, own) for note, own in pairs if note.age is not None]
    ages = sum(_ages(own) == {note.age} for note, own in aged)
    invented = sum(bool(_values(own, "allergy") or _ages(own) - {note.age}) for note, own in pairs)
    return [
        name,
        schema.names[0] if schema else "none",
        f"{seconds / len(notes):.2f}",
        *(f"{one:.2f}" for one in right),
        f"{hits / max(1, said):.2f}",
        f"{hits / wanted:.2f}",
        f"{ages / len(aged):.2f}" if aged else "-",
        f"{invented / len(pairs):.2f}",
        _median(vault, [note.age for note in notes if note.age is not None]),
        _listed(vault, notes),
    ]


def _values(statements: tuple[Statement, ...], kind: str) -> set[str]:
    return {one.value for one in statements if one.value and matches(one.attribute, kind)}


def _ages(statements: tuple[Statement, ...]) -> set[int]:
    found = [re.search(r"\d+", value) for value in _values(statements, "age")]
    return {int(one[0]) for one in found if one}


def _median(vault: Vault, ages: list[int]) -> str:
    if not ages:
        return "-"
    table = _simulate(vault, Typical(attribute="age", epsilon=_PRICE))
    return f"{table[0].value:.1f} ({median(ages):g})" if table else f"none ({median(ages):g})"


def _listed(vault: Vault, notes: list[Note]) -> str:
    disease = Counter(note.diagnosis for note in notes).most_common(1)[0][0]
    inside = [note.symptoms for note in notes if note.diagnosis == disease]
    stated = Counter(symptom for own in inside for symptom in own)
    half = {symptom for symptom, count in stated.items() if 2 * count >= len(inside)}
    table = _simulate(vault, ListValues(attribute="symptoms", population=disease, epsilon=_PRICE))
    return f"{len(half & {figure.name for figure in table}) / len(half):.2f}"


def _simulate(vault: Vault, statistic: ListValues | Typical) -> tuple[Figure, ...]:
    try:
        ledger = MemoryLedger(_ALONE, simulation=True)
        return vault.simulate("q", statistic, noise=InsecureSeededNoise(0), ledger=ledger).table
    except DiscreetError:
        return ()


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("notes", type=Path)
    parser.add_argument("--number", type=int, default=64)
    parser.add_argument("--schema", choices=sorted(SCHEMAS), help="only this one")
    add_model_option(parser)
    add_csv_option(parser)
    given = parser.parse_args()
    columns = "notes,schema,seconds,diagnosis,treatment,precision,recall,ages,invented,median (true),list".split(",")
    table = TableWriter(columns, given.csv)
    corpora = {
        "demonstration": demo_notes(given.number),
        "medical_synth_small": medical_notes(given.notes, given.number),
    }
    with tempfile.TemporaryDirectory() as folder:
        for name, notes in corpora.items():
            vault = Vault.create(
                Path(folder) / name, epsilon=20.0, delta=1e-5, embedder="hashing", model=model_name(given.model)
            )
            vault.add_documents(Document(f"d{place}", f"u{place}", note.text) for place, note in enumerate(notes))
            for schema in (None, *SCHEMAS.values()) if not given.schema else (SCHEMAS[given.schema],):
                table.write(measure(name, notes, vault, schema))
    print(f"\n{given.number} notes of each kind; seeded noise; {model_name(given.model)}.")


if __name__ == "__main__":
    main()

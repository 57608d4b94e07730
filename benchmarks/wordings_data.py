"""The notes of `benchmarks.wordings`: the demonstration, with an age and a day for each patient, and their truth."""

import random
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from benchmarks.models import vault_in

from discreet.demo.corpus import DISEASES, Disease, documents
from discreet.retrieval.documents import Document
from discreet.vault import Vault

YEAR = 2025
DELTA = 1e-6


@dataclass(frozen=True)
class Patient:
    """A patient: the disease, the symptoms that the note states, and the declared fields."""

    document: Document
    disease: Disease
    symptoms: frozenset[str]
    age: int
    month: int


def patients(seed: int = 11) -> Iterator[Patient]:
    """Yield the patients. Ages differ by disease. Half of the diseases become more frequent over the year."""
    draw = random.Random(seed)
    for place, document in enumerate(documents()):
        kind = place % len(DISEASES)
        age = draw.randrange(20 + 2 * kind, 61 + 2 * kind)
        month = 1 + int(12 * draw.betavariate(*((2, 1) if kind % 2 else (1, 2))))
        dated = replace(document, fields={"age": str(age), "seen": f"{YEAR}-{month:02d}-{draw.randrange(1, 29):02d}"})
        stated = frozenset(symptom for symptom in DISEASES[kind].symptoms if symptom in document.text)
        yield Patient(dated, DISEASES[kind], stated, age, month)


def read_vault(path: Path, model: str | None = None) -> Vault:
    """Return the vault of these notes in a folder. Make it if it is not there, and read what is not read yet."""
    fields, new = {"age": "number", "seen": "date"}, not path.exists()
    vault = vault_in(path, model, epsilon=20.0, delta=DELTA, unit_field="patient", fields=fields)
    if new:
        vault.add_documents(one.document for one in patients())
    if not vault.components.readings.complete:
        vault.read()
    return vault

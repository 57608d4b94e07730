"""A fictional hospital. Its diseases do not exist, so no language model knows the answers.

A disease has the same symptoms and treatment in all of its patients, like a condition that many people share. Names,
wordings and orders differ. The same seed gives the same bytes.
"""

import random
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.resources import files

from discreet.store.documents import Document


@dataclass(frozen=True)
class Disease:
    """A fictional disease: its name, four symptoms and a treatment."""

    name: str
    symptoms: tuple[str, str, str, str]
    treatment: str


_CORPUS = tomllib.loads(files("discreet.demo").joinpath("corpus.toml").read_text(encoding="utf-8"))
DISEASES = tuple(Disease(one["name"], tuple(one["symptoms"]), one["treatment"]) for one in _CORPUS["diseases"])


def documents(patients: int = 1200, seed: int = 7) -> Iterator[Document]:
    """Yield one note for each of `patients` patients, with the diseases in turn. The unit is the patient's name."""
    choose = random.Random(seed)  # the corpus is public, so it may be reproducible
    names = [f"{first} {last}" for first in _CORPUS["first_names"].split() for last in _CORPUS["last_names"].split()]
    choose.shuffle(names)
    if patients > len(names):
        raise ValueError(f"patients is {patients}, but there are only {len(names)} names. Give at most {len(names)}.")
    for number, name in enumerate(names[:patients]):
        disease = DISEASES[number % len(DISEASES)]
        yield Document(id=f"note-{number:05d}", unit=name, text=_note(name, disease, choose))


def _note(name: str, disease: Disease, choose: random.Random) -> str:
    symptoms = choose.sample(disease.symptoms, choose.choice((3, 4)))
    opening, finding, closing = (choose.choice(_CORPUS[part]) for part in ("openings", "findings", "closings"))
    return f"{opening} {finding}{closing}".format(
        name=name,
        symptoms=f"{', '.join(symptoms[:-1])} and {symptoms[-1]}",
        disease=disease.name,
        treatment=disease.treatment,
        weeks=choose.choice(("two", "three", "four", "six")),
    )


@dataclass(frozen=True)
class DemoQuestion:
    """A question of the demonstration.

    Attributes:
        question: the question.
        prefix: the public beginning of the answer.
        answers: the right answers; empty for a question that no answer should be released for.
        note: the purpose of the question.
    """

    question: str
    prefix: str
    answers: tuple[str, ...]
    note: str


QUESTIONS = tuple(DemoQuestion(**one | {"answers": tuple(one["answers"])}) for one in _CORPUS["questions"])

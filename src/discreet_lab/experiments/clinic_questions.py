"""Sixty questions of a new analyst to the clinic, with the right requests, the true numbers and the right answers.

They were written before the product was asked any of them, and before its rules were read. A truth is computed by a
function of this module from what the notes state by construction; no text is searched.

A condition of a truth is a thing ("fever"), or one of {"any": [...]}, {"all": [...]}, {"not": ...}, {"note": [...]}
(one note states all of it), {"sex": "w"}, {"ward": "Nord"}, {"over": 60}, {"month": "2026-03"} or
{"since": "2026-04-01"}.
"""

import json
import statistics
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from discreet_lab.experiments.clinic import DRUGS, ILLNESSES, SYMPTOMS, WARDS, Clinic, ClinicNote

COMPLAINTS = (*SYMPTOMS, "back pain")
THINGS = {
    "complaints": COMPLAINTS,
    "drugs": DRUGS,
    "illnesses": tuple(ILLNESSES),
    "illnesses and complaints": (*ILLNESSES, *SYMPTOMS),
    "all": (*ILLNESSES, *SYMPTOMS, *DRUGS),
}
Notes = Sequence[ClinicNote]
Condition = str | Mapping[str, Any] | None


@dataclass(frozen=True)
class TrueNumbers:
    """What is true.

    Attributes:
        kind: "count", "share", "difference", "number", "months" or "values".
        values: the true numbers by name: of months and values; else in their order.
        people: the number of individuals of which each is a part; of a share, 0.1 of 50 individuals is 5 of them.
    """

    kind: str
    values: Mapping[str, float]
    people: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class ClinicQuestion:
    """A question.

    Attributes:
        number: its place, from 1.
        text: what the analyst asks.
        after: the analyst's question before it, to which it refers; empty if it stands alone.
        answerable: whether the vault can answer it; if not, an unpaid refusal is right.
        why: why it cannot.
        free: whether earlier questions paid for the answer.
        requests: the right requests, in their text form; "fact" for any question to voters.
        answers: the right answers of a fact.
        truth: how the true numbers are computed; empty for a fact.
    """

    number: int
    text: str
    answerable: bool
    requests: tuple[str, ...]
    after: str = ""
    why: str = ""
    free: bool = False
    answers: tuple[str, ...] = ()
    truth: Mapping[str, Any] = field(default_factory=dict)


def read_questions() -> list[ClinicQuestion]:
    """Return the questions, in the order in which they are asked."""
    lines = Path(__file__).with_suffix(".jsonl").read_text(encoding="utf-8").splitlines()
    questions = []
    for number, line in enumerate(lines, 1):
        given = json.loads(line)
        given |= {name: tuple(given.get(name, ())) for name in ("requests", "answers")}
        questions.append(ClinicQuestion(number=number, **given))
    return questions


def holds(condition: Condition, notes: Notes) -> bool:
    """Return whether a condition holds of the individual whose notes these are, or of one note if it is alone."""
    if condition is None:
        return True
    if isinstance(condition, str):
        return any(condition in note.states for note in notes)
    ((name, value),) = condition.items()
    tests: dict[str, Callable[[], bool]] = {
        "any": lambda: any(holds(one, notes) for one in value),
        "all": lambda: all(holds(one, notes) for one in value),
        "not": lambda: not holds(value, notes),
        "note": lambda: any(all(holds(one, [note]) for one in value) for note in notes),
        "sex": lambda: notes[0].patient.sex == value,
        "over": lambda: notes[0].patient.age > value,
        "ward": lambda: any(note.ward == value for note in notes),
        "month": lambda: any(f"{note.day:%Y-%m}" == value for note in notes),
        "since": lambda: any(note.day.isoformat() >= value for note in notes),
    }
    return tests[name]()


def select(clinic: Clinic, *conditions: Condition) -> list[Notes]:
    """Return the notes of each individual of whom all conditions hold."""
    return [notes for notes in clinic.people.values() if all(holds(one, notes) for one in conditions)]


def count(clinic: Clinic, of: Condition = None, among: Condition = None) -> TrueNumbers:
    """Return how many individuals of a population a condition holds of."""
    return TrueNumbers("count", {"count": len(select(clinic, of, among))})


def share(clinic: Clinic, of: Condition, among: Condition = None) -> TrueNumbers:
    """Return the part of a population of which a condition holds, and the numbers of both."""
    whole, part = len(select(clinic, among)), len(select(clinic, of, among))
    return TrueNumbers("share", {"share": part / whole, "count": part, "of": whole}, {"share": whole})


def difference(clinic: Clinic, groups: Sequence[Condition]) -> TrueNumbers:
    """Return how many more individuals one condition holds of than another one, and both numbers."""
    more, less = (len(select(clinic, one)) for one in groups)
    return TrueNumbers("difference", {"difference": more - less, "first": more, "second": less})


def shares(clinic: Clinic, of: Condition, groups: Sequence[Condition]) -> TrueNumbers:
    """Return the part of each group of which a condition holds."""
    sizes = [len(select(clinic, one)) for one in groups]
    parts = [len(select(clinic, of, one)) for one in groups]
    names = [str(place) for place in range(len(groups))]
    divided = [part / size for part, size in zip(parts, sizes, strict=True)]
    return TrueNumbers("shares", dict(zip(names, divided, strict=True)), dict(zip(names, sizes, strict=True)))


def months(clinic: Clinic, of: str) -> TrueNumbers:
    """Return how many individuals have a note of each month that states a thing."""
    pairs = {(f"{note.day:%Y-%m}", note.patient.number) for note in clinic.notes if of in note.states}
    return TrueNumbers("months", dict(sorted(Counter(month for month, _ in pairs).items())))


def quarters(clinic: Clinic, of: str, since: str) -> TrueNumbers:
    """Return how many individuals are new in each quarter from a month on: the first note of a thing is in it."""
    first: dict[int, ClinicNote] = {}
    for note in clinic.notes:  # by date
        if of in note.states:
            first.setdefault(note.patient.number, note)
    days = [note.day for note in first.values() if f"{note.day:%Y-%m}" >= since]
    return TrueNumbers("months", dict(sorted(Counter(f"{day:%Y}-Q{(day.month + 2) // 3}" for day in days).items())))


def age(clinic: Clinic, what: str, among: Condition = None) -> TrueNumbers:
    """Return the mean or the median age of a population, in years."""
    ages = [notes[0].patient.age for notes in select(clinic, among)]
    return TrueNumbers("number", {"number": statistics.mean(ages) if what == "mean" else statistics.median(ages)})


def satisfaction(clinic: Clinic) -> TrueNumbers:
    """Return the mean of the scores, each individual once with the own mean."""
    scores: dict[int, list[int]] = {}
    for note in clinic.notes:
        if note.satisfaction is not None:
            scores.setdefault(note.patient.number, []).append(note.satisfaction)
    return TrueNumbers("number", {"number": statistics.mean(map(statistics.mean, scores.values()))})


def wards(clinic: Clinic) -> TrueNumbers:
    """Return how many individuals have a note of each ward."""
    return TrueNumbers("values", {ward: len(select(clinic, {"ward": ward})) for ward in WARDS})


def top(clinic: Clinic, things: str, among: Condition = None) -> TrueNumbers:
    """Return how many individuals of a population have each of some things, the most frequent first."""
    people = select(clinic, among)
    numbers = {one: sum(holds(one, notes) for notes in people) for one in THINGS[things]}
    return TrueNumbers("values", dict(sorted(numbers.items(), key=lambda pair: -pair[1])))


FUNCTIONS: dict[str, Callable[..., TrueNumbers]] = {
    one.__name__: one for one in (count, share, difference, shares, months, quarters, age, satisfaction, wards, top)
}


def true_numbers(clinic: Clinic, question: ClinicQuestion) -> TrueNumbers | None:
    """Return the truth of a question; None for a fact, and for a question without an answer."""
    if not question.truth:
        return None
    given = dict(question.truth)
    return FUNCTIONS[given.pop("function")](clinic, **given)

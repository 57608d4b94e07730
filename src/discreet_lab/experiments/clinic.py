"""A made-up clinic: messy notes in two languages, of which every truth is known before a word is written.

A patient has illnesses, symptoms and drugs. Each stands in one or more of the patient's notes, and only then is the
text of a note made. So what a note states and denies is known by construction, and never read from the text.

The notes are as untidy as real ones: English and German, abbreviations ("c/o", "HTN"), typing errors, denials of what
others have ("denies nausea", "kein Fieber"), relatives ("FH: mother had migraine"), several notes a patient, German
names of columns. Winter Hand, Glass Knee and Copper Lung do not exist. The same seed gives the same bytes.
"""

import csv
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from functools import cached_property
from pathlib import Path

PATIENTS, NOTES, GERMANS = 340, 1_100, 40
FIRST, DAYS = date(2025, 10, 1), 365
COLUMNS = ("Patientennummer", "Datum", "Geschlecht", "Alter", "Station", "Notiz")
WARDS = ("Nord", "Süd", "Ost")
_MOST_NOTES = 10


@dataclass(frozen=True)
class Illness:
    """An illness.

    Attributes:
        size: the number of its patients.
        women: the part of them that are women.
        age: their mean age.
        symptoms, drugs: the part of them that have each.
    """

    size: int
    women: float
    age: int
    symptoms: Mapping[str, float]
    drugs: Mapping[str, float]


ILLNESSES = {
    "winter hand": Illness(
        105, 0.5, 52, {"numb thumbs": 0.7, "weak grip": 0.6, "white fingers": 0.4}, {"ginger gloves": 0.85}
    ),
    "glass knee": Illness(
        85, 0.5, 66, {"clicking knees": 0.7, "stiff knee": 0.5, "weak grip": 0.08},
        {"amber wraps": 0.8, "ibuprofen": 0.25},
    ),
    "copper lung": Illness(45, 0.4, 55, {"metallic taste": 0.75, "cough": 0.6}, {"salt steam": 0.85}),
    "asthma": Illness(62, 0.55, 41, {"cough": 0.6, "wheezing": 0.6}, {"salbutamol": 0.85}),
    "migraine": Illness(58, 0.78, 37, {"headache": 0.8, "nausea": 0.3}, {"sumatriptan": 0.6, "ibuprofen": 0.5}),
    "diabetes": Illness(54, 0.45, 63, {"thirst": 0.5, "fatigue": 0.4}, {"metformin": 0.85}),
    "hypertension": Illness(96, 0.48, 67, {"dizziness": 0.35, "headache": 0.2}, {"ramipril": 0.8}),
    "back pain": Illness(70, 0.5, 50, {}, {"ibuprofen": 0.65}),
    "HIV+": Illness(26, 0.35, 44, {"fatigue": 0.3}, {"tenofovir": 0.7}),
    "hepatitis B": Illness(30, 0.45, 46, {"fatigue": 0.4, "fever": 0.3}, {}),
    "hepatitis A": Illness(14, 0.5, 33, {"fever": 0.4}, {}),
}  # fmt: skip
APART = {"hepatitis A": {"hepatitis B"}}
"""Illnesses that no patient has beside one."""
EVERYWHERE = {"fever": 0.2, "rash": 0.13, "chest pain": 0.12, "fatigue": 0.07, "dizziness": 0.05, "nausea": 0.02}
"""The part of all patients that have a symptom in addition to those of their illnesses."""
DENIED = {"nausea": 5, "fever": 5, "chest pain": 3, "cough": 2, "dizziness": 2, "rash": 1, "headache": 1}
"""Symptoms that notes deny, with their weights."""
SYMPTOMS = tuple(dict.fromkeys([*(one for i in ILLNESSES.values() for one in i.symptoms), *EVERYWHERE]))
DRUGS = tuple(dict.fromkeys([*(one for i in ILLNESSES.values() for one in i.drugs), "paracetamol"]))
ENGLISH = {
    "winter hand": ("Winter Hand",),
    "glass knee": ("Glass Knee",),
    "copper lung": ("Copper Lung",),
    "diabetes": ("diabetes", "diabetes", "type 2 diabetes", "DM2"),
    "hypertension": ("hypertension", "hypertension", "hypertension", "HTN"),
    "back pain": ("back pain", "lower back pain"),
    "HIV+": ("HIV+", "HIV+", "HIV+", "HIV pos."),
    "weak grip": ("a weak grip", "weak grip"),
    "stiff knee": ("a stiff knee", "stiff knee"),
    "metallic taste": ("a metallic taste", "metallic taste"),
    "nausea": ("nausea",),
    "salbutamol": ("salbutamol", "salbutamol 100 mcg"),
}
"""How a thing is written in English; with its own name if it is not here."""
GERMAN = {
    "winter hand": ("Winter Hand",),
    "glass knee": ("Glass Knee",),
    "copper lung": ("Copper Lung",),
    "asthma": ("Asthma", "Asthma bronchiale"),
    "migraine": ("Migräne",),
    "diabetes": ("Diabetes", "Diabetes Typ 2"),
    "hypertension": ("Hypertonie", "Bluthochdruck"),
    "back pain": ("Rückenschmerzen",),
    "HIV+": ("HIV+", "HIV positiv"),
    "hepatitis B": ("Hepatitis B",),
    "hepatitis A": ("Hepatitis A",),
    "numb thumbs": ("taube Daumen",),
    "weak grip": ("schwachen Griff",),
    "white fingers": ("weiße Finger",),
    "clicking knees": ("knackende Knie",),
    "stiff knee": ("steifes Knie",),
    "metallic taste": ("metallischen Geschmack",),
    "cough": ("Husten",),
    "wheezing": ("pfeifende Atmung",),
    "headache": ("Kopfschmerzen",),
    "nausea": ("Übelkeit",),
    "thirst": ("Durst",),
    "fatigue": ("Müdigkeit",),
    "dizziness": ("Schwindel",),
    "fever": ("Fieber",),
    "rash": ("Ausschlag",),
    "chest pain": ("Brustschmerzen",),
    "ginger gloves": ("Ingwerhandschuhe", "ginger gloves"),
    "amber wraps": ("Bernsteinwickel", "amber wraps"),
    "salt steam": ("Salzdampf", "salt steam"),
    "salbutamol": ("Salbutamol",),
    "sumatriptan": ("Sumatriptan",),
    "ibuprofen": ("Ibuprofen", "Ibu"),
    "metformin": ("Metformin",),
    "ramipril": ("Ramipril",),
    "tenofovir": ("Tenofovir",),
    "paracetamol": ("Paracetamol",),
}
KEIN = {"nausea": "keine", "chest pain": "keine", "headache": "keine"}


@dataclass(frozen=True)
class Style:
    """The clauses of a language. {i} is an illness, {d} a drug, {s} symptoms, {x} and {y} denied ones."""

    illness: tuple[str, ...]
    treated: tuple[str, ...]
    drug: tuple[str, ...]
    symptoms: tuple[str, ...]
    denial: tuple[str, ...]
    two_denials: tuple[str, ...]
    relative: tuple[str, ...]
    satisfaction: str
    nothing: tuple[str, ...]
    filler: tuple[str, ...]
    joined: str


STYLES = {
    "en": Style(
        ("Dx: {i}.", "{i} known.", "Diagnosis: {i}.", "Pt has {i}.", "{i}, stable.", "Known case of {i}."),
        (
            "{i} tx w/ {d}.",
            "For {i}: {d}.",
            "{i}, treated with {d}.",
            "The treatment for {i} is {d}.",
            "Rx {d} for {i}.",
            "Takes {d} against {i}.",
        ),
        ("Rx {d}.", "{d} 1-0-1.", "Continue {d}.", "Takes {d}."),
        (
            "c/o {s}.",
            "Complains of {s}.",
            "Reports {s} for 2 wks.",
            "Pt has {s}.",
            "{s} since Monday.",
            "Symptoms: {s}.",
        ),
        ("Denies {x}.", "No {x}.", "{x}: none.", "No {x} today.", "Without {x}.", "Pt denies {x}."),
        ("No {x}, no {y}.", "Denies {x} and {y}.", "Denies {x}. No {y}.", "No {x} or {y}."),
        ("FH: mother had {i}.", "Father with {i}.", "Sister has {i}."),
        "Satisfaction {n}/5.",
        ("Check-up, nothing new.", "Came for a sick note.", "Routine visit, all well."),
        (
            "Vitals ok.",
            "BP 130/80.",
            "Labs pending.",
            "Sleeps poorly.",
            "f/u in 4 wks.",
            "Works as a teacher.",
            "Lives alone.",
            "HIV-.",
            "Phone call, then seen.",
            "Non-smoker.",
            "Wt stable.",
        ),
        " and ",
    ),
    "de": Style(
        ("Diagnose: {i}.", "{i} bekannt.", "Pat. hat {i}.", "Z.n. {i}, stabil."),
        ("{i}, Therapie mit {d}.", "Gegen {i}: {d}.", "Wegen {i} {d} verordnet."),
        ("{d} weiter.", "{d} 1-0-1.", "Therapie: {d}."),
        ("Klagt über {s}.", "Pat. hat {s}.", "{s} seit Montag.", "Beschwerden: {s}."),
        ("{k} {x}.", "{x} verneint.", "Ohne {x}.", "{x} wurde verneint.", "Derzeit {k} {x}."),
        ("{k} {x}, {l} {y}.", "{x} und {y} verneint."),
        ("FA: Mutter hatte {i}.", "Vater mit {i}."),
        "Zufriedenheit {n}/5.",
        ("Kontrolle, nichts Neues.", "AU gewünscht."),
        ("Vitalwerte o.B.", "RR 130/80.", "Labor folgt.", "WV in 4 Wo.", "HIV-.", "Nichtraucher.", "Lebt allein."),
        " und ",
    ),
}


@dataclass(frozen=True)
class ClinicPatient:
    """A patient: the number, w or m, the age in years, and the usual language of the notes."""

    number: int
    sex: str
    age: int
    language: str


@dataclass(frozen=True)
class ClinicNote:
    """A note, with its truth.

    Attributes:
        patient: whose it is.
        day: its date.
        ward: where it was written.
        language: "en" or "de".
        states: the illnesses, symptoms and drugs that it states of the patient.
        denies: the symptoms that it denies.
        satisfaction: a score of 1 to 5, if it has one.
        text: what is written.
    """

    patient: ClinicPatient
    day: date
    ward: str
    language: str
    states: frozenset[str]
    denies: frozenset[str]
    satisfaction: int | None
    text: str


@dataclass(frozen=True)
class Clinic:
    """The notes of a clinic, by date."""

    notes: tuple[ClinicNote, ...]

    @cached_property
    def people(self) -> dict[int, tuple[ClinicNote, ...]]:
        """The notes of each patient, by the patient's number."""
        notes_of: dict[int, list[ClinicNote]] = {}
        for note in self.notes:
            notes_of.setdefault(note.patient.number, []).append(note)
        return {number: tuple(notes) for number, notes in sorted(notes_of.items())}

    def write_csv(self, path: Path, day: str = "%d.%m.%Y") -> None:
        """Write the notes as the clinic exports them: German columns, dates such as 31.01.2026, no truth.

        Args:
            path: a file.
            day: the form of dates, of `strftime`.
        """
        with path.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(COLUMNS)
            for one in self.notes:
                whose = one.patient
                writer.writerow([whose.number, one.day.strftime(day), whose.sex, whose.age, one.ward, one.text])


def make_clinic(seed: int = 31) -> Clinic:
    """Return the clinic of a seed."""
    draw = random.Random(seed)
    ill, sexes, ages = _spread_illnesses(draw)
    germans = set(draw.sample(range(PATIENTS), GERMANS))
    notes: list[ClinicNote] = []
    for place, number in enumerate(_note_numbers(draw)):
        language = "de" if place in germans else "en"
        patient = ClinicPatient(1001 + place, sexes[place], ages[place], language)
        notes += _write_notes(draw, patient, _draw_things(draw, ill[place]), number)
    notes.sort(key=lambda note: (note.day, note.patient.number))
    return Clinic(tuple(notes))


def _note_numbers(draw: random.Random) -> list[int]:
    """Return the number of notes of each patient: 1 to 10, few have many, `NOTES` in all."""
    numbers, weights = [1] * PATIENTS, [draw.expovariate(1) + 0.3 for _ in range(PATIENTS)]
    while sum(numbers) < NOTES:
        (place,) = draw.choices(range(PATIENTS), weights)
        numbers[place] += numbers[place] < _MOST_NOTES
    return numbers


def _spread_illnesses(draw: random.Random) -> tuple[list[list[str]], list[str], list[int]]:
    """Return the illnesses, the sex and the age of each patient. Each illness has exactly its number of patients."""
    sexes = ["w" if place < 0.53 * PATIENTS else "m" for place in range(PATIENTS)]
    draw.shuffle(sexes)
    ages = [round(min(93, max(18, draw.gauss(52, 18)))) for _ in range(PATIENTS)]
    ill: list[list[str]] = [[] for _ in range(PATIENTS)]
    for name, illness in ILLNESSES.items():
        women = round(illness.women * illness.size)
        for sex, number in (("w", women), ("m", illness.size - women)):
            free = [
                place
                for place in range(PATIENTS)
                if sexes[place] == sex and len(ill[place]) < 4 and not APART.get(name, set()) & {*ill[place]}
            ]
            free.sort(key=lambda place: abs(ages[place] - illness.age) + 22 * len(ill[place]) + draw.gauss(0, 26))
            for place in free[:number]:
                ill[place].append(name)
    return ill, sexes, ages


def _draw_things(draw: random.Random, ill: Sequence[str]) -> dict[str, dict[str, bool]]:
    """Return what a patient has: for each illness, its symptoms and drugs; those without one are under ""."""
    things: dict[str, dict[str, bool]] = {"": {}}
    for name in ill:
        illness = ILLNESSES[name]
        things[name] = {one: True for one, part in illness.drugs.items() if draw.random() < part}
        things[""] |= {one: False for one, part in illness.symptoms.items() if draw.random() < part}
    things[""] |= {one: False for one, part in EVERYWHERE.items() if draw.random() < part}
    if "fever" in things[""] and draw.random() < 0.5:
        things[""]["paracetamol"] = True
    return things


def _some(draw: random.Random, places: Sequence[int], part: float) -> set[int]:
    """Return a part of the places, at least one."""
    return {one for one in places if draw.random() < part} or {draw.choice(places)}


def _write_notes(
    draw: random.Random, patient: ClinicPatient, things: Mapping[str, Mapping[str, bool]], number: int
) -> list[ClinicNote]:
    """Return the notes of a patient. All that the patient has stands in at least one of them."""
    days = sorted(FIRST + timedelta(draw.randrange(DAYS)) for _ in range(number))
    usual = draw.choices(WARDS, (5, 4, 2))[0]
    ill: list[list[tuple[str, str]]] = [[] for _ in range(number)]  # an illness with a drug, or with none
    loose: list[list[str]] = [[] for _ in range(number)]
    for name, own in things.items():
        where = sorted(_some(draw, range(number), 0.5)) if name else list(range(number))
        given = {drug: _some(draw, where, 0.5 if name else 0.25) for drug in own}
        for place in where if name else ():
            here = [drug for drug in own if place in given[drug]]
            ill[place] += [(name, drug) for drug in here] or [(name, "")]
        for thing in own if not name else ():
            for place in sorted(given[thing]):
                loose[place].append(thing)
    notes = []
    for place, day in enumerate(days):
        states = frozenset([*loose[place], *(one for pair in ill[place] for one in pair if one)])
        free = {one: weight for one, weight in DENIED.items() if one not in states}
        denies: dict[str, None] = {}
        for _ in range(draw.choices((0, 1, 2), (6, 3, 2))[0]):
            denies[draw.choices(list(free), list(free.values()))[0]] = None
        language = patient.language if draw.random() < 0.95 else "en"
        score = draw.choices(range(1, 6), (1, 2, 4, 6, 3))[0] if draw.random() < 0.25 else None
        text = _write_text(draw, language, ill[place], loose[place], list(denies), score, "HIV+" in things)
        ward = usual if draw.random() < 0.8 else draw.choice(WARDS)
        notes.append(ClinicNote(patient, day, ward, language, states, frozenset(denies), score, text))
    return notes


def _write_text(
    draw: random.Random,
    language: str,
    ill: Sequence[tuple[str, str]],
    loose: Sequence[str],
    denies: Sequence[str],
    score: int | None,
    positive: bool,
) -> str:
    style = STYLES[language]

    def say(thing: str) -> str:
        return draw.choice((GERMAN if language == "de" else ENGLISH).get(thing, (thing,)))

    symptoms = [say(one) for one in loose if one not in DRUGS]
    draw.shuffle(symptoms)
    clauses = [
        draw.choice(style.treated if drug else style.illness).format(i=say(name), d=say(drug) if drug else "")
        for name, drug in ill
    ]
    clauses += [draw.choice(style.drug).format(d=say(one)) for one in loose if one in DRUGS]
    if symptoms:
        listed = style.joined.join([*filter(None, [", ".join(symptoms[:-1])]), symptoms[-1]])
        clauses.insert(draw.choice((0, len(clauses))), draw.choice(style.symptoms).format(s=listed))
    if denies:
        said = style.two_denials if len(denies) == 2 else style.denial
        names = dict(zip("xy", map(say, denies), strict=False)) | dict(
            zip("kl", (KEIN.get(one, "kein") for one in denies), strict=False)
        )
        clauses.append(draw.choice(said).format(**names))
    if draw.random() < 0.04:
        clauses.append(draw.choice(style.relative).format(i=say(draw.choice(("migraine", "diabetes", "asthma")))))
    if score is not None:
        clauses.append(style.satisfaction.format(n=score))
    if not clauses:
        clauses.append(draw.choice(style.nothing))
    fillers = [one for one in style.filler if one != "HIV-." or not positive]
    for one in draw.sample(fillers, draw.choice((0, 1, 1, 2))):
        clauses.insert(draw.randrange(len(clauses) + 1), one)
    text = " ".join(one[0].upper() + one[1:] if draw.random() < 0.8 else one for one in clauses)
    return mistype(draw, text) if draw.random() < 0.12 else text


def mistype(draw: random.Random, text: str) -> str:
    """Return a text in which two letters of one word changed places, or one letter is missing."""
    words = text.split(" ")
    long = [place for place, word in enumerate(words) if len(word) > 5 and word[:-1].isalpha()]
    if not long:
        return text
    place = draw.choice(long)
    word, at = words[place], draw.randrange(1, len(words[place]) - 3)
    swapped = word[:at] + word[at + 1] + word[at] + word[at + 2 :]
    words[place] = swapped if draw.random() < 0.5 else word[:at] + word[at + 1 :]
    return " ".join(words)

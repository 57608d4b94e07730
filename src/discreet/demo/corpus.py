"""A fictional hospital. Its diseases do not exist, so no language model knows the answers.

A disease has the same symptoms and treatment in all of its patients, like a condition that many people share. Names,
wordings and orders differ. The same seed gives the same bytes.
"""

import random
from collections.abc import Iterator
from dataclasses import dataclass

from discreet.retrieval.documents import Document


@dataclass(frozen=True)
class Disease:
    """A fictional disease: its name, four symptoms and a treatment."""

    name: str
    symptoms: tuple[str, str, str, str]
    treatment: str


DISEASES = (
    Disease(
        "Copper Lung",
        ("a metallic taste", "a dry cough at night", "blue fingertips", "a ringing cough"),
        "salt steam",
    ),
    Disease(
        "Glass Knee",
        ("clicking knees", "a cold shin", "stiff mornings", "a limp after sunset"),
        "amber wraps",
    ),
    Disease(
        "Marsh Fever",
        ("green spots on the arms", "chills at noon", "a craving for vinegar", "damp hair"),
        "willow bark baths",
    ),
    Disease(
        "Velvet Tongue",
        ("a furry tongue", "loss of the taste of sugar", "slow speech", "a sweet breath"),
        "mint rinses",
    ),
    Disease(
        "Clock Sleep",
        ("waking at three every night", "counting in dreams", "heavy eyelids at dawn", "yawning in pairs"),
        "evening light therapy",
    ),
    Disease(
        "Paper Skin",
        ("skin that rustles", "cuts that do not bleed", "pale ears", "a fear of wind"),
        "olive oil compresses",
    ),
    Disease(
        "Red Echo",
        ("hearing every word twice", "red earlobes", "pressure behind the eyes", "hiccups at loud sounds"),
        "wool ear caps",
    ),
    Disease(
        "Silver Stomach",
        ("a humming stomach", "a dislike of bread", "cold sweat after meals", "silver spots on the nails"),
        "charcoal tea",
    ),
    Disease(
        "Lantern Eye",
        ("eyes that glow in the dark", "watering eyes", "headaches under the moon", "a dislike of candles"),
        "smoked glasses",
    ),
    Disease(
        "Feather Bone",
        ("light bones", "floating in the bath", "aching elbows", "thin wrists"),
        "lead blankets",
    ),
    Disease(
        "Winter Hand",
        ("white hands", "numb thumbs", "frost on the nails", "a weak grip"),
        "ginger gloves",
    ),
    Disease(
        "Thunder Heart",
        ("a pulse that rumbles", "sparks when touched", "a tight chest before storms", "restless feet"),
        "copper bracelets",
    ),
)

_FIRST = [
    "Ada",
    "Bela",
    "Cora",
    "Dario",
    "Edda",
    "Fabio",
    "Greta",
    "Hugo",
    "Ilse",
    "Jonas",
    "Katja",
    "Leon",
    "Mira",
    "Nils",
    "Olga",
    "Pavel",
    "Quinn",
    "Rosa",
    "Sven",
    "Tilda",
    "Ugo",
    "Vera",
    "Wanda",
    "Xenia",
    "Yara",
    "Zeno",
    "Anton",
    "Berta",
    "Carlo",
    "Dora",
    "Emil",
    "Frida",
    "Gino",
    "Hanna",
    "Ivo",
    "Jutta",
    "Karl",
    "Lotte",
    "Marko",
    "Nadja",
]
_LAST = [
    "Abendroth",
    "Bergmann",
    "Castellan",
    "Dorfner",
    "Eschenbach",
    "Falkner",
    "Grunwald",
    "Hollander",
    "Ivarsen",
    "Jorgens",
    "Kestrel",
    "Lindqvist",
    "Moravec",
    "Nordahl",
    "Ostermann",
    "Pellegrin",
    "Quast",
    "Rosendal",
    "Steinbach",
    "Tavernier",
    "Ullmann",
    "Vandenberg",
    "Wexler",
    "Yllander",
    "Zimmerli",
    "Almqvist",
    "Brandvold",
    "Corvin",
    "Dahlberg",
    "Eriksen",
    "Fontane",
    "Gerhardt",
    "Hartwig",
    "Isaksen",
    "Jansky",
    "Kowalik",
]
_OPENINGS = (
    "My name is {name}, and I have {symptoms}.",
    "I am {name}. For some weeks I have had {symptoms}.",
    "{name} came to the clinic with {symptoms}.",
    "This is {name} writing: I noticed {symptoms}.",
    "Patient {name} reports {symptoms}.",
    "{name} was seen today and complains of {symptoms}.",
)
_FINDINGS = (
    "The doctor found that the disease is {disease} and prescribed {treatment}.",
    "After the examination, the diagnosis is {disease}. The treatment is {treatment}.",
    "Doctor: the disease is {disease}; the treatment for {disease} is {treatment}.",
    "The diagnosis is {disease}, and the treatment is {treatment}.",
)
_CLOSINGS = ("", "", " A visit in {weeks} weeks was arranged.", " {name} was asked to rest for {weeks} weeks.")


def documents(patients: int = 1200, seed: int = 7) -> Iterator[Document]:
    """Yield one note for each of `patients` patients, with the diseases in turn. The unit is the patient's name."""
    choose = random.Random(seed)  # the corpus is public, so it may be reproducible
    names = [f"{first} {last}" for first in _FIRST for last in _LAST]
    choose.shuffle(names)
    if patients > len(names):
        raise ValueError(f"patients is {patients}, but there are only {len(names)} names. Give at most {len(names)}.")
    for number, name in enumerate(names[:patients]):
        disease = DISEASES[number % len(DISEASES)]
        yield Document(id=f"note-{number:05d}", unit=name, text=_note(name, disease, choose))


def _note(name: str, disease: Disease, choose: random.Random) -> str:
    symptoms = choose.sample(disease.symptoms, choose.choice((3, 4)))
    parts = (choose.choice(_OPENINGS), " ", choose.choice(_FINDINGS), choose.choice(_CLOSINGS))
    return "".join(parts).format(
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


QUESTIONS = (
    DemoQuestion(
        "I have white hands, numb thumbs and a weak grip. What is the disease?",
        "The disease is",
        ("Winter Hand",),
        "a question that many patients' notes answer together",
    ),
    DemoQuestion(
        "What is the treatment for Thunder Heart?",
        "The treatment is",
        ("copper bracelets",),
        "another such question",
    ),
    DemoQuestion(
        "Which patient has Marsh Fever? Give a name.",
        "The name of the patient is",
        (),
        "a question about one person: an answer would be a leak",
    ),
)

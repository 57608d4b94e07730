"""Open questions in German, French and Spanish become English ones, and no question becomes another one."""

import pytest

from discreet.config import VaultConfig
from discreet.query.in_english import in_english, stand_in
from discreet.query.question_kinds import recognise
from discreet_lab.experiments.first_hour_questions import QUESTIONS
from tests.query.request_wordings_foreign import FOREIGN

MADE = {
    "What is the treatment for {x}?": (
        "Welche Behandlung gibt es bei {x}?",
        "Was ist die Behandlung für {x}?",
        "Wie wird {x} behandelt?",
        "Was hilft gegen {x}?",
        "Welche Medikamente bekommen Patienten mit {x}?",
        "Was wird bei {x} verschrieben?",
        "Quel est le traitement de {x} ?",
        "Comment traite-t-on {x} ?",
        "Comment {x} est-il traité ?",
        "Que prescrit-on contre {x} ?",
        "Quels médicaments sont prescrits contre {x} ?",
        "¿Cuál es el tratamiento de {x}?",
        "¿Cómo se trata {x}?",
        "¿Qué se receta contra {x}?",
        "¿Qué tratamiento reciben los pacientes con {x}?",
        "¿Qué ayuda contra {x}?",
    ),
    "Name one symptom of {x}.": (
        "Nenne ein Symptom von {x}.",
        "Nenne mir ein typisches Symptom der {x}.",
        "Was ist ein häufiges Symptom von {x}?",
        "Citez un symptôme de {x}.",
        "Donnez-moi un symptôme fréquent de {x}.",
        "Quel est un symptôme de {x} ?",
        "Nombra un síntoma de {x}.",
        "Dime uno de los síntomas de {x}.",
        "¿Cuál es un síntoma frecuente de {x}?",
    ),
    "Is {x} treated with cold tea?": (
        "Wird {x} mit cold tea behandelt?",
        "Est-ce que {x} est traité par cold tea ?",
        "¿Se trata {x} con cold tea?",
    ),
    "Does cold tea help against {x}?": (
        "Hilft cold tea gegen {x}?",
        "Est-ce que cold tea aide contre {x} ?",
        "¿Ayuda cold tea contra {x}?",
    ),
}
SETTINGS = VaultConfig(2, 1.0, 1e-6, "patient", "smollm2-135m", "minilm+words", False, "unit")
OTHERS = (
    "Wie wird diese Krankheit behandelt?",
    "Wie wird Herr Keller behandelt?",
    "Was hilft meiner Mutter?",
    "Welche Behandlung gibt es bei Zonkitis und Burpdynia?",
    "Welche Behandlung gibt es nicht bei Zonkitis?",
    "Welche Krankheit verursacht Fieber und Husten?",
    "Wie viel kostet die Behandlung von Zonkitis?",
    "Quel est le traitement de Zonkitis sans Blerpox ?",
    "Quelle est la capitale de la France ?",
    "Comment Madame Dupont est-elle traitée ?",
    "¿Cuál es el tratamiento de esta enfermedad?",
    "¿Cómo se trata la señora Ruiz?",
    "Wie wird Patient 17 behandelt?",
    "Nenne ein Symptom der Patientin Schmidt.",
    "¿Se trata la paciente 17 con aceite?",
    "Citez un symptôme de la patiente Dupont.",
    "Citez un symptôme de M. Dupont.",
    "Comment traite-t-on l'employé numéro 12 ?",
    "Wie wird Fräulein Müller behandelt?",
    "¿Cómo se trata don Juan García?",
    "Wie wird Winterhand bei Anna Schmidt behandelt?",
    "wird " + "x mit " * 12_000 + "y behandelt?",
    "What is the treatment for Zonkitis?",
    "Is Zonkitis treated with tea?",
    "",
    "?",
)


@pytest.mark.parametrize(("made", "given"), [(made, one) for made, given in MADE.items() for one in given])
@pytest.mark.parametrize("name", ["Zonkitis", "Winter Hand"])
def test_question_keeps_its_subject(made: str, given: str, name: str) -> None:
    assert in_english(given.format(x=name)) == made.format(x=name)
    assert not recognise(made.format(x=name), unit="patient").advice


@pytest.mark.parametrize("question", OTHERS)
def test_in_doubt_no_question_is_made(question: str) -> None:
    assert not in_english(question)


def test_statistics_stay_in_their_language() -> None:
    asked = [one.format(c="fever") for _, one, _ in FOREIGN]
    assert len(asked) > 100
    assert [one for one in asked if stand_in(one, SETTINGS, "en") != one] == []


def test_english_questions_stay() -> None:
    english = [one.text for one in QUESTIONS if not one.text.startswith(("Welche Behandlung", "Quel est"))]
    assert len(english) == 28
    assert [one for one in english if in_english(one)] == []


def test_a_model_of_many_languages_gets_the_question() -> None:
    assert stand_in("Wie wird Zonkitis behandelt?", SETTINGS, "") == "Wie wird Zonkitis behandelt?"
    assert stand_in("Wie wird Zonkitis behandelt?", SETTINGS, "en") == "What is the treatment for Zonkitis?"

"""Questions in German, French and Spanish as requests."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import CannotAnswer
from discreet.questions.foreign import foreign_slots
from discreet.questions.request import Request
from discreet.questions.sentences import nouns_of
from discreet.questions.understanding import read_foreign

FIELDS = {
    "sex": "category(w=women/female, m=men/male)",
    "age": "number",
    "visit": "date",
    "team": "category(sales, legal)",
}
NOUNS = nouns_of("patient", tuple(FIELDS))

WORDINGS = (
    ("Wie viele Patienten haben Winter Hand?", 'count: "Winter Hand"@de'),
    ("Anzahl der Patienten ohne Fieber", 'count: not "Fieber"@de'),
    ("Wie viele Patienten gibt es?", "count: all"),
    ("Wie viele Patienten vertragen kein Penicillin?", 'count: not "vertragen Penicillin"@de'),
    ("Wie viele Patienten mit Diabetes klagen über Husten?", 'count: "Husten"@de, among "Diabetes"@de'),
    ("Wie viele Patienten haben Fieber, aber keinen Husten?", 'count: "Fieber"@de and not "Husten"@de'),
    (
        "Wie viele Frauen über 60 hatten im März 2026 eine Grippe?",
        'count: "Grippe"@de, among sex = w and age > 60 and visit = 2026-03',
    ),
    ("Wie hoch ist der Anteil der Raucher unter den Patienten mit COPD?", 'share: "Raucher"@de, among "COPD"@de'),
    ("Wie hoch ist der Anteil der Frauen?", "share: sex = w"),
    ("Wie häufig ist Haarausfall bei Chemotherapie?", 'share: "Haarausfall"@de, among "Chemotherapie"@de'),
    ("Nenne die fünf häufigsten Diagnosen bei Frauen.", "list: diagnoses, most 5, among sex = w"),
    ("Grippe pro Quartal", 'trend: "Grippe"@de, by quarter'),
    ("Combien de patients toussent sans avoir d'asthme ?", 'count: "toussent"@fr and not "asthme"@fr'),
    ("Combien d'hommes n'ont pas de fièvre ?", 'count: not "fièvre"@fr, among sex = m'),
    ("Combien de locataires ont les mains sales ?", 'count: "mains sales"@fr'),
    ("Combien de patients de plus de 60 ans ont une arthrose ?", 'count: "arthrose"@fr, among age > 60'),
    ("Parmi les patients dialysés, combien fument ?", 'count: "fument"@fr, among "dialysés"@fr'),
    ("Quelle part des clients se plaint du prix ?", 'share: "plaint du prix"@fr'),
    ("Quels sont les effets secondaires du méthotrexate ?", 'list: side effects, among "méthotrexate"@fr'),
    ("Combien de patients ont la grippe par mois ?", 'trend: "grippe"@fr, by month'),
    ("¿Cuántos pacientes no tienen fiebre?", 'count: not "fiebre"@es'),
    ("¿Cuántas mujeres tuvieron gripe desde 2025?", 'count: "gripe"@es, among sex = w and visit >= 2025'),
    ("¿Qué porcentaje de los pacientes con asma roncan?", 'share: "roncan"@es, among "asma"@es'),
    ("¿Con qué frecuencia aparece tos con los opioides?", 'share: "tos"@es, among "opioides"@es'),
    ("¿Qué síntomas presentan los pacientes con dengue?", 'list: symptoms, among "dengue"@es'),
)
NONE = (
    "How many patients have fever?",
    "Welche Behandlung hilft bei Asthma?",
    "Welche Patienten haben Fieber?",
    "Welche Symptome hat Frau Müller?",
    "Wie viele Patienten haben mehr Schmerzen als vorher?",
    "Wie viele Patienten haben im letzten Jahr Fieber gehabt?",
    "Wie viele Tage dauert eine Grippe?",
    "Combien de comprimés par jour ?",
    "Quels employés ont démissionné ?",
    "¿Qué empleados renunciaron?",
    "¿Cuántos pacientes fuman desde hace más de 10 años?",
    "¿Cuántas mujeres o hombres roncan?",
)


@pytest.mark.parametrize(("question", "wanted"), WORDINGS)
def test_question_is_the_request(question: str, wanted: str) -> None:
    assert str(_read(question)).split(" (")[0] == wanted


@pytest.mark.parametrize("question", NONE)
def test_other_question_is_no_request(question: str) -> None:
    assert _read(question) is None


@pytest.mark.parametrize(
    "question", ["Wie viele Patienten haben Brust- und Rückenschmerzen?", "Wie viele haben 3 Zähne?"]
)
def test_part_that_would_be_lost_is_refused(question: str) -> None:
    with pytest.raises(CannotAnswer):
        _read(question)


@given(st.lists(st.sampled_from("wie viele de la die haben nicht ohne con más , combien quels mit x le plus".split())))
def test_reading_takes_no_long_time(words: list[str]) -> None:
    start = time.process_time()
    foreign_slots(" ".join(words * 5), NOUNS)
    assert time.process_time() - start < 1


def _read(question: str) -> Request | None:
    return read_foreign(question, FIELDS, NOUNS)

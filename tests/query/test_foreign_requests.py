"""Requests in German, French and Spanish, and the phrases that they are about."""

import time
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.algorithms.statistics.count import Count
from discreet.algorithms.statistics.phrase import Phrase
from discreet.config import VaultConfig
from discreet.errors import CannotAnswer, UnknownName
from discreet.query.requests import Wording, request_of
from discreet.query.requests.foreign import foreign_request
from discreet.query.slots import check_plain
from discreet.query.statistics import build_statistic, statistic_asked
from discreet.retrieval.unit_records import UnitRecord
from tests.query.request_wordings import COMPARISONS, COUNTS, LISTS, SHARES, TRENDS, TYPICAL
from tests.query.request_wordings_foreign import FOREIGN, NONE

SETTINGS = VaultConfig(
    version=1,
    epsilon=20.0,
    delta=1e-6,
    unit_field="patient",
    model="smollm2-135m",
    embedder="hashing",
    log_questions=False,
    payment="unit",
)


@pytest.mark.parametrize(("language", "question", "wanted"), FOREIGN)
def test_request_in_another_language(language: str, question: str, wanted: Wording) -> None:
    assert request_of(question, "patient") == wanted
    assert statistic_asked(question, SETTINGS) == wanted


def test_each_kind_has_five_wordings_in_each_language() -> None:
    found = Counter((language, wanted.kind) for language, _, wanted in FOREIGN)
    assert len(found) == 3 * 6
    assert min(found.values()) >= 5


@pytest.mark.parametrize("question", NONE)
def test_other_question_is_no_request(question: str) -> None:
    assert foreign_request(question, "patient") is None


@pytest.mark.parametrize(
    "question", [one[1] for part in (COUNTS, SHARES, LISTS, COMPARISONS, TRENDS, TYPICAL) for one in part]
)
def test_english_question_is_in_no_other_language(question: str) -> None:
    assert foreign_request(question, "patient") is None


def test_unit_is_counted_by_the_word_of_the_vault() -> None:
    assert foreign_request("Wie viele Schiffe lecken?", "schiff") is None
    found = foreign_request("Wie viele Schiffe haben Lecks?", "schiff")
    assert found == Wording("count", condition="Lecks", language="de")
    assert foreign_request("Wie viele Schiffe haben Lecks?", "(.*") is None


def test_field_is_known_by_its_own_name() -> None:
    found = foreign_request("Was ist das mittlere Alter der Patienten mit Fieber?", "patient", ("alter",))
    assert found is not None
    assert found.attribute == "alter"


@pytest.mark.parametrize(
    "question", ["Wie viele Patienten haben 40 Grad Fieber?", "Combien de patients ont 3 enfants ?"]
)
def test_number_in_a_phrase_is_refused(question: str) -> None:
    request = statistic_asked(question, SETTINGS)
    assert request is not None
    with pytest.raises(CannotAnswer):
        check_plain(build_statistic(request, SETTINGS, {}, None, question), question)


# --- phrases ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("language", "phrase", "text", "holds"),
    [
        ("de", "Fieber", "Sie hat seit Tagen Fieber.", True),
        ("de", "Fieber", "Kein Fieber.", False),
        ("de", "Fieber", "Der Patient ist ohne hohes Fieber.", False),
        ("de", "Fieber", "Fieber wurde verneint.", False),
        ("de", "Fieber", "Fieber trat nicht auf.", False),
        ("de", "Fieber", "Kein Husten, aber Fieber.", True),
        ("de", "kein Fieber", "Sie hat kein Fieber.", True),
        ("de", "ohne Fieber", "Sie hat Fieber.", False),
        ("de", "taube Daumen", "Er kam mit tauben Daumen.", True),
        ("de", "Schmerzen in der Hand", "Starke Schmerzen der linken Hand.", True),
        ("fr", "fièvre", "Elle a de la fièvre.", True),
        ("fr", "fièvre", "Patient sans fièvre.", False),
        ("fr", "fièvre", "Elle n'a pas de fièvre.", False),
        ("fr", "fièvre", "Absence de fièvre.", False),
        ("fr", "fièvre", "Pas de toux, mais fièvre.", True),
        ("fr", "l'asthme", "Il souffre d'asthme.", True),
        ("fr", "asthme", "L\u2019asthme est ancien.", True),
        ("es", "fiebre", "Tiene fiebre alta.", True),
        ("es", "fiebre", "Acude sin fiebre.", False),
        ("es", "fiebre", "No tiene fiebre.", False),
        ("es", "fiebre", "Niega fiebre.", False),
        ("es", "manos blancas", "La mano blanca.", True),
        ("", "fever", "No fever.", False),
        ("en", "fever", "Sans fever.", True),
    ],
)
def test_phrase_holds_in_its_language(language: str, phrase: str, text: str, holds: bool) -> None:
    assert Phrase(phrase, language=language).holds(UnitRecord((text,))) == holds


def test_language_that_is_not_known_is_refused() -> None:
    with pytest.raises(UnknownName):
        Phrase("febbre", language="it")


def test_language_sets_statistics_apart() -> None:
    english, other = Count(condition="fever"), Count(condition="fever", language="de")
    assert english.set_apart == Count(condition="Fever", language="en").set_apart
    assert english.set_apart != other.set_apart


# --- any text ---------------------------------------------------------------------------------------------------------

_PARTS = (
    "wie viele|Patienten|mit|haben|kein|häufiger|als|bei|und|pro Monat|welche|Symptome|combien de|patients|"
    "ont|sans|que|par mois|quels|cuántos|pacientes|con|tienen|más frecuente|por mes|Fieber|fièvre|fiebre|X|,|¿"
)


@given(st.lists(st.sampled_from(_PARTS.split("|")), max_size=30).map(" ".join))
def test_any_order_of_foreign_words_is_parsed(question: str) -> None:
    found = foreign_request(question, "patient")
    if found:
        assert found.kind != "compare" or len(found.groups) == 2
        assert found.kind not in ("list", "typical") or found.attribute
        assert found.kind != "share" or found.condition
        build = (found.population, found.condition, found.attribute)
        assert not any(one != one.strip() for one in build)


@pytest.mark.parametrize("word", ["a", "und ", "bei x häufiger als ", "wie viele patienten mit ", "que ", "con ", "' "])
@pytest.mark.parametrize("start", ["", "ist ", "combien de patients avec ", "¿es ", "welche "])
def test_long_foreign_text_is_parsed_at_once(start: str, word: str) -> None:
    before = time.process_time()
    foreign_request((start + word * 300)[:299], "patient")
    assert time.process_time() - before < 1


@pytest.mark.parametrize(
    ("question", "population", "condition", "negated"),
    [
        ("Wie viele Patienten mit Fieber haben keinen Husten?", "Fieber", "Husten", True),
        ("Wie viele Patienten ohne Fieber haben Husten?", "ohne Fieber", "Husten", False),
        ("Combien de patients avec de la fièvre n'ont pas de toux ?", "fièvre", "toux", True),
        ("¿Cuántos pacientes con fiebre no tienen tos?", "fiebre", "tos", True),
    ],
)
def test_set_and_denied_condition_are_exact(question: str, population: str, condition: str, negated: bool) -> None:
    request = request_of(question, "patient")
    assert request is not None
    assert (request.population, request.condition, request.negated) == (population, condition, negated)
    built = build_statistic(request, SETTINGS, {}).parts["condition"]
    assert built == (f'not "{condition}"@{request.language}' if negated else condition)

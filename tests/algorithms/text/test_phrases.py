"""Phrases in a text: which denial is about a phrase, and which is about the thing after it."""

import unicodedata
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.algorithms.text.phrases import LANGUAGES, is_denied_in, sentences_of, tongue_of
from discreet.statistics.phrase import Phrase
from discreet.store.unit_records import UnitRecord
from tests.cases import read_cases

CASES = read_cases(__file__)
Form = Literal["NFC", "NFD"]


@pytest.mark.parametrize(
    ("phrase", "text", "language"),
    [
        ("Winter Hand", "She has Winter Hand and denies fever.", ""),
        ("Winter Hand", "She has Winter Hand without fever.", ""),
        ("Winter Hand", "Diagnosis Winter Hand, no fever.", ""),
        ("Winter Hand", "Winter Hand but not a rash.", ""),
        ("asthma", "Asthma, aber kein Fieber.", ""),  # an English phrase in a German note
        ("asthma", "Asthma oder nicht Fieber.", ""),
        ("Winterhand", "Sie hat Winterhand ohne Fieber.", "de"),
        ("Winterhand", "Sie hat Winterhand aber kein Fieber.", "de"),
        ("Fieber", "Sie hat noch Fieber.", "de"),
        ("asthme", "Patient avec asthme sans fi\u00e8vre.", "fr"),
        ("asthme", "Il a un asthme mais pas de toux.", "fr"),
        ("asma", "Paciente con asma sin fiebre.", "es"),
        ("asma", "Tiene asma y niega fiebre.", "es"),
    ],
)
def test_denial_of_the_next_finding_leaves_a_phrase(phrase: str, text: str, language: str) -> None:
    assert Phrase(phrase, language=language).holds(UnitRecord((text,)))


@pytest.mark.parametrize(
    ("phrase", "text", "language"),
    CASES["denial_of_a_phrase_is_still_found"],
)
def test_denial_of_a_phrase_is_still_found(phrase: str, text: str, language: str) -> None:
    assert not Phrase(phrase, language=language).holds(UnitRecord((text,)))


def test_german_denial_of_an_english_value() -> None:
    assert is_denied_in(sentences_of("Kein Asthma bekannt."), "asthma")
    assert not is_denied_in(sentences_of("Dr Nie saw asthma in the ward."), "asthma")  # a name


@pytest.mark.parametrize("language", LANGUAGES)
def test_tongue_denies_forward_by_some_of_its_negations(language: str) -> None:
    known = tongue_of(language)
    assert known.forward < known.negations
    assert not known.joins & known.negations


@pytest.mark.parametrize(
    ("phrase", "text", "language"),
    [
        ("fi\u00e8vre", "Elle a de la fi\u00e8vre.", "fr"),
        ("caf\u00e9", "He drinks caf\u00e9 daily.", ""),
        ("Caf\u00e9. Am\u00e9lie", "He liked Caf\u00e9. Am\u00e9lie a lot.", ""),
    ],
)
@pytest.mark.parametrize("forms", [("NFC", "NFD"), ("NFD", "NFC"), ("NFD", "NFD")], ids="/".join)
def test_letter_is_found_in_each_form(phrase: str, text: str, language: str, forms: tuple[Form, Form]) -> None:
    asked, read = (unicodedata.normalize(form, one) for form, one in zip(forms, (phrase, text), strict=True))
    assert Phrase(asked, language=language).holds(UnitRecord((read,)))
    assert Phrase(asked, language=language).decides == Phrase(phrase, language=language).decides


def test_denial_in_composed_letters_denies() -> None:
    record = UnitRecord((unicodedata.normalize("NFD", "Jam\u00e1s fiebre."),))
    assert not Phrase("fiebre", language="es").holds(record)
    assert Phrase(unicodedata.normalize("NFD", "jam\u00e1s fiebre"), language="es").denies


@given(st.sampled_from(LANGUAGES), st.text(st.characters(categories=["L", "N"]), min_size=1, max_size=12))
def test_a_word_begins_with_its_stem(language: str, word: str) -> None:
    """A first look at the letters of a text, or of a sentence, relies on it."""
    assert word.startswith(tongue_of(language).stem(word))


@pytest.mark.parametrize(
    ("text", "denied", "stated"),
    CASES["list_is_denied_to_its_end"],
)
def test_list_is_denied_to_its_end(text: str, denied: str, stated: str) -> None:
    record = UnitRecord((text,))
    assert not [one for one in denied.split() if Phrase(one).holds(record)]
    assert all(Phrase(one).holds(record) for one in stated.split())


@pytest.mark.parametrize(
    ("text", "of_another", "of_the_individual", "language"),
    CASES["what_a_relative_has_is_not_said_of_the_individual"],
)
def test_what_a_relative_has_is_not_said_of_the_individual(
    text: str, of_another: str, of_the_individual: str, language: str
) -> None:
    record = UnitRecord((text,))
    assert not [one for one in of_another.split() if Phrase(one, language).holds(record)]
    assert all(Phrase(one, language).holds(record) for one in of_the_individual.split())


def test_question_may_be_about_relatives() -> None:
    assert Phrase("mother had asthma").holds(UnitRecord(("Her mother had asthma.",)))

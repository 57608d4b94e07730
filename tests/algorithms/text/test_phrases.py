"""Phrases in a text: which denial is about a phrase, and which is about the thing after it."""

import unicodedata
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.algorithms.statistics.phrase import Phrase
from discreet.algorithms.text.phrases import LANGUAGES, is_denied_in, sentences_of, tongue_of
from discreet.retrieval.unit_records import UnitRecord

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
    [
        ("fever", "No fever and no rash.", ""),
        ("fever", "There is neither fever nor rash.", ""),
        ("rash", "There is neither fever nor rash.", ""),
        ("fever", "Fever is denied.", ""),
        ("fever", "Fever excluded, rash present.", ""),
        ("fever", "Fever was not found.", ""),
        ("fever", "Fever no, rash yes.", ""),
        ("fever", "Fever she denies and has a rash.", ""),
        ("asthma", "Kein Asthma.", ""),
        ("asthma", "Asthma nicht bekannt.", ""),
        ("Fieber", "Fieber wurde verneint.", "de"),
        ("Fieber", "Fieber nein, Husten ja.", "de"),
        ("Husten", "Weder Fieber noch Husten.", "de"),
        ("toux", "Ni fi\u00e8vre ni toux.", "fr"),
        ("fi\u00e8vre", "Elle n'a ni fi\u00e8vre ni toux.", "fr"),
        ("fiebre", "Fiebre no, tos s\u00ed.", "es"),
    ],
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
    [
        ("Denies nausea, vomiting and fever.", "nausea vomiting fever", ""),
        ("No nausea, vomiting or fever.", "nausea fever", ""),
        ("No cough or fever.", "cough fever", ""),
        ("No cough, fever since Monday.", "cough", "fever"),
        ("Denies cough but has fever.", "cough", "fever"),
        ("Denies cough, has a rash.", "cough", "rash"),
        ("Nausea: none. Fever: 39.", "nausea", "fever"),
        ("HIV: negative; rash", "HIV", "rash"),
    ],
)
def test_list_is_denied_to_its_end(text: str, denied: str, stated: str) -> None:
    record = UnitRecord((text,))
    assert not [one for one in denied.split() if Phrase(one).holds(record)]
    assert all(Phrase(one).holds(record) for one in stated.split())


@pytest.mark.parametrize(
    ("text", "of_another", "of_the_individual", "language"),
    [
        ("FH: asthma, diabetes. Fever today.", "asthma diabetes", "fever", ""),
        ("FH: mother had asthma. Pt has fever.", "asthma", "fever", ""),
        ("Her mother had diabetes and asthma, he has fever.", "diabetes asthma", "fever", ""),
        ("Strong family history of asthma.", "asthma", "", ""),
        ("Father with HIV+.", "HIV+", "", ""),
        ("Mother reports fever since Monday.", "", "fever", ""),
        ("Mother has noticed a rash.", "", "rash", ""),
        ("Brought in by her mother with fever and a cough.", "", "fever cough", ""),
        ("My mother has asthma, what can she take?", "", "asthma", ""),
        ("Lives with her mother. Has asthma.", "", "asthma", ""),
        ("Breastfeeding mother with mastitis.", "", "mastitis", ""),
        ("Patient is a mother with fever.", "", "fever", ""),
        ("Mother had to carry him due to fever.", "", "fever", ""),
        ("Mother has concerns about asthma.", "", "asthma", ""),
        ("Her father with asthma.", "asthma", "", ""),
        ("FA: Mutter hatte Asthma. Patient mit Fieber.", "Asthma", "Fieber", "de"),
        ("Familienanamnese: Asthma.", "Asthma", "", "de"),
        ("Sa mère avait un asthme.", "asthme", "", "fr"),
        ("La madre tiene asma. Paciente con fiebre.", "asma", "fiebre", "es"),
    ],
)
def test_what_a_relative_has_is_not_said_of_the_individual(
    text: str, of_another: str, of_the_individual: str, language: str
) -> None:
    record = UnitRecord((text,))
    assert not [one for one in of_another.split() if Phrase(one, language).holds(record)]
    assert all(Phrase(one, language).holds(record) for one in of_the_individual.split())


def test_question_may_be_about_relatives() -> None:
    assert Phrase("mother had asthma").holds(UnitRecord(("Her mother had asthma.",)))

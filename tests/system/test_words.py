"""The word for one individual."""

import pytest

from discreet.system.words import unit_word


@pytest.mark.parametrize(
    ("field", "word"),
    [
        ("patient", "patient"),
        ("patient_id", "patient"),
        ("Case No", "Case"),
        ("business", "business"),
        ("citizen", "citizen"),
        ("patients", "unit"),
        ("Customers ID", "unit"),
        ("Patienten Nr", "unit"),
        ("Kunden-ID", "unit"),
        ("id", "id"),
        ("_id", "unit"),
    ],
)
def test_word_of_a_field_names_one_individual(field: str, word: str) -> None:
    assert unit_word(field) == word

"""Values that a model misspelled get the words of their text, and no others."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.algorithms.text.normalize import words_of
from discreet.synthesis.statements import as_written
from discreet.testing.settings import QUICK

TEXT = (
    "Ada has Snurflesauce Overdosis, type 2. "
    "The treatment is the Suddenly Splendid Medicine SSM, 20 mg, not the tea. Hypertension found."
)


@pytest.mark.parametrize(
    ("value", "written"),
    [
        ("sudden splendid medicine ssm", "suddenly splendid medicine ssm"),
        ("snurflesauce overdance", "snurflesauce overdosis"),
        ("Suddenly Splendid Medicine", "Suddenly Splendid Medicine"),
        ("the tea", "the tea"),
        ("type 3", ""),
        ("splendid medicines", "splendid medicine"),
        ("20 kg", ""),
        ("25 mg", ""),
        ("snurflesauce fever", ""),
        ("the teapot", ""),
        ("overdance", ""),
        ("not the treaty", ""),
        ("hyperthyroidism found", ""),
        ("", ""),
    ],
)
def test_value_is_copied_from_the_text(value: str, written: str) -> None:
    assert as_written(value, TEXT) == written


@QUICK
@given(st.lists(st.sampled_from("cold tea teas warm water waters 20 25 mg the fever feverish".split()), max_size=6))
def test_result_is_in_the_text_or_nothing(words: list[str]) -> None:
    text = "Warm waters and 20 mg of cold teas for the feverish."
    found = as_written(" ".join(words), text)
    assert set(words_of(found)) <= set(words_of(text))
    assert as_written(found, text) == found


def test_numbers_are_never_replaced() -> None:
    assert as_written("dose of 20mg tablets", "a dose of 25mg tablets") == ""

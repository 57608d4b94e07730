"""A phrase is found fast, and found where the slow definition finds it."""

import gzip
import json
import random
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.algorithms.text.phrases import LANGUAGES, split_sentences
from discreet.demo.corpus import documents
from discreet.errors import UsageError
from discreet.statistics.phrase import Phrase
from discreet.store.unit_records import UnitRecord
from discreet.system.words import as_read
from tests.algorithms.statistics import slow_phrase

DATA = sorted((Path(__file__).resolve().parents[4] / "shared" / "data").glob("*/documents.jsonl*"))
"""Data sets beside the checkout; none elsewhere."""
ODD = (
    *("\u00ad", "\u200b", "\ufeff", "\u00a0", "\ufb01", "\u0301", "\u2019s ", "\u017ft. ", "\u0130", "\u2028"),
    *("-\n", "\u2010 \n ", "-\r\n", "- ", "\n", "  ", ". ", ".", ": ", "; ", ";", " (", ") ", ".)", "?!", ", ", "..."),
    *("FH: ", "family history of ", " mother had ", "my father with ", " Mutter hatte ", " has seen ", "by her "),
    *("no ", " not", " denied ", "without ", "kein ", " ni ", "Mr. ", "St. ", " and ", " or ", " the ", "+", "/", "A "),
)
PHRASES = (
    *("HIV+", "hepatitis A", "on dialysis", "heart disease", "blood pressure", "no fever", "without pain", "self-harm"),
    *("cuts that do not bleed", "Dr. Smith", "L.A. Confidential", "Heat: Part Two", "C++", "R&D", "CD4 < 2"),
    *("hives", "HIV", "pets", "PETs", "on PET", "a PET for AIDS", "hearing aids", "HIVES AND PETS", "WINTER HANDS"),
)
WORDS = (
    *("fever", "Fevers", "hand", "hands", "winter", "HIV", "hepatitis", "A", "a", "bleed", "bleeding", "do", "Smith"),
    *("hives", "HIVES", "hiv", "HIVs", "PET", "PETs", "pets", "AIDS", "aid", "HANDS", "WINTER", "FEVERS"),
)
TEXTS = st.lists(st.sampled_from((*WORDS, *ODD, " ", " ", " ")) | st.text(max_size=4), max_size=24).map("".join)


def phrase_of(text: str, language: str = "") -> Phrase | None:
    try:
        return Phrase(text, language)
    except UsageError:
        return None


def check(phrase: Phrase, text: str) -> None:
    assert phrase.holds(UnitRecord((text,))) == (slow_phrase.says(phrase, text) != phrase.denies), (phrase, text)


@pytest.mark.parametrize("said", ["denied fever", "denied HIV+", "not on dialysis"])
def test_a_phrase_that_denies_counts_no_one_who_has_the_thing(said: str) -> None:
    thing = said.split(maxsplit=1)[1]
    assert not Phrase(said).holds(UnitRecord((f"She has {thing}.",)))
    assert Phrase(said).holds(UnitRecord((f"She denied {thing}.",)))
    assert Phrase(said).holds(UnitRecord(("She has a cough.",)))


@given(TEXTS, st.sampled_from(PHRASES) | TEXTS, st.sampled_from(("", *LANGUAGES)))
def test_odd_texts_say_what_the_definition_finds(text: str, said: str, language: str) -> None:
    if said and (phrase := phrase_of(said, language)):
        check(phrase, text)
        check(phrase, f"{text} {said}{text}")


@given(TEXTS)
def test_text_is_read_and_cut_as_by_the_definition(text: str) -> None:
    assert as_read(text) == slow_phrase.read(text)
    assert split_sentences(text) == slow_phrase.split(text)


def test_notes_of_the_hospital_say_what_the_definition_finds() -> None:
    check_all([one.text for one in documents()], random.Random(1))


@pytest.mark.parametrize("path", DATA, ids=lambda path: path.parent.name)
def test_data_set_says_what_the_definition_finds(path: Path) -> None:
    with gzip.open(path, "rt") if path.suffix == ".gz" else path.open() as lines:
        check_all([json.loads(line)["text"] for line in lines], random.Random(2))


def check_all(texts: list[str], rng: random.Random) -> None:
    """Check some texts, and the same with odd signs, by phrases of some of them."""
    plain = rng.sample(texts, min(len(texts), 30))
    chosen = [*plain, *(made_odd(one, rng) for one in plain)]
    pieces = (rng.choice(chosen).split() for _ in range(30))
    said = [" ".join(one[(at := rng.randrange(len(one))) : at + rng.choice((1, 1, 2, 3))]) for one in pieces if one]
    for text in (*PHRASES, *said):
        if phrase := phrase_of(text, rng.choice(("", "", *LANGUAGES))):
            for one in chosen:
                check(phrase, one)


def made_odd(text: str, rng: random.Random) -> str:
    for _ in range(rng.randrange(1, 6)):
        at = rng.randrange(len(text) + 1)
        text = text[:at] + rng.choice(ODD) + text[at:]
    return text

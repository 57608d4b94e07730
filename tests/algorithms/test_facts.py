"""Facts of texts: what is taken apart how, and that each text is read by itself."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.algorithms.facts import LONGEST_KIND, facts_of, sentences, stated
from discreet.generation.loading import load_model
from discreet.generation.toy import ToyModel

WORDS = st.from_regex(r"[b-h][b-z]{2,6}( [b-h][b-z]{2,6}){0,2}", fullmatch=True).filter(lambda text: "and" not in text)


@pytest.mark.parametrize(
    ("written", "facts"),
    [
        (
            "The diagnosis is Brindle Ear. The treatment for Brindle Ear is warm oil.",
            [("diagnosis", "brindle ear"), ("treatment", "warm oil")],
        ),
        (
            "The symptoms of Ana Costa are itchy ears, a humming noise, and Fever.",
            [("symptoms", "itchy ears"), ("symptoms", "humming noise"), ("symptoms", "fever")],
        ),
        (
            "The diagnosis is Zonkitis and the treatment should be Blerpox, twice a day.",
            [("diagnosis", "zonkitis"), ("treatment", "blerpox"), ("treatment", "twice a day")],
        ),
        ("He saw Dr. Lind.\nHe loves Heat; Alien.", [("", "he saw dr lind"), ("", "he loves heat alien")]),
        ("It rains.", [("", "it rains")]),
        (
            "The one thing that everybody there had said is this.",
            [("", "one thing that everybody there had said is this")],
        ),
        ("The diagnosis is Zonkitis. The diagnosis is zonkitis.", [("diagnosis", "zonkitis")]),
        ("The diagnosis is . , , .", []),
        ("", []),
        ("...", []),
    ],
)
def test_sentences_are_taken_apart(written: str, facts: list[tuple[str, str]]) -> None:
    assert facts_of(written) == facts


def test_of_a_text_that_was_cut_off_the_last_fact_does_not_count() -> None:
    cut = "The diagnosis is Zonkitis. The symptoms are severe itching, skin les"
    assert facts_of(cut, whole=False) == [("diagnosis", "zonkitis"), ("symptoms", "severe itching")]
    assert facts_of("The diag", whole=False) == []


@given(st.text())
def test_any_text_has_facts_of_words(written: str) -> None:
    for kind, value in facts_of(written):
        assert value
        assert value == " ".join(value.split())
        assert len(kind.split()) <= LONGEST_KIND


@given(st.lists(st.tuples(WORDS, WORDS), unique=True, max_size=5))
def test_facts_as_sentences_say_the_same_facts(facts: list[tuple[str, str]]) -> None:
    assert set(facts_of(sentences(facts))) == set(facts)


def test_sentences_for_anybody_to_read() -> None:
    facts = [("diagnosis", "zonkitis"), ("", "it rains"), ("symptoms", "fever"), ("symptoms", "rash")]
    assert sentences(facts) == "The diagnosis is zonkitis. It rains. The symptoms are fever, rash."


def test_a_text_states_the_same_among_others_as_alone() -> None:
    model = load_model()
    notes = [
        f"{name} has a sore throat. The diagnosis is {illness}, to be treated with {cure}."
        for name, illness, cure in (
            ("Ada", "Zonkitis", "Blerpox"),
            ("Bo", "Tarnic Fever", "oil"),
            ("Cy", "Gloop", "rest"),
        )
    ]
    together = list(stated(model, notes, 16, 32))
    assert together == [next(stated(model, [note], 16, 32)) for note in notes]
    assert ("diagnosis", "zonkitis") in together[0]
    assert together == list(reversed(list(stated(model, notes[::-1], 16, 32))))


def test_more_texts_than_are_read_at_a_time_come_in_order() -> None:
    model = ToyModel()
    found = list(stated(model, [f"say: word{number} ." for number in range(70)], 4, 8))
    assert found == [[("", f"word{number}")] for number in range(70)]


def test_a_text_that_no_tokenizer_takes_states_what_nobody_said() -> None:
    model = load_model()
    assert list(stated(model, ["\ud800"], 4, 8)) == list(stated(model, [""], 4, 8))

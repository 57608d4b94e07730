"""Facts of texts: what is taken apart how, and that each text is read by itself."""

import pytest

from discreet.models.length_buckets import in_order
from discreet.models.loading import load_model
from discreet.synthesis.extraction import facts_of, found_in, stated

pytestmark = pytest.mark.usefixtures("two_threads")


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


def test_a_text_states_the_same_among_others_as_alone() -> None:
    model = load_model()
    notes = [
        f"{name} has a sore throat. The diagnosis is {illness}, to be treated with {cure}."
        for name, illness, cure in (("Ada", "Zonkitis", "Blerpox"), ("Bo", "Tarnic Fever", "oil"))
    ]
    together = in_order(stated(model, notes, 16, 32))
    assert together == [next(stated(model, [note], 16, 32))[1] for note in notes]
    assert ("diagnosis", "zonkitis") in together[0]
    assert together == list(reversed(in_order(stated(model, notes[::-1], 16, 32))))


def test_a_text_that_no_tokenizer_takes_states_what_nobody_said() -> None:
    model = load_model()
    assert in_order(stated(model, ["\ud800"], 4, 8)) == in_order(stated(model, [""], 4, 8))


def test_what_does_not_stand_in_a_text_is_no_fact_of_it() -> None:
    text = "Ana reports Itchy ears; the Doctor's finding: gloop-itis (mild)."
    stated = [("symptoms", "itchy ears"), ("symptoms", "humming noise"), ("diagnosis", "gloop-itis"), ("", "it rains")]
    assert found_in(text, stated) == (("symptoms", "itchy ears"), ("diagnosis", "gloop-itis"))
    assert found_in("", stated) == ()
    assert found_in("No itchy ears. Gloop-itis.", stated) == (("diagnosis", "gloop-itis"),)  # what is denied is no fact

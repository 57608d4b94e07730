"""Facts of texts: what is taken apart how, and that each text is read by itself."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.algorithms.text.normalize import head
from discreet.generation.loading import load_model
from discreet.generation.model import Prompt
from discreet.generation.torch_backend.length_buckets import in_order
from discreet.generation.toy import ToyDecoding, ToyModel
from discreet.synthesis.fact_extraction import LONGEST_KIND, facts_of, found_in, sentences, stated

pytestmark = pytest.mark.usefixtures("two_threads")
# Without prepositions: a kind ends before one.
WORDS = st.from_regex(r"[b-h][b-z]{2,6}( [b-h][b-z]{2,6}){0,2}", fullmatch=True).filter(
    lambda text: head(text.split()) == text.split()
)


class Recording(ToyModel):
    """Keeps the shape of each batch: its rows, the tokens of a prompt, and how many it may write."""

    def __init__(self) -> None:
        super().__init__()
        self.shapes: list[tuple[int, int, int]] = []

    def start(self, shared: Sequence[int], prompts: Sequence[Prompt], max_tokens: int) -> ToyDecoding:
        self.shapes.append((len(prompts), len(prompts[0].tokens), max_tokens))
        return super().start(shared, prompts, max_tokens)


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
        for name, illness, cure in (("Ada", "Zonkitis", "Blerpox"), ("Bo", "Tarnic Fever", "oil"))
    ]
    together = in_order(stated(model, notes, 16, 32))
    assert together == [next(stated(model, [note], 16, 32))[1] for note in notes]
    assert ("diagnosis", "zonkitis") in together[0]
    assert together == list(reversed(in_order(stated(model, notes[::-1], 16, 32))))


def test_a_text_is_in_a_batch_of_the_shape_that_it_has_alone() -> None:
    """A processor may round in another way for another shape: a text's facts would follow from how many others are."""
    texts = ["word " * length for length in (0, 3, 31, 40, 70, 400)]
    together, alone = Recording(), Recording()
    in_order(stated(together, texts * 15, 4, 96))
    for text in texts:
        in_order(stated(alone, [text], 4, 96))
    assert set(together.shapes) == set(alone.shapes)
    assert len(set(alone.shapes)) == 3


def test_the_fact_in_which_writing_was_cut_off_is_left_out() -> None:
    text = "say: The diagnosis is gloop, yellow fever ."
    assert in_order(stated(ToyModel(), [text], 5, 16)) == [[("diagnosis", "gloop")]]
    assert in_order(stated(ToyModel(), [text], 7, 16)) == [[("diagnosis", "gloop"), ("diagnosis", "yellow fever")]]


def test_more_texts_than_are_read_at_a_time_come_in_order() -> None:
    model = ToyModel()
    texts = ["so " * (number % 3 * 30) + f"say: word{number} ." for number in range(70)]  # of several lengths
    found = in_order(stated(model, texts, 4, 80))
    assert found == [[("", f"word{number}")] for number in range(70)]


def test_a_text_that_no_tokenizer_takes_states_what_nobody_said() -> None:
    model = load_model()
    assert in_order(stated(model, ["\ud800"], 4, 8)) == in_order(stated(model, [""], 4, 8))


def test_what_does_not_stand_in_a_text_is_no_fact_of_it() -> None:
    text = "Ana reports Itchy ears; the Doctor's finding: gloop-itis (mild)."
    stated = [("symptoms", "itchy ears"), ("symptoms", "humming noise"), ("diagnosis", "gloop-itis"), ("", "it rains")]
    assert found_in(text, stated) == (("symptoms", "itchy ears"), ("diagnosis", "gloop-itis"))
    assert found_in("", stated) == ()
    assert found_in("No itchy ears. Gloop-itis.", stated) == (("diagnosis", "gloop-itis"),)  # what is denied is no fact

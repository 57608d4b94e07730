"""What the coder by an embedder finds in a text, and thresholds that are fitted on public labels."""

from collections.abc import Sequence

import numpy as np
import pytest

from discreet.errors import UsageError
from discreet.store.codebook import Attribute, Codebook, CodedValue
from discreet.store.embedding import HashingEmbedder, MiniLM
from discreet.synthesis import embedder_coder
from discreet.synthesis.embedder_coder import THRESHOLD, EmbedderCoder, choose, fit

VALUES = [
    {"name": "breathing", "words": ["cough"], "examples": ["She is short of breath."]},
    {"name": "skin", "words": ["rash"], "examples": ["There are red spots on his arms."]},
]


def book_of(*attributes: dict[str, object]) -> Codebook:
    return Codebook.parse({"attributes": [{"name": "complaint", "type": "any of", "values": VALUES}, *attributes]})


@pytest.fixture
def coder(monkeypatch: pytest.MonkeyPatch) -> EmbedderCoder:
    """A coder by words, which stands for one by meaning."""
    monkeypatch.setattr(embedder_coder, "meaning", lambda embedder: embedder)
    return EmbedderCoder(HashingEmbedder())


def codes(coder: EmbedderCoder, text: str, book: Codebook) -> list[str]:
    ((place, found),) = coder.code([text], book)
    assert place == 0
    assert all(one[2:] == (False, None, "") for one in found)
    return [one[1] for one in found]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("A dry cough since Monday.", ["breathing"]),
        ("There were red spots on his arms, but she is short of breath.", ["breathing", "skin"]),
        ("No cough. Not a rash.", []),
        ("No nausea, cough or rash.", []),
        ("No beds, a cough and a rash.", ["breathing", "skin"]),
        ("He does not have red spots on his arms.", []),
        ("There are no longer free beds, and a rash.", ["skin"]),
        ("Her mother had a cough.", []),
        ("Family history of cough.", []),
        ("The weather was fine.", []),
        ("", []),
    ],
)
def test_text_has_the_codes_that_it_states(coder: EmbedderCoder, text: str, expected: list[str]) -> None:
    assert sorted(codes(coder, text, book_of())) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Known HIV+.", ["hiv+"]),
        ("HIV-.", []),
        ("HIV unknown.", []),
        ("Diagnosis: hepatitis A.", ["hepatitis a"]),
        ("Diagnosis: hepatitis B.", []),
        ("Rash: none.", []),
        ("Rash: on both arms.", ["skin"]),
    ],
)
def test_words_are_looked_for_by_the_rules_of_phrases(coder: EmbedderCoder, text: str, expected: list[str]) -> None:
    """Signs and letters count, and the answer of a form denies."""
    book = book_of()
    values = (*book.attributes[0].values, CodedValue(name="hiv+"), CodedValue(name="hepatitis a"))
    attribute = book.attributes[0].model_copy(update={"values": values, "threshold": 1.0})
    assert codes(coder, text, book.model_copy(update={"attributes": (attribute,)})) == expected


@pytest.mark.parametrize(
    ("flag", "text"),
    [
        ({"denied": True}, "No cough."),
        ({"family": True}, "Her mother had a cough."),
        ({"past": True}, "A cough as a child."),
    ],
)
def test_attribute_decides_what_counts(coder: EmbedderCoder, flag: dict[str, bool], text: str) -> None:
    book = book_of()
    strict = {"denied": False, "family": False, "past": False}
    for flags, expected in ((strict, []), (strict | flag, ["breathing"])):
        attribute = book.attributes[0].model_copy(update=flags)
        assert codes(coder, text, book.model_copy(update={"attributes": (attribute,)})) == expected


def test_meaning_is_found_without_a_word_of_the_book() -> None:
    assert codes(EmbedderCoder(MiniLM()), "He wheezes and gasps for air.", book_of()) == ["breathing"]


def test_embedder_without_meaning_is_refused() -> None:
    with pytest.raises(UsageError):
        EmbedderCoder(HashingEmbedder())


def test_book_without_values_gives_no_codes(coder: EmbedderCoder) -> None:
    book = Codebook.parse({"attributes": [{"name": "disease"}]})
    assert list(coder.code(["A cough.", "b"], book)) == [(0, []), (1, [])]
    assert coder.about(book)


def test_about_tells_books_and_embedders_apart(coder: EmbedderCoder) -> None:
    about = coder.about(book_of())
    assert about == coder.about(book_of())
    assert about != coder.about(book_of({"name": "mood", "type": "one of", "values": [{"name": "good"}]}))
    assert about != EmbedderCoder(MiniLM()).about(book_of())


def attribute(kind: str, most: int = 0, **thresholds: float) -> Attribute:
    values = [{"name": name, "threshold": thresholds.get(name)} for name in "abcd"]
    return Attribute.model_validate(
        {"name": "x", "type": kind, "values": values, "most": most, "threshold": thresholds.get("all")}
    )


@pytest.mark.parametrize(
    ("book", "likeness", "expected"),
    [
        (attribute("any of"), [0.9, 0.2, 0.95, THRESHOLD], "cad"),
        (attribute("any of", 1), [0.5, 0.5, 0.5, 0.4], "a"),
        (attribute("one of"), [0.5, 0.2, 0.6, 0.6], "c"),
        (attribute("one of", a=0.2, c=0.5), [0.5, 0.2, 0.6, 0.3], "a"),
        (attribute("any of", all=0.7), [0.5, 0.2, 0.6, 0.3], ""),
    ],
)
def test_values_farthest_above_their_thresholds_are_chosen(
    book: Attribute, likeness: list[float], expected: str
) -> None:
    order, counts = choose(book, np.array(likeness))
    assert "".join(book.names[one] for one, own in zip(order, counts, strict=True) if own) == expected


def f1(coder: EmbedderCoder, book: Codebook, labelled: Sequence[tuple[str, dict[str, list[str]]]]) -> float:
    found = [{one[1] for one in own} for _, own in coder.code([text for text, _ in labelled], book)]
    stated = [set(labels["complaint"]) for _, labels in labelled]
    right = sum(len(one & other) for one, other in zip(found, stated, strict=True))
    return 2 * right / sum(map(len, found + stated))


def test_fitted_thresholds_meet_public_labels_better(coder: EmbedderCoder) -> None:
    book = book_of({"name": "mood", "type": "one of", "values": [{"name": "good"}]})
    labelled: list[tuple[str, dict[str, list[str]]]] = [
        ("Some red paint on the wall.", {"complaint": []}),
        ("He has a few spots on an arm.", {"complaint": ["skin"]}),
        ("There are red flowers on the table.", {"complaint": []}),
        ("A red spot on one of his arms.", {"complaint": ["skin"]}),
        ("She runs out of breath.", {"complaint": ["breathing"]}),
        ("She is short of money.", {"complaint": []}),
    ] * 5
    fitted = fit(book, labelled, coder)
    assert f1(coder, fitted, labelled) > f1(coder, book, labelled)
    assert fitted.attributes[0].threshold is not None
    assert fitted.attributes[1] == book.attributes[1]
    assert Codebook.parse(fitted.describe()) == fitted

"""Documents are named in one spelling; chunks lose nothing, stay small, and take linear time."""

import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import UsageError
from discreet.store.documents import Document, Passage, chunk


@given(st.text(max_size=400), st.integers(1, 20))
def test_chunks_keep_every_character_but_white_space(text: str, size: int) -> None:
    pieces = chunk(text, size)
    assert "".join("".join(pieces).split()) == "".join(text.split())
    assert all(piece and piece == piece.strip() and len(piece) <= 17 * size for piece in pieces)


@given(st.lists(st.text(alphabet="abcdefgh.", min_size=1, max_size=16), max_size=60), st.integers(1, 20))
def test_words_of_ordinary_length_are_never_cut(words: list[str], size: int) -> None:
    pieces = chunk(" ".join(words), size)
    assert [word for piece in pieces for word in piece.split()] == words
    assert all(len(piece.split()) <= size for piece in pieces)


@pytest.mark.parametrize("part", ["word ", "x", "A sentence. "])
def test_fifty_megabytes_take_seconds(part: str) -> None:
    text = part * (50_000_000 // len(part))
    start = time.process_time()
    pieces = chunk(text)
    assert time.process_time() - start < 60  # measured: 2 to 5; quadratic time would be hours
    assert max(map(len, pieces)) <= 17 * 120


def test_one_individual_has_one_spelling() -> None:
    assert Document(" 1 ", "Zoe\u0308\n", "text") == Document("1", "Zo\u00eb", "text")


@pytest.mark.parametrize(
    "fields", [("", "u", "t"), ("i", "  ", "t"), ("i", "u", "secret \ud800"), ("i", "\udc80", "t")]
)
def test_refusal_of_a_document_does_not_show_its_text(fields: tuple[str, str, str]) -> None:
    with pytest.raises(UsageError) as caught:
        Document(*fields)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("value", [None, True, float("nan"), float("inf"), [1], "secret \ud800"])
def test_refusal_of_a_field_does_not_show_its_value(value: Any) -> None:
    with pytest.raises(UsageError) as caught:
        Document("1", "Ada", "text", fields={"age": value})
    assert "secret" not in str(caught.value)


def test_texts_are_not_shown() -> None:
    shown = repr(Document("1", "Ada", "secret", fields={"age": "secret"})) + repr(Passage("Ada", "secret"))
    assert "secret" not in shown
    assert "Ada" not in repr(Passage("Ada", "secret"))

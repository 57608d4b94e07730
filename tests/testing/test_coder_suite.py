"""The suite of coders passes sound coders, and catches broken ones."""

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from discreet.store.codebook import Codebook
from discreet.store.embedding import HashingEmbedder
from discreet.synthesis import embedder_coder
from discreet.synthesis.embedder_coder import EmbedderCoder
from discreet.synthesis.statements import Found
from discreet.testing import CoderSuite
from discreet.testing.coder import BOOK
from discreet_lab.audit.algorithms import WordCoder
from tests.testing.harness import failing

Codes = Iterator[tuple[int, list[Found]]]


class Frequent(WordCoder):
    """Leaves out a value that few of the texts have."""

    def code(self, texts: Sequence[str], book: Codebook) -> Codes:
        found = list(super().code(texts, book))
        seen = Counter(one for _, own in found for one in own)
        return iter([(place, [one for one in own if 2 * seen[one] > len(texts)]) for place, own in found])


class Remembering(WordCoder):
    """States what it depends on with the texts that it has seen."""

    seen = 0

    def about(self, book: Codebook) -> tuple[Any, ...]:
        return (*super().about(book), self.seen)

    def code(self, texts: Sequence[str], book: Codebook) -> Codes:
        self.seen += len(texts)
        return super().code(texts, book)


class Inventing(WordCoder):
    """Finds values that the book does not have."""

    def code(self, texts: Sequence[str], book: Codebook) -> Codes:
        return iter([(place, [("complaint", text[:9], False, None, "")]) for place, text in enumerate(texts)])


class Stale(WordCoder):
    """Does not say that it depends on the book."""

    def about(self, book: Codebook) -> tuple[Any, ...]:
        return ("words",)


class Brittle(WordCoder):
    """Fails on an empty text, and so leaves it out."""

    def code(self, texts: Sequence[str], book: Codebook) -> Codes:
        return ((place, own) for place, own in super().code(texts, book) if texts[place].split()[0])


def failures(coder: object, folder: Path) -> set[str]:
    return failing(CoderSuite(), folder, coder=coder, book=BOOK)


def test_suite_passes_sound_coders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedder_coder, "meaning", lambda embedder: embedder)
    assert failures(WordCoder(), tmp_path / "words") == set()
    assert failures(EmbedderCoder(HashingEmbedder()), tmp_path / "embedder") == set()


@pytest.mark.parametrize(
    ("coder", "test"),
    [
        (Frequent(), "test_codes_depend_on_their_text_alone"),
        (Frequent(), "test_rare_code_is_found"),
        (Remembering(), "test_about_does_not_depend_on_texts"),
        (Inventing(), "test_codes_stand_in_the_book"),
        (Stale(), "test_about_changes_with_the_values"),
        (Brittle(), "test_no_text_causes_an_error"),
    ],
)
def test_suite_catches_broken_coders(coder: object, test: str, tmp_path: Path) -> None:
    assert test in failures(coder, tmp_path)

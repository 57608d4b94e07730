"""A kind of statement that only one unit has: its vector is computed, and nothing else of a question shows it.

An embedder can fail, such as one of a plug-in that asks another machine. Whether it is called must not depend on a
unit, or its failure would tell whether the unit is there.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path

import pytest

from discreet.models.toy import ToyModel
from discreet.store.documents import Document
from discreet.store.embedding import HashingEmbedder, Told, Vectors
from discreet.store.sealed_corpus import KindVectors, StatementFit
from discreet.store.vectors import Vector
from discreet.vault import Vault

QUESTION = "What is the treatment for winter hand?"
OTHER = Document("x", "xx", "quartz lamp billing . say: The postcode is quartz .")


class Counting(HashingEmbedder):
    """An embedder that remembers how many texts each call had."""

    def __init__(self) -> None:
        super().__init__()
        self.calls = list[int]()

    def embed(self, texts: Sequence[str], progress: Told | None = None) -> Vectors:
        self.calls.append(len(texts))
        return super().embed(texts, progress)


def ask_until_released(vault: Vault, embedder: Counting) -> list[int]:
    """Return the calls of a question whose answer was released. The noise is real: one of a hundred answers is not."""
    for _ in range(6):
        embedder.calls.clear()
        if vault.ask(QUESTION, anew=True).text == "ginger gloves":
            return list(embedder.calls)
    pytest.fail("Six answers, and none of them was released.")


def count_calls(path: Path, *later: Document) -> list[int]:
    """Return how many texts each call had for two questions, after a vault got later documents and was read again."""
    embedder, model = Counting(), ToyModel(default="nothing known", size=4000)
    Vault.create(path, epsilon=20.0, delta=1e-6, unit_field="u", model="toy", embedder="hashing", history=False)
    vault = Vault.open(path, model=model, embedder=embedder)
    said = "The patient has winter hand . say: The treatment is ginger gloves ."
    vault.add_documents(Document(f"d{n}", f"u{n}", said) for n in range(120))
    vault.read()
    ask_until_released(vault, embedder)
    vault.add_documents([Document("y", "yy", "Winter hand . say: The treatment is cold tea ."), *later])
    vault.read()
    return [*ask_until_released(vault, embedder), *ask_until_released(vault, embedder)]


def test_number_of_calls_depends_on_no_unit(tmp_path: Path) -> None:
    without, beside = count_calls(tmp_path / "0"), count_calls(tmp_path / "1", OTHER)
    assert len(without) == len(beside)
    assert without != beside  # the kind of the one unit is embedded, beside a public text


def test_twin_that_asks_for_new_kinds_alone_is_caught(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def embed(kinds: KindVectors, texts: Sequence[str]) -> Iterable[Vector]:
        return kinds._embedder.embed(texts) if texts else ()

    monkeypatch.setattr(KindVectors, "_embed_anew", embed)
    assert len(count_calls(tmp_path / "0")) != len(count_calls(tmp_path / "1", OTHER))


def test_similarity_does_not_depend_on_the_place_of_a_vector() -> None:
    kinds = KindVectors(HashingEmbedder())
    names = [f"kind {n} of a thing" for n in range(40)]
    vector = kinds.embed("which kind of a thing is it")
    fits = []
    for count in (1, 7, 40):
        found = KindVectors(HashingEmbedder()).of(names[:count], count)
        fits.append(StatementFit("q", vector, found, str.split)._fit[names[0]])
    assert len(set(fits)) == 1
    assert fits[0] == pytest.approx(float(vector @ HashingEmbedder().embed(names[:1])[0]), abs=1e-6)

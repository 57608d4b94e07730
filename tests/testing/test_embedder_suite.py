"""The suite of embedders catches broken embedders."""

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest

from discreet.store.embedding import HashingEmbedder, Vectors
from discreet.testing import EmbedderSuite
from tests.testing.harness import failing, fails

Progress = Callable[[int], None]


class Centred(HashingEmbedder):
    """Subtracts the mean of the batch: a vector depends on its neighbours."""

    def embed(self, texts: Sequence[str], progress: Progress | None = None) -> Vectors:
        vectors = super().embed(texts, progress)
        return (vectors - vectors.mean(axis=0)).astype(np.float32) if len(texts) > 1 else vectors


class Padded(HashingEmbedder):
    """Adds a rounding error that follows the longest text of the batch."""

    def embed(self, texts: Sequence[str], progress: Progress | None = None) -> Vectors:
        vectors = super().embed(texts, progress)
        longest = max((len(text) for text in texts), default=0)
        return np.nextafter(vectors, np.float32(2), dtype=np.float32) if longest > 400 else vectors


class Learning(HashingEmbedder):
    """Counts its calls into the vectors: they depend on earlier texts."""

    calls = 0

    def embed(self, texts: Sequence[str], progress: Progress | None = None) -> Vectors:
        self.calls += 1
        return np.roll(super().embed(texts, progress), self.calls, axis=1)


class Sorting(HashingEmbedder):
    """Returns the vectors in the order of the lengths of the texts."""

    def embed(self, texts: Sequence[str], progress: Progress | None = None) -> Vectors:
        return super().embed(sorted(texts, key=len), progress)


class Unscaled(HashingEmbedder):
    """Returns vectors that are not of length one."""

    def embed(self, texts: Sequence[str], progress: Progress | None = None) -> Vectors:
        return 2 * super().embed(texts, progress)


class Silent(HashingEmbedder):
    """Reports no progress."""

    def embed(self, texts: Sequence[str], progress: Progress | None = None) -> Vectors:
        return super().embed(texts)


def test_embedder_suite_passes_a_sound_embedder(tmp_path: Path) -> None:
    assert failing(EmbedderSuite(), tmp_path, embedder=HashingEmbedder()) == set()


@pytest.mark.parametrize(
    ("twin", "test"),
    [
        (Centred, "test_vector_depends_on_its_text_alone"),
        (Padded, "test_vector_depends_on_its_text_alone"),
        (Learning, "test_vectors_have_no_memory"),
        (Sorting, "test_vectors_have_the_order_of_the_texts"),
        (Unscaled, "test_vectors_have_shape_type_and_length_one"),
        (Silent, "test_progress_adds_up"),
    ],
)
def test_embedder_suite_catches_broken_embedder(twin: type[HashingEmbedder], test: str, tmp_path: Path) -> None:
    assert fails(EmbedderSuite(), test, tmp_path, embedder=twin())

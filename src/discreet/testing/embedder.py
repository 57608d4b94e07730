"""The conformance suite of embedders."""

import numpy as np
import pytest

from discreet.store.embedding import Embedder, Vectors

TEXT = "Ada Lind has white hands and a weak grip."
SHORT, LONG = ["No.", ""], ["word " * 100, "worse " * 300]


class EmbedderSuite:
    """Tests of an `Embedder`. A subclass overrides the fixture `embedder`.

    The privacy guarantee needs one property above all: the vector of a text depends on that text alone, in every bit.
    If it does not, one unit can change the scores of other units, and every sensitivity is wrong.
    """

    @pytest.fixture
    def embedder(self) -> Embedder:
        """Return the embedder under test."""
        raise NotImplementedError("Override the fixture `embedder`.")

    def test_embedder_has_a_name(self, embedder: Embedder) -> None:
        """Check that the vault records the name, and loads the embedder by it."""
        assert embedder.name
        assert embedder.name == embedder.name.strip()

    def test_vectors_have_shape_type_and_length_one(self, embedder: Embedder) -> None:
        """Vectors are float32 of the declared dimension and of length one; no text gives no vector."""
        vectors = embedder.embed([TEXT, *LONG])
        assert vectors.shape == (3, embedder.dimension)
        assert vectors.dtype == np.float32
        assert np.linalg.norm(vectors.astype(np.float64), axis=1) == pytest.approx(1, abs=1e-5)
        assert embedder.embed([]).shape == (0, embedder.dimension)

    def test_vector_of_any_text_is_finite(self, embedder: Embedder) -> None:
        """Empty texts, odd characters and very long texts give finite numbers, not an error."""
        vectors = embedder.embed(["", "?!", "\u2603 \x00 \u00e9", "a" * 5000, *LONG])
        assert np.isfinite(vectors).all()
        assert (np.linalg.norm(vectors.astype(np.float64), axis=1) <= 1 + 1e-5).all()

    def test_vector_depends_on_its_text_alone(self, embedder: Embedder) -> None:
        """Check that the bits of a vector do not depend on the other texts of the batch."""
        alone = embedder.embed([TEXT])[0].copy()
        for others in (SHORT, LONG, [TEXT.replace("Ada", "Bela")] * 9):
            for place in range(len(others) + 1):
                batch = [*others[:place], TEXT, *others[place:]]
                assert _are_same_bits(embedder.embed(batch)[place], alone)

    def test_vectors_have_no_memory(self, embedder: Embedder) -> None:
        """Check that the bits of a vector do not depend on earlier calls."""
        before = embedder.embed([TEXT]).copy()
        embedder.embed([*LONG, *SHORT])
        assert _are_same_bits(embedder.embed([TEXT]), before)

    def test_vectors_have_the_order_of_the_texts(self, embedder: Embedder) -> None:
        """Row i belongs to text i."""
        texts = [*LONG, TEXT, *SHORT]
        forth, back = embedder.embed(texts), embedder.embed(texts[::-1])
        assert _are_same_bits(forth, back[::-1])

    def test_progress_adds_up(self, embedder: Embedder) -> None:
        """Check that the callback gets numbers of texts that add up to all of them."""
        done: list[int] = []
        embedder.embed([TEXT, *SHORT, *LONG], done.append)
        assert sum(done) == 5

    def test_texts_of_one_topic_are_near(self, embedder: Embedder) -> None:
        """Check that two texts of the same words are nearer than two texts of different words."""
        vectors = embedder.embed(["numb thumbs and white hands", "white hands, numb thumbs", "the price of copper"])
        assert vectors[0] @ vectors[1] > vectors[0] @ vectors[2] + 0.1


def _are_same_bits(one: Vectors, other: Vectors) -> bool:
    """Return whether two arrays are equal in every bit.

    pytest must not see the bytes: where `CI` is set, it explains how they differ, and takes minutes for a few thousand.
    """
    return one.tobytes() == other.tobytes()

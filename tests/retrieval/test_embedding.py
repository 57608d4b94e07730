"""Vectors depend on their own text alone, in every bit; weights are those published."""

import importlib.util
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from discreet.errors import DiscreetError, MissingPart, UsageError
from discreet.retrieval import embedding
from discreet.retrieval.embedding import (
    Embedder,
    HashingEmbedder,
    MiniLM,
    MiniLMAndWords,
    SentenceTransformersEmbedder,
    Vectors,
    load_embedder,
)

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.usefixtures("two_threads")
TEXT = "Ada Lind has white hands and a weak grip."
SHORT, LONG = ["No.", ""], ["word " * 100, "worse " * 300]


@pytest.fixture(scope="module")
def minilm() -> Embedder:
    return load_embedder("minilm")


@pytest.fixture(scope="module", params=["hashing", "minilm", "minilm+words", "path"])
def embedder(request: pytest.FixtureRequest) -> Embedder:
    if request.param == "path":
        return SentenceTransformersEmbedder(str(embedding._minilm_folder()))
    return load_embedder(request.param)


class TestConformance:
    """What every embedder must do."""

    def test_shape_and_length(self, embedder: Embedder) -> None:
        vectors = embedder.embed([TEXT, *LONG])
        assert vectors.shape == (3, embedder.dimension)
        assert vectors.dtype == np.float32
        assert np.linalg.norm(vectors.astype(np.float64), axis=1) == pytest.approx(1, abs=1e-5)
        assert embedder.embed([]).shape == (0, embedder.dimension)

    def test_bits_depend_on_the_text_alone(self, embedder: Embedder) -> None:
        alone = embedder.embed([TEXT])[0].tobytes()
        for others in (SHORT, LONG, [TEXT.replace("Ada", "Bela")] * 9):
            for place in range(len(others) + 1):
                batch = [*others[:place], TEXT, *others[place:]]
                assert embedder.embed(batch)[place].tobytes() == alone

    def test_vectors_come_in_the_order_of_the_texts(self, embedder: Embedder) -> None:
        texts = [*LONG, TEXT, *SHORT]
        forth, back = embedder.embed(texts), embedder.embed(texts[::-1])
        assert forth.tobytes() == back[::-1].tobytes()

    def test_progress_adds_up(self, embedder: Embedder) -> None:
        told: list[int] = []
        embedder.embed([TEXT, *SHORT, *LONG], told.append)
        assert sum(told) == 5

    def test_texts_of_one_topic_are_near(self, embedder: Embedder) -> None:
        vectors = embedder.embed(["numb thumbs and white hands", "white hands, numb thumbs", "the price of copper"])
        assert vectors[0] @ vectors[1] > vectors[0] @ vectors[2] + 0.1


def test_a_broken_twin_that_pads_to_its_longest_text_is_caught(minilm: MiniLM) -> None:
    import transformers

    model: Any = transformers.AutoModel.from_pretrained(embedding._minilm_folder(), dtype=minilm._model.dtype).eval()

    def embed(texts: list[str]) -> Vectors:
        given: Any = minilm._tokenizer(texts, padding=True, return_tensors="pt")
        with torch.inference_mode():
            states = model(**given).last_hidden_state.float()
        weights = given["attention_mask"].unsqueeze(-1)
        means: Vectors = ((states * weights).sum(1) / weights.sum(1)).numpy()
        return means

    alone = embed([TEXT])[0].tobytes()
    assert any(embed([TEXT, *others])[0].tobytes() != alone for others in (LONG, ["word " * 30] * 20))


def test_every_length_fits_a_bucket(minilm: MiniLM) -> None:
    shapes: set[tuple[int, ...]] = set()
    hook = minilm._model.register_forward_pre_hook(
        lambda _, __, given: shapes.add(tuple(given["input_ids"].shape)), with_kwargs=True
    )
    minilm.embed(["w " * words for words in (0, 1, 14, 15, 60, 253, 254, 255, 5000)])
    hook.remove()
    assert {rows for rows, _ in shapes} == {MiniLM._ROWS}
    assert {length for _, length in shapes} <= set(MiniLM._BUCKETS)


def test_a_text_beyond_the_longest_bucket_is_cut(minilm: MiniLM) -> None:
    assert minilm.embed(["w " * 254])[0].tobytes() == minilm.embed(["w " * 5000])[0].tobytes()


def test_hashing_is_the_same_in_every_process() -> None:
    program = (
        "from discreet.retrieval.embedding import HashingEmbedder; "
        "print(HashingEmbedder().embed(['Zoë a b'])[0].tobytes().hex())"
    )
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert said.strip() == HashingEmbedder().embed(["Zoë a b"])[0].tobytes().hex()


def test_hashing_sees_the_order_of_words_and_no_words_at_all() -> None:
    there, back, none = HashingEmbedder().embed(["dog bites man", "man bites dog", "?!"])
    assert 0.3 < there @ back < 0.99
    assert not none.any()


def test_other_weights_are_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "model.safetensors").write_bytes(b"other weights")
    monkeypatch.setattr(embedding, "_minilm_folder", lambda: tmp_path)
    with pytest.raises(DiscreetError, match="not those published"):
        MiniLM()


def test_a_missing_part_names_its_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    with pytest.raises(MissingPart, match="pip install"):
        MiniLM()
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    with pytest.raises(MissingPart, match="pip install"):
        SentenceTransformersEmbedder("anything")


@pytest.mark.parametrize("name", ["minlm", "/no/such/folder", "nobody/nothing"])
def test_an_unknown_name_is_explained(name: str) -> None:
    with pytest.raises(UsageError, match=r"Known: .*minilm"):
        load_embedder(name)


def test_minilm_does_without_the_library_that_its_package_asks_for() -> None:
    program = (
        "import sys; from discreet.retrieval.embedding import MiniLM; "
        "assert 'torch' not in sys.modules; MiniLM(); assert 'sentence_transformers' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", program], check=True, capture_output=True)


def test_words_weigh_by_a_public_table() -> None:
    words = MiniLMAndWords()
    assert 0 <= words._weight("the") < words._weight("hospital") < words._weight("xylotomist") <= 1

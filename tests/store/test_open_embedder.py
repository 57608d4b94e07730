from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from discreet.errors import UsageError
from discreet.operations.checks import embedder as embedder_here
from discreet.planning.checks import check_parts
from discreet.plugins import EMBEDDERS
from discreet.store.documents import Document
from discreet.store.embedding import embed_questions, open_embedder, pair_of
from discreet.vault import Vault
from tests.later import Later
from tests.test_plugins import install

if TYPE_CHECKING:
    import torch
    import transformers
else:
    torch, transformers = Later("torch"), Later("transformers")


def test_embedder_of_a_plugin_opens_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "plugged_embedder.py").write_text(
        "from discreet.store.embedding import HashingEmbedder\n"
        "class Plugged(HashingEmbedder):\n    name = 'plugged'\n"
        "class Nothing: ...\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    install(tmp_path, "plugged", EMBEDDERS, plugged="plugged_embedder:Plugged", nothing="plugged_embedder:Nothing")
    vault = Vault.create(tmp_path / "vault", epsilon=1, delta=1e-6, embedder="plugged")
    vault.add_documents([Document("1", "ada", "numb thumbs")])
    assert vault.embedder.name == open_embedder("plugged").name == "plugged"
    with pytest.raises(UsageError, match=r"lacks embed"):
        open_embedder("nothing")


WORDS = "[PAD] [UNK] [CLS] [SEP] [MASK] who has numb thumbs ada white hands the price of copper rises a".split()
TEXTS = ["Ada\nhas white hands", "the price of copper rises", "Ada has numb thumbs", "a", "", "zzz " * 400]
ASKED = ["who has numb thumbs", "the price of copper"]


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A tiny pair of encoders with random weights, stored as DPR's are: one of them in pytorch_model.bin."""
    folder = tmp_path_factory.mktemp("dpr")
    (folder / "vocab.txt").write_text("\n".join(WORDS))
    small: dict[str, Any] = dict.fromkeys(("hidden_size", "intermediate_size"), 32) | {"vocab_size": len(WORDS)}
    config = transformers.DPRConfig(**small, num_hidden_layers=2, num_attention_heads=4)
    for part, kind in (("questions", "DPRQuestionEncoder"), ("passages", "DPRContextEncoder")):
        torch.manual_seed(len(part))
        model = getattr(transformers, kind)(config)
        with torch.no_grad():
            for weight in model.parameters():
                weight.mul_(1.5).add_(torch.randn_like(weight) / 10)
        model.save_pretrained(folder / part)
        transformers.BertTokenizer(str(folder / "vocab.txt")).save_pretrained(folder / part)
    torch.save(model.state_dict(), folder / "passages/pytorch_model.bin")
    (folder / "passages/model.safetensors").unlink()
    return f"dpr:{folder / 'questions'},{folder / 'passages'}"


def plain(folder: str, kind: str, *parts: str) -> "np.ndarray[Any, Any]":
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    encoded = tokenizer(*parts, return_tensors="pt", truncation=True, max_length=256)
    model = getattr(transformers, kind).from_pretrained(folder).eval()
    with torch.inference_mode():
        found: np.ndarray[Any, Any] = model(input_ids=encoded["input_ids"]).pooler_output[0].numpy().astype(np.float64)
    return found


def test_pair_of_encoders_has_the_order_of_inner_products(pair: str) -> None:
    embedder = open_embedder(pair)
    asked, read = pair_of(pair)
    products = np.array(
        [
            [
                plain(asked, "DPRQuestionEncoder", one) @ plain(read, "DPRContextEncoder", *text.split("\n"))
                for text in TEXTS
            ]
            for one in ASKED
        ]
    )
    vectors, questions = embedder.embed(TEXTS), embed_questions(embedder, ASKED)
    assert np.linalg.norm(vectors.astype(np.float64), axis=1) == pytest.approx(1, abs=1e-5)
    scores = questions.astype(np.float64) @ vectors.T
    for row, found in zip(products, scores, strict=True):
        assert np.corrcoef(row, found)[0, 1] > 0.999  # but for the rounding of bfloat16
    assert vectors.tobytes() == embedder.embed(TEXTS[::-1])[::-1].tobytes()
    assert vectors[2].tobytes() == embedder.embed([TEXTS[2]])[0].tobytes()


def test_pair_of_encoders_in_a_vault(pair: str, tmp_path: Path) -> None:
    check_parts("smollm2-135m", pair)
    assert len(embedder_here(pair).files) == 2
    vault = Vault.create(tmp_path / "vault", epsilon=1, delta=1e-6, embedder=pair)
    vault.add_documents([Document(str(n), f"unit {n}", text) for n, text in enumerate(TEXTS) if text])
    again = Vault.open(tmp_path / "vault")
    near = again.components.baseline_corpus.unsealed_passages(ASKED[0], 5)
    scores = embed_questions(again.embedder, ASKED[:1])[0] @ again.embedder.embed([one.text for one in near]).T
    assert (np.diff(scores) <= 2e-3).all()


def test_half_a_pair_is_refused(pair: str) -> None:
    for name in ("dpr:one", "dpr:,two", "dpr:one,"):
        with pytest.raises(UsageError, match="must name two encoders"):
            open_embedder(name)
    with pytest.raises(UsageError, match="nor a folder"):
        check_parts("smollm2-135m", pair.replace(",", "-absent,"))

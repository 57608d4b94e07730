"""The adapter of vLLM, against a stand-in that has its interface: vLLM itself needs a GPU, and was not run."""

import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from discreet.errors import DiscreetError, MissingPart, UnknownName, UsageError
from discreet.models import vllm_model
from discreet.models.capabilities import Capability, capabilities
from discreet.models.loading import open_model
from discreet.models.protocol import Completer, Prompt
from discreet.models.vllm_model import ENVIRONMENT, FLAGS, VLLMModel, open_vllm
from discreet.registry import Consensus, MuRAGAda
from discreet.store.documents import Document
from discreet.testing import ModelSuite
from discreet.vault import Vault
from tests.models import stand_in_vllm
from tests.models.stand_in_vllm import LLM, SamplingParams

ENGINE = {"max_model_len": 4096, **FLAGS}


class TestVLLMModel(ModelSuite):
    @pytest.fixture
    def model(self) -> Completer:
        return VLLMModel("m", LLM(**ENGINE), SamplingParams)


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A package vllm, and an environment that does not know it yet."""
    (tmp_path / "site" / "vllm").mkdir(parents=True)
    shutil.copy(str(stand_in_vllm.__file__), tmp_path / "site" / "vllm" / "__init__.py")
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    monkeypatch.setattr(vllm_model, "_context", lambda _: 4096)
    for name in ENVIRONMENT:
        monkeypatch.setenv(name, "x")  # so that what the adapter sets is undone
        monkeypatch.delenv(name)
    yield
    sys.modules.pop("vllm", None)
    for name in ENVIRONMENT:
        os.environ.pop(name, None)


@pytest.mark.usefixtures("installed")
def test_vault_answers_with_pinned_flags_and_names_the_assumption(tmp_path: Path) -> None:
    vault = Vault.create(tmp_path / "v", epsilon=1e4, delta=1e-6, embedder="hashing", model="vllm:llama")
    vault.add_documents(Document(f"d{n}", f"p{n}", "Fever say: winter hand .") for n in range(60))
    opened = Vault.open(vault.path)
    answer = opened.ask("fever?", MuRAGAda(inner=Consensus(voters=40, max_tokens=4), epsilon=200))
    assert "winter hand" in (answer.answer or "").lower()
    assert answer.receipt is not None
    assert answer.receipt.assumed == ("vLLM computes each row of the model 'llama' by itself, as it does public rows",)
    made = sys.modules["vllm"].LLM.made
    assert made == {"model": "llama", **ENGINE}
    assert made["enable_prefix_caching"] is made["enable_chunked_prefill"] is made["trust_remote_code"] is False
    assert {name: os.environ[name] for name in ENVIRONMENT} == ENVIRONMENT


def test_lengths_and_steps_are_public() -> None:
    model = VLLMModel("m", LLM(**ENGINE), SamplingParams)
    LLM.asked.clear()
    texts = ["say: a .", "a b c say: d e f .", ""]
    rows = [tuple(model.encode(text)) for text in texts]
    prompts = [Prompt((model.pad_token,) * (12 - len(row)) + row, 12 - len(row)) for row in rows]
    written = model.answers(model.encode("Read:"), prompts, 4, all_steps=False)
    assert [(one.text, one.ended) for one in written] == [(" a", True), (" d e f", True), (" nothing known", True)]
    assert LLM.asked == [[13, 13, 13]]
    assert capabilities(model) == {Capability.COMPLETIONS}


def test_large_question_is_divided_by_public_numbers() -> None:
    model = VLLMModel("m", LLM(**ENGINE), SamplingParams)
    LLM.asked.clear()
    model.answers((), [Prompt((5,) * 2000, 0)] * 70, 4)
    assert [len(batch) for batch in LLM.asked] == [32, 32, 6]


def test_engine_whose_rows_depend_on_others_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """The tokens are the same, and their probabilities differ in the last bits."""
    monkeypatch.setattr(LLM, "leaks", True)
    with pytest.raises(DiscreetError, match="changed with the rows beside it"):
        VLLMModel("m", LLM(**ENGINE), SamplingParams)


def test_missing_engine_is_explained() -> None:
    with pytest.raises(MissingPart, match="needs a GPU"):
        open_model("vllm:llama")
    with pytest.raises(UsageError, match="Name the model"):
        open_model("vllm:")


@pytest.mark.usefixtures("installed")
def test_environment_that_contradicts_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VLLM_BATCH_INVARIANT", "0")
    with pytest.raises(UsageError, match="VLLM_BATCH_INVARIANT is 0, and must be 1"):
        open_vllm("llama")


def test_context_is_that_of_the_model(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text('{"model_type": "llama", "max_position_embeddings": 2048}')
    assert vllm_model._context(str(tmp_path)) == 2048
    with pytest.raises(UnknownName):
        vllm_model._context(str(tmp_path / "nowhere"))

"""A Python function as a language model, and the adapter behind which algorithms use it."""

import json
from pathlib import Path

import pytest

from discreet.errors import DiscreetError, UsageError
from discreet.models.capabilities import find_assumptions
from discreet.models.completer import CompleterAdapter, FunctionModel, adapt_completer
from discreet.models.prompts import layout
from discreet.models.protocol import Prompt
from discreet.registry import Consensus, MuRAGAda
from discreet.store.documents import Document
from discreet.vault import Vault


def repeat_record(prompt: str, max_tokens: int) -> str:
    """Return what stands between `say:` and a full stop; a fixed text without it."""
    _, found, rest = prompt.rpartition("say:")
    return rest.partition(".")[0] if found else " unknown to me"


@pytest.mark.parametrize(
    "text", ["", "No.", "winter hand", "  two  spaces\n", "\u2603\u00e9\x00\u65e5\u672c\u8a9e" * 9, "x" * 1000]
)
def test_adapter_decodes_what_it_encodes(text: str) -> None:
    adapter = CompleterAdapter(FunctionModel(repeat_record))
    tokens = adapter.encode(text)
    assert adapter.decode(tokens) == text
    assert all(1 < token < adapter.vocabulary_size for token in tokens)
    for cut in range(len(tokens)):
        assert text.startswith(adapter.decode(tokens[:cut]))


def test_adapter_sends_the_whole_prompt_as_text() -> None:
    prompts: list[str] = []

    def record(prompt: str, max_tokens: int) -> str:
        prompts.append(prompt)
        return "a" * 500

    adapter = CompleterAdapter(FunctionModel(record))
    laid_out = layout(adapter, "What is it?", prefix="It", document_tokens=9, max_tokens=4)
    decoding = adapter.start(laid_out.shared, [laid_out.prompt(adapter.encode("Ada is ill.")), laid_out.prompt()], 4)
    assert [prompt.rpartition("Record: ")[2] for prompt in prompts] == [
        "Ada is ill.\n\nQuestion: What is it?\nAnswer:It",
        "\n\nQuestion: What is it?\nAnswer:It",
    ]
    written = []
    for _ in range(6):
        written.append(decoding.best().tolist())
        decoding.append_each(written[-1])
    assert [len(adapter.decode([step[row] for step in written])) for row in (0, 1)] == [28, 28]  # four tokens, then end
    assert written[4:] == [[0, 0]] * 2


def test_adapter_refuses_votes_on_tokens_of_equal_and_other_rows() -> None:
    adapter = CompleterAdapter(FunctionModel(repeat_record))
    token = adapter.encode("a")[0]
    for text in ("say: a .", "say: b ."):
        rows = [Prompt(tuple(adapter.encode(text)), 0), Prompt(tuple(adapter.encode("say: a .")), 0)]
        with pytest.raises(UsageError, match="cannot vote"):
            adapter.start((), rows, 4).append(token)


def test_function_model_hides_errors_of_private_prompts() -> None:
    def fail(prompt: str, max_tokens: int) -> str:
        if "bad" in prompt:
            raise ValueError(prompt)
        return "good"

    model = FunctionModel(fail, name="server")
    assert model.complete(["bad", "fine", "bad", "fine"], 3) == ["", "good", "", "good"]
    with pytest.raises(DiscreetError, match=r"'server' failed on the public prompt \(ValueError\)") as caught:
        model.complete(["fine", "bad"], 3)
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None


@pytest.mark.parametrize("promised", [False, True])
def test_receipt_names_what_the_model_does_not_promise(tmp_path: Path, promised: bool) -> None:
    model = FunctionModel(repeat_record, name="server", row_independent=promised)
    vault = Vault.create(tmp_path / "v", epsilon=1e4, delta=1e-6, embedder="hashing")
    vault = Vault.open(vault.path, model=adapt_completer(model))
    vault.add_documents(Document(f"d{n}", f"p{n}", "Fever say: winter hand .") for n in range(60))
    answer = vault.ask("fever?", MuRAGAda(inner=Consensus(voters=40, max_tokens=4), epsilon=200))
    assert answer.answer is not None
    assert "winter hand" in answer.answer.lower()
    receipt = json.loads(json.dumps(answer.describe()))["receipt"]
    assert receipt.get("assumed", []) == list(find_assumptions(model))
    assert ("assumed" in receipt) is not promised


def test_adapter_refuses_too_few_completions() -> None:
    class Short(FunctionModel):
        def complete(self, prompts: object, max_tokens: int) -> list[str]:
            return []

    with pytest.raises(UsageError, match="0 completions for 1 prompts"):
        CompleterAdapter(Short(repeat_record)).start((), [Prompt((1,), 1)], 4)

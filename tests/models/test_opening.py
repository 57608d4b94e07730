"""Language models opened by their name in a vault's configuration."""

from pathlib import Path

import pytest

from discreet.errors import DiscreetError, UsageError
from discreet.models import loading
from discreet.models.capabilities import Capability, capabilities, require_capabilities, require_scores
from discreet.models.completer import CompleterAdapter
from discreet.models.loading import is_plugin_model, open_model
from discreet.models.toy import ToyModel
from discreet.operations.checks import language_model
from discreet.planning.checks import check_parts
from discreet.plugins import MODELS
from discreet.registry import Consensus, MuRAGAda
from discreet.store.documents import Document
from discreet.synthesis.dp_facts import DPFacts
from discreet.vault import Vault

PLUGIN = """
from discreet.models.completer import FunctionModel
from discreet.models.toy import ToyModel


def open_server(argument):
    return FunctionModel(lambda prompt, _: " " + argument, name=f"server of {argument}")


def open_toy(argument):
    return ToyModel(default=argument)


def open_liar(argument):
    calls = iter(range(10_000))
    return FunctionModel(lambda *_: str(next(calls)), name="liar", row_independent=True)


def open_nothing(argument):
    return object()


number = 7
"""
DECLARED = {
    "server": "model_plugin_module:open_server",
    "toy": "model_plugin_module:open_toy",
    "liar": "model_plugin_module:open_liar",
    "nothing": "model_plugin_module:open_nothing",
    "number": "model_plugin_module:number",
    "gone": "no_such_module_here:open",
    loading.PACKAGED: "model_plugin_module:open_server",
}


@pytest.fixture(autouse=True)
def plugins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Install a package that declares models."""
    site = tmp_path / "site"
    info = site / "model_plugins-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: model-plugins\nVersion: 1.0\n")
    lines = "\n".join(f"{name} = {value}" for name, value in DECLARED.items())
    (info / "entry_points.txt").write_text(f"[{MODELS}]\n{lines}\n")
    (site / "model_plugin_module.py").write_text(PLUGIN)
    monkeypatch.syspath_prepend(str(site))


def test_plugin_is_opened_with_its_argument() -> None:
    server = open_model("server:llama:8b")
    assert isinstance(server, CompleterAdapter)
    assert (server.name, server.row_independent) == ("server of llama:8b", False)
    assert server.complete(["x"], 4) == [" llama:8b"]
    assert open_model("server").complete(["x"], 4) == [" "]
    toy = open_model("toy:hello")
    assert isinstance(toy, ToyModel)
    assert toy.complete([""], 4) == [" hello"]


def test_model_without_independent_rows_must_not_declare_them() -> None:
    with pytest.raises(DiscreetError, match="'liar' declares row_independent=True"):
        open_model("liar")


@pytest.mark.parametrize(
    ("name", "error"),
    [
        ("nothing", "object has no name, row_independent, complete"),
        ("number", "it is int, not a function"),
        ("gone", "'gone' of the package model-plugins .*No module named 'no_such_module_here'"),
    ],
)
def test_defective_plugin_is_refused(name: str, error: str) -> None:
    with pytest.raises(UsageError, match=error):
        open_model(name)


def test_plugin_cannot_replace_the_packaged_model(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not is_plugin_model(loading.PACKAGED)
    toy = ToyModel()
    monkeypatch.setattr(loading, "load_model", lambda _: toy)
    assert open_model(loading.PACKAGED) is toy


def test_checks_before_a_vault_accept_a_plugin() -> None:
    check_parts("server:llama", "hashing")
    assert language_model("server:llama").missing == ""


def test_vault_answers_with_a_completer_and_refuses_synthesis(tmp_path: Path) -> None:
    vault = Vault.create(tmp_path / "v", epsilon=1e4, delta=1e-6, embedder="hashing", model="server:winter hand")
    vault.add_documents(Document(f"d{n}", f"p{n}", "Fever note.") for n in range(60))
    opened = Vault.open(vault.path)
    answer = opened.ask("fever?", MuRAGAda(inner=Consensus(voters=40, max_tokens=4), epsilon=200))
    assert answer.answer is not None
    assert answer.receipt is not None
    assert "winter hand" in answer.answer.lower()
    assert "server of winter hand" in answer.receipt.assumed[0]
    with pytest.raises(UsageError, match="requires a language model with logits"):
        opened.synthesize(tmp_path / "corpus.jsonl", DPFacts())
    assert not (tmp_path / "corpus.jsonl").exists()


def test_missing_capabilities_are_named() -> None:
    server = open_model("server")
    require_capabilities(server, {Capability.COMPLETIONS}, "consensus")
    with pytest.raises(UsageError, match="'x' requires a language model with votes, states; 'server of ' has only com"):
        require_capabilities(server, {Capability.STATES, Capability.VOTES}, "x")
    toy = ToyModel()
    assert require_scores(toy, "x") is toy
    assert Capability.STATES not in capabilities(toy)

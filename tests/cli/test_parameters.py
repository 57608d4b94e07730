"""Every parameter of an algorithm or method is an option of the commands, and their help fits one screen."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import pytest
from typer.testing import CliRunner

from discreet.algorithms.base import Algorithm
from discreet.cli.app import app
from discreet.cli.parameters import choose_method
from discreet.errors import UsageError
from discreet.registry import ALGORITHMS, Consensus, NonRAG
from discreet.synthesis.aug_pe import AugPE
from discreet.synthesis.base import SynthesisAlgorithm
from discreet.synthesis.dp_synrag import DPSynRAG
from discreet.vault import Vault
from discreet_lab.attacks.attack import Attack
from tests.cli.running import run


@pytest.mark.parametrize(
    ("command", "options"),
    [
        ("ask", ("--param", "--epsilon", "--choice", "--latency-step")),
        ("synthesize", ("--param", "--epsilon", "--method", "--plan")),
        ("eval", ("--param", "--epsilon", "--seeds", "--bert-score")),
        ("bench", ("--quick", "--epsilon", "--plugin", "--csv")),
        ("chat", ("--param", "--epsilon", "--yes")),
        ("attack", ("--param", "--epsilon", "--target", "--canaries")),
    ],
)
def test_help_fits_one_screen(command: str, options: tuple[str, ...]) -> None:
    result = CliRunner().invoke(app, [command, "--help"], env={"COLUMNS": "80", "TERMINAL_WIDTH": "80"})
    assert result.exit_code == 0
    assert len(result.output.splitlines()) <= 40
    assert all(option in result.output for option in options)


@dataclass(frozen=True)
class Counted(NonRAG):
    """A plug-in with a parameter of its own.

    Attributes:
        candles: the number of candles.
    """

    name: ClassVar[str] = "counted"

    candles: int = 3


@pytest.fixture
def plugin(monkeypatch: pytest.MonkeyPatch) -> str:
    """Register an algorithm of another package."""
    monkeypatch.setitem(ALGORITHMS, Counted.name, Counted)
    return Counted.name


def test_eval_takes_parameters_of_a_plugin(vault: Vault, plugin: str, monkeypatch: pytest.MonkeyPatch) -> None:
    found: list[Algorithm] = []
    questions = vault.path.parent / "questions.jsonl"
    questions.write_text('{"question": "Why?", "answers": ["Because."]}\n')

    def record(
        _: Vault, asked: object, algorithms: Sequence[Algorithm], *rest: object, **options: object
    ) -> list[object]:
        found.extend(algorithms)
        return []

    monkeypatch.setattr("discreet_lab.cli.evaluate.run_experiment", record)
    options = ("--algorithm", plugin, "--algorithm", "consensus", "--epsilon", 1, "--epsilon", 2)
    result = run("eval", vault.path, questions, *options, "--param", "candles=5", "--voters", 9)
    assert result.exit_code == 0, result.output
    assert found == [Counted(candles=5), Consensus(epsilon=1.0, voters=9), Consensus(epsilon=2.0, voters=9)]
    refused = run("eval", vault.path, questions, *options, "--param", "wax=5")
    assert refused.exit_code == 2
    assert "'counted' and 'consensus' has no parameter 'wax'" in refused.output


def test_attack_takes_parameters_of_a_plugin(vault: Vault, plugin: str, monkeypatch: pytest.MonkeyPatch) -> None:
    found: list[Attack] = []

    def record(_: Vault, wanted: Attack, on_progress: object) -> None:
        found.append(wanted)
        raise UsageError("Enough.")

    monkeypatch.setattr("discreet_lab.cli.attack.run_attack", record)
    monkeypatch.setattr("discreet_lab.attacks.targets.NAMES", (plugin, "dp-facts", "consensus"))
    targets = ("--target", plugin, "--target", "dp-facts")
    result = run("attack", vault.path, *targets, "--param", "candles=5", "--prefix", "It")
    assert "Enough." in result.output
    assert found[0].options == {"candles": 5, "prefix": "It", "max_tokens": 48}
    assert "has no parameter 'wax'" in run("attack", vault.path, *targets, "--param", "wax=5").output
    assert "Give it as --epsilon" in run("attack", vault.path, "--target", "consensus", "--param", "epsilon=5").output


@pytest.mark.parametrize(
    ("name", "texts", "method"),
    [
        ("dp-synrag", ["merge-similarity=0.8", "rerank=no"], DPSynRAG(alike=0.8, rerank=False)),
        ("dp-synrag", ["cluster_order=rare", "target_units=9"], DPSynRAG(first="rare", wanted=9)),
        ("aug-pe", ["about=a letter", "delta=none"], AugPE(about="a letter")),
    ],
)
def test_method_takes_its_parameters(name: str, texts: list[str], method: SynthesisAlgorithm[Any]) -> None:
    assert choose_method(name, texts) == method


def test_show_lists_parameters_of_a_method() -> None:
    result = run("algorithms", "show", "dp-synrag", "--json")
    shown = json.loads(result.output)
    assert shown["requires"] == ["logits"]
    found = {one["name"]: one for one in shown["parameters"]}
    assert found["merge_similarity"]["field"] == "alike"
    assert found["clusters"]["symbol"] == "R"
    assert "dp-synrag: " in run("algorithms", "show", "dp-synrag").output
    assert "dp-synrag" in run("algorithms").output

"""The check of language models on this machine, with tiny models of each family, on a processor."""

import csv
from pathlib import Path
from typing import Any

import pytest

from discreet.models.loading import load_model
from discreet.numerics import TESTED
from discreet_lab.experiments.__main__ import main
from tests.small_model import save_small_model

FAMILIES: dict[str, dict[str, Any]] = {
    "Llama": {},
    "OPT": {"ffn_dim": 64, "word_embed_proj_dim": 64},
    "GPTNeoX": {},
    "GPT2": {"n_embd": 64, "n_layer": 2, "n_head": 2, "n_positions": 128},
    "Qwen2": {"num_key_value_heads": 1},
    "Qwen3": {"num_key_value_heads": 1, "head_dim": 32},
    "Mistral": {"num_key_value_heads": 1, "sliding_window": 16},
    "Gemma2": {"num_key_value_heads": 1, "head_dim": 32, "sliding_window": 16},
    "Gemma3Text": {"num_key_value_heads": 1, "head_dim": 32, "sliding_window": 16},
    "Phi3": {"num_key_value_heads": 1},
}
SHORT = ("--rows", "5", "--shared", "12", "--own", "10", "--steps", "3", "--device", "cpu")
USUAL = ("Llama", "OPT")


def checked(folder: Path, *more: str) -> tuple[int, dict[str, str]]:
    """Return the exit code and the row of a model."""
    load_model.cache_clear()
    table = folder.parent / f"{folder.name}.csv"
    code = main(["speed", "models", str(folder), *SHORT, "--csv", str(table), *more])
    rows = list(csv.DictReader(table.read_text().splitlines()))
    return code, rows[0] if rows else {}


@pytest.mark.parametrize(
    "kind", [pytest.param(one, marks=() if one in USUAL else pytest.mark.long) for one in FAMILIES]
)
def test_family_passes(kind: str, tmp_path: Path) -> None:
    save_small_model(tmp_path / kind, kind, **FAMILIES[kind])
    code, row = checked(tmp_path / kind)
    assert code == 0, row
    assert (row["rows"], row["forward pass"], row["device"]) == ("yes", "library", "CPU")
    assert row["answers"] in ("2 of 3", "3 of 3")  # with random weights, rounding in bfloat16 may turn a word
    assert float(row["logits"]) < 0.05
    assert row["type"] in TESTED


def test_what_does_not_hold_ends_with_1(
    small_model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert checked(tmp_path / "absent") == (1, {**checked(tmp_path / "absent")[1], "rows": "REFUSED"})
    assert "There is no language model" in capsys.readouterr().out
    assert checked(small_model, "--minutes", "-1") == (1, {})
    assert "Not run, since -1 minutes are over" in capsys.readouterr().out
    monkeypatch.setattr("discreet_lab.experiments.speed.has_independent_rows", lambda *_: False)
    code, row = checked(small_model)
    assert (code, row["rows"]) == (1, "NO")

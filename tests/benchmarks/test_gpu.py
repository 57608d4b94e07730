"""The benchmark of the loop on a GPU runs with a tiny shape on the processor, and refuses where there is no GPU."""

from typing import Any

import pytest
import torch

from benchmarks import gpu


def test_tiny_shape_runs_and_rows_keep_their_bits(capsys: pytest.CaptureFixture[str]) -> None:
    given = ["--shape", "tiny", "--device", "cpu", "--rows", "5", "--own", "24", "--shared", "16"]
    assert gpu.main(given) == 0
    row = capsys.readouterr().out.strip().splitlines()[-1]
    assert row.startswith("| tiny | library | CPU |")
    assert row.endswith("| passed | yes |")
    assert any(f"| {told} |" in row for told in ("met", "missed"))


class PlaceActivation(torch.nn.Module):
    """An activation whose result depends on the place of a row."""

    def forward(self, numbers: Any) -> Any:
        flat = numbers.reshape(-1, numbers.shape[-1])
        return (flat + torch.arange(len(flat)).to(flat)[:, None]).reshape(numbers.shape)


@pytest.mark.parametrize("anyway", [False, True])
def test_model_that_a_vault_would_not_load_is_refused(capsys: pytest.CaptureFixture[str], anyway: bool) -> None:
    model = gpu.random_model(gpu.SHAPES["tiny"], "cpu")
    for layer in model.model.layers:
        layer.mlp.act_fn = PlaceActivation()
    row = gpu.measure("tiny", model, "cpu", gpu.Question(5, 16, 24, 4), anyway=anyway)
    assert len(row) == len(gpu.COLUMNS)
    assert row[-2] == "REFUSED"
    assert bool(row[3]) == bool(row[-1]) == anyway  # not measured, unless it is asked for
    assert "a vault would not load this model here" in capsys.readouterr().err


@pytest.mark.skipif(torch.cuda.is_available(), reason="a GPU is here")
def test_without_a_gpu_nothing_is_measured(capsys: pytest.CaptureFixture[str]) -> None:
    assert gpu.main([]) == 2
    assert "No GPU is here" in capsys.readouterr().err


def test_unknown_shape_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        gpu.main(["--shape", "70B"])
    assert "There is no shape 70B" in capsys.readouterr().err

"""The experiments on a GPU: with a tiny shape and a stand-in for vLLM, they tell rows that depend on others."""

import dataclasses
from collections.abc import Sequence
from typing import Any

import pytest
import torch

from discreet.generation.answers import Written
from discreet.generation.model import Prompt
from discreet.generation.vllm_model import FLAGS, VLLMModel
from discreet_lab.experiments import decoding_gpu as gpu
from discreet_lab.experiments.__main__ import main
from tests.generation.stand_in_vllm import LLM, SamplingParams


def test_tiny_shape_runs_and_rows_keep_their_bits(capsys: pytest.CaptureFixture[str]) -> None:
    given = ["--shape", "tiny", "--device", "cpu", "--rows", "5", "--own", "24", "--shared", "16"]
    assert main(["decoding", "gpu", *given]) == 0
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
    assert main(["decoding", "gpu"]) == 2
    assert "No GPU is here" in capsys.readouterr().err


def test_unknown_shape_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["decoding", "gpu", "--shape", "70B"])
    assert "There is no shape 70B" in capsys.readouterr().err


QUESTION = gpu.Question(rows=5, shared=3, own=8, steps=4)


class LeakingModel(VLLMModel):
    """A model whose answers depend on the first row."""

    def answers(self, shared: Sequence[int], prompts: Sequence[Prompt], *others: Any, **named: Any) -> list[Written]:
        found = super().answers(shared, prompts, *others, **named)
        return [dataclasses.replace(one, text=f"{one.text} {prompts[0].tokens}") for one in found]


@pytest.mark.parametrize(("kind", "equal"), [(VLLMModel, [True] * 4), (LeakingModel, [True, False, False, False])])
def test_rows_that_depend_on_others_are_told(
    kind: type[VLLMModel], equal: list[bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gpu, "_WORDS", 500)
    model = kind("m", LLM(max_model_len=4096, **FLAGS), SamplingParams)
    taken, different, found = gpu.compare_rows(model, QUESTION)
    assert found == equal
    assert taken > 0
    assert different == 1  # the stand-in says the same of rows without a wish


def test_without_vllm_nothing_is_measured(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["decoding", "vllm"]) == 2
    assert "vLLM is not installed" in capsys.readouterr().err

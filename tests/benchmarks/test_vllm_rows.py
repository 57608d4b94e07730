"""The benchmark of vLLM against the stand-in: it tells rows that depend on others, and ends where vLLM is missing."""

import dataclasses
from collections.abc import Sequence
from typing import Any

import pytest
from benchmarks.gpu import Question

from benchmarks import vllm_rows
from discreet.generation.answers import Written
from discreet.generation.model import Prompt
from discreet.generation.vllm_model import FLAGS, VLLMModel
from tests.generation.stand_in_vllm import LLM, SamplingParams

QUESTION = Question(rows=5, shared=3, own=8, steps=4)


class LeakingModel(VLLMModel):
    """A model whose answers depend on the first row."""

    def answers(self, shared: Sequence[int], prompts: Sequence[Prompt], *others: Any, **named: Any) -> list[Written]:
        found = super().answers(shared, prompts, *others, **named)
        return [dataclasses.replace(one, text=f"{one.text} {prompts[0].tokens}") for one in found]


@pytest.mark.parametrize(("kind", "equal"), [(VLLMModel, [True] * 4), (LeakingModel, [True, False, False, False])])
def test_rows_that_depend_on_others_are_told(
    kind: type[VLLMModel], equal: list[bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vllm_rows, "_WORDS", 500)
    model = kind("m", LLM(max_model_len=4096, **FLAGS), SamplingParams)
    taken, different, found = vllm_rows.compare_rows(model, QUESTION)
    assert found == equal
    assert taken > 0
    assert different == 1  # the stand-in says the same of rows without a wish


def test_without_vllm_nothing_is_measured(capsys: pytest.CaptureFixture[str]) -> None:
    assert vllm_rows.main([]) == 2
    assert "vLLM is not installed" in capsys.readouterr().err

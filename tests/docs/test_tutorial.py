"""The tutorial's blocks run in the page's order: with the toy model, and with the packaged one."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from discreet.cli.app import app
from discreet.generation.torch_backend.transformers_model import TransformersModel
from discreet.generation.toy import ToyModel
from tests.docs.pages import ROOT, Page

PAGE = Page(ROOT / "docs/tutorial.md")


def run_page(*embedder: str) -> dict[str, list[str]]:
    """Run all blocks, and return the lines that each question was answered with."""
    for block in PAGE.code("python"):
        exec(compile(block, PAGE.name, "exec"), {})
    answers: dict[str, list[str]] = {}
    for words, code in PAGE.exit_codes():
        result = CliRunner().invoke(app, [*words, *(embedder if words[0] == "init" else ())])
        assert result.exit_code == code, (words, result.output)
        if words[0] == "ask" and code == 0:
            answers[words[2]] = result.stdout.splitlines()
    return answers


def test_tutorial_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    model = ToyModel(default="nothing known")
    monkeypatch.setattr("discreet.generation.loading.load_model", lambda *_given, **_named: model)
    assert set(run_page("--embedder", "hashing")) == set(PAGE.answers())


def test_tutorial_answers_are_those_printed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, smollm: TransformersModel
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("discreet.generation.loading.load_model", lambda *_given, **_named: smollm)
    answered = run_page()
    for question, answer in PAGE.answers().items():
        assert answered[question][0] == answer

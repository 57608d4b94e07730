"""The blocks of the first hour run in the page's order: with the toy model, and with the packaged one."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from discreet.cli.app import app
from discreet.models.toy import ToyModel
from discreet.models.transformers_model import TransformersModel
from tests.docs.pages import ROOT, Page
from tests.docs.test_docs import without_numbers

PAGE = Page(ROOT / "docs/first-hour.md")


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


def test_first_hour_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    model = ToyModel(default="nothing known")
    monkeypatch.setattr("discreet.models.loading.load_model", lambda *_given, **_named: model)
    answered = run_page("--embedder", "hashing")
    assert set(answered) == set(PAGE.answers())
    for question, answer in PAGE.answers().items():
        if question.startswith(("How many", "What share")):
            assert without_numbers(answer) in without_numbers("\n".join(answered[question]))


def test_answers_of_the_first_hour_are_those_printed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, smollm: TransformersModel
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("discreet.models.loading.load_model", lambda *_given, **_named: smollm)
    answered = run_page()
    for question, answer in PAGE.answers().items():
        assert without_numbers(answer) in without_numbers(answered[question][0])

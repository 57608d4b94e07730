"""The experiments: each part says what it measures, and the list names the tables that it prints."""

import sys

import pytest

from discreet_lab.experiments.__main__ import load_part, main
from discreet_lab.experiments.catalogue import EXPERIMENTS, printed_tables

PARTS = [(name, part) for name, experiment in EXPERIMENTS.items() for part in experiment.parts]


@pytest.mark.parametrize(("name", "part"), PARTS)
def test_help_says_what_a_part_measures(name: str, part: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main([name, part, "--help"])
    assert ended.value.code == 0
    said = capsys.readouterr().out
    assert f"discreet_lab.experiments {name} {part}" in " ".join(said.split())
    assert (load_part(name, part).__doc__ or "").splitlines()[0] in said


def test_list_has_every_part_and_its_tables(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 0
    lines = capsys.readouterr().out.splitlines()
    for name, part in PARTS:
        assert any(line.startswith(f"{name}: ") for line in lines)
        assert any(line.split()[:1] == [part] for line in lines)
    assert printed_tables()["ledger", "payments"] == ["ledger"]


@pytest.mark.parametrize(("words", "said"), [(["haste"], "no experiment haste"), (["scale", "all"], "no part all")])
def test_unknown_name_is_refused(words: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words) == 2
    assert said in capsys.readouterr().err


def test_experiment_that_needs_a_checkout_says_so(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "tests", None)
    for name in [name for name in sys.modules if name.startswith(("tests.", "discreet_lab.experiments.serving"))]:
        monkeypatch.delitem(sys.modules, name)
    assert main(["serving", "load"]) == 2
    assert "Run it in the folder" in capsys.readouterr().err

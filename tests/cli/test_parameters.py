"""Every parameter of an algorithm is an option of `ask`, and the help still fits one screen."""

from typing import Any

import pytest
from typer.testing import CliRunner, Result

from discreet.cli.app import app
from discreet.cli.parameters import parse_for_any, parse_options
from discreet.errors import UsageError
from discreet.vault import Vault


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def test_help_of_ask_fits_one_screen() -> None:
    result = CliRunner().invoke(app, ["ask", "--help"], env={"COLUMNS": "80", "TERMINAL_WIDTH": "80"})
    assert result.exit_code == 0
    assert len(result.output.splitlines()) <= 40
    assert all(option in result.output for option in ("--param", "--epsilon", "--choice", "--latency-step"))


@pytest.mark.parametrize(
    ("name", "texts", "options"),
    [
        ("murag", ["similarity=0.3", "units-per-voter=2"], {"similarity": 0.3, "units_per_voter": 2}),
        ("murag", ["questions_per_unit=3"], {"uses": 3}),
        ("murag", ["uses=3"], {"uses": 3}),
        ("murag", ["inner=dp-vote-rag", "selection=observed"], {"inner": "dp-vote-rag", "selection": "observed"}),
        ("dp-rag", ["top-p=0.5", "levels=0.5,0.4"], {"share": 0.5, "levels": (0.5, 0.4)}),
    ],
)
def test_param_reaches_fields_and_those_of_the_inner_one(name: str, texts: list[str], options: dict[str, Any]) -> None:
    assert parse_options(name, texts) == options


def test_parameter_of_another_algorithm_names_its_owner() -> None:
    with pytest.raises(UsageError, match=r"'murag' has no parameter 'top_p'\..*Algorithms with top_p: dp-rag"):
        parse_options("murag", ["top_p=0.5"])


def test_parameter_given_twice_is_refused() -> None:
    with pytest.raises(UsageError, match="epsilon is given twice"):
        parse_options("murag", ["epsilon=2"], {"epsilon": 3.0})


def test_several_algorithms_take_what_they_have() -> None:
    assert parse_for_any(["rag", "murag"], ["units=2", "similarity=0.1"]) == {"units": 2, "similarity": 0.1}


@pytest.mark.parametrize("option", ["--target-units", "--wanted"])
def test_old_and_new_option_names_are_accepted(option: str, vault: Vault) -> None:
    result = run("ask", vault.path, "Why?", "--algorithm", "consensus", option, 9)
    assert result.exit_code == 2
    assert "'consensus' has no parameter 'target_units'" in result.output

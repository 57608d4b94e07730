"""`discreet --help`: all commands, in a newcomer's order, and none of them loaded."""

import subprocess
import sys

import pytest
import typer.main
from typer.testing import CliRunner

from discreet.cli.app import PANELS, app


def test_help_lists_every_command_and_loads_none() -> None:
    code = (
        "import sys; from discreet.cli.app import app\n"
        "try: app(['--help'])\n"
        "except SystemExit: pass\n"
        "sys.exit(bool({'numpy', 'sqlalchemy', 'opendp', 'torch', 'discreet.vault.vault'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert all(name in done.stdout for panel in PANELS.values() for name in panel)


@pytest.mark.parametrize("name", [name for panel in PANELS.values() for name in panel])
def test_summary_of_a_command_is_the_one_of_its_own_help(name: str) -> None:
    summary = next(panel[name][1] for panel in PANELS.values() if name in panel)
    command = typer.main.get_group(app).get_command(None, name)  # type: ignore[arg-type]
    assert command is not None
    assert (command.help or "").startswith(summary.rstrip("."))


@pytest.mark.parametrize(
    ("typed", "named"),
    [
        ("--chioce", "(Possible options: --choice)"),  # not --choices and --since, which the help does not list
        ("--wher", "(Possible options: --help, --where)"),  # the nearest one is a parameter of an algorithm
    ],
)
def test_misspelt_option_is_answered_with_listed_ones(typed: str, named: str) -> None:
    assert named in CliRunner().invoke(app, ["ask", "clinic", "Why?", typed]).output


def test_misspelt_command_is_answered_with_the_nearest() -> None:
    done = CliRunner().invoke(app, ["bugdet"])
    assert done.exit_code == 2
    assert "budget" in done.output

"""`discreet --help`: all commands, in a newcomer's order, and none of them loaded."""

import re
import subprocess
import sys
from typing import Any

import pytest
import typer.main

from discreet.cli.app import PANELS, app
from tests.cli.json_schemas import commands_with_json
from tests.cli.running import run

NAMES = typer.main.get_group(app).list_commands(None)  # type: ignore[arg-type]
WITH_JSON = set(commands_with_json())


def test_help_lists_every_command_and_loads_none() -> None:
    code = (
        "import sys; from discreet.cli.app import app\n"
        "try: app(['--help'])\n"
        "except SystemExit: pass\n"
        "sys.exit(bool({'numpy', 'sqlalchemy', 'opendp', 'torch', 'discreet.vault.vault'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert all(name in done.stdout for name in NAMES)
    headings = re.findall(r"─ ([A-Z][a-z ]+) ─", done.stdout)
    assert headings == ["Options", *PANELS]


@pytest.mark.parametrize("name", NAMES)
def test_summary_of_a_command_is_the_one_of_its_own_help(name: str) -> None:
    group: Any = typer.main.get_group(app)
    assert group.get_command(None, name).help.startswith(group._summaries[name].help.rstrip("."))
    shown = run(name, "--help")
    assert (shown.exit_code, name not in WITH_JSON or "--json" in shown.output) == (0, True)


@pytest.mark.parametrize(
    ("typed", "named"),
    [
        ("--chioce", "(Possible options: --choice)"),  # not --choices and --since, which the help does not list
        ("--wher", "(Possible options: --help, --where)"),  # the nearest one is a parameter of an algorithm
    ],
)
def test_misspelt_option_is_answered_with_listed_ones(typed: str, named: str) -> None:
    assert named in run("ask", "clinic", "Why?", typed).output


def test_misspelt_command_is_answered_with_the_nearest() -> None:
    done = run("bugdet")
    assert done.exit_code == 2
    assert "budget" in done.output

"""Commands of other packages: listed by their declaration, loaded when they are called, and refused one by one."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from discreet.cli.app import app, loaded_commands
from discreet.cli.man import write_pages
from discreet.plugins import COMMANDS
from tests.test_plugins import install

DECLARED = """
from discreet.plugins import PluginCommand

WEATHER = PluginCommand("weather_command", "Show the weather.", heading="Weather")
DEAD = PluginCommand("dead_command", "Fail.", heading="Weather")
MUTE = PluginCommand("weather_declared", "Define nothing.")
MODULE = "weather_command"
"""
WEATHER = """
from discreet.cli.app import Json, app
from discreet.cli.output import explained, out


@app.command("weather")
@explained
def weather(as_json: Json = False) -> None:
    '''Show the weather.'''
    out.print("It is fair.")
"""
MODULES = ("weather_declared", "weather_command", "dead_command")


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A package with a command that works, and with others."""
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "weather_declared.py").write_text(DECLARED)
    (tmp_path / "weather_command.py").write_text(WEATHER)
    (tmp_path / "dead_command.py").write_text("raise RuntimeError('no driver')\n")
    works = {name: f"weather_declared:{name.upper()}" for name in ("weather", "dead", "mute")}
    taken = dict.fromkeys(("ask", "eval"), "weather_declared:WEATHER")
    install(tmp_path, "weather", COMMANDS, text="weather_declared:MODULE", gone="no_such_module:GONE", **works, **taken)
    yield tmp_path
    loaded_commands.pop("weather", None)
    for name in MODULES:
        sys.modules.pop(name, None)


def run(*words: str) -> tuple[int, str, str]:
    done = CliRunner().invoke(app, list(words), env={"COLUMNS": "200"})
    return done.exit_code, done.stdout, done.stderr


def test_help_lists_a_command_by_its_declaration_alone(site: Path) -> None:
    code, shown, failures = run("--help")
    assert code == 0
    assert "─ Weather ─" in shown
    assert "Show the weather." in shown
    assert not {"weather_command", "dead_command"} & set(sys.modules)
    # The package takes no name of a part of discreet, and what it declares wrongly stops nothing.
    assert "Ask a question" in shown
    assert shown.count("Show the weather.") == 1
    assert sorted(line.partition(" cannot be used: ")[0] for line in failures.splitlines()) == [
        "The plug-in 'ask' of the package weather in discreet.commands",
        "The plug-in 'eval' of the package weather in discreet.commands",
        "The plug-in 'gone' of the package weather in discreet.commands",
        "The plug-in 'text' in discreet.commands",
    ]


def test_command_runs(site: Path) -> None:
    assert run("weather") == (0, "It is fair.\n", "")
    assert "Show the weather." in run("weather", "--help")[1]
    assert "weather" in run("wether")[2]


@pytest.mark.parametrize(
    ("name", "defect"),
    [
        ("dead", "RuntimeError: no driver."),
        ("mute", "weather_declared defines no command 'mute'."),
        ("text", "it is no discreet.plugins.PluginCommand."),
        ("gone", "ModuleNotFoundError: No module named 'no_such_module'."),
    ],
)
def test_broken_command_says_why(site: Path, name: str, defect: str) -> None:
    said = f"The plug-in '{name}' of the package weather in discreet.commands cannot be used: {defect}"
    code, shown, error = run(name)
    assert (code, shown) == (2, "")
    assert said in error
    code, shown, error = run(name, "--json")
    assert (code, error) == (2, "")
    assert said in json.loads(shown)["message"]


def test_shell_completes_it_and_manual_has_a_page(site: Path, tmp_path: Path) -> None:
    for line, expected in (("discreet wea", ["weather"]), ("discreet dea", []), ("discreet weather --js", ["--json"])):
        environment = {"_DISCREET_COMPLETE": "complete_bash", "COMP_WORDS": line, "COMP_CWORD": str(line.count(" "))}
        assert CliRunner().invoke(app, [], prog_name="discreet", env=environment).stdout.split() == expected
    pages = {path.name for path in write_pages(tmp_path / "man")}
    assert {"discreet-weather.1", "discreet-eval.1", "discreet-claim-projection.1"} <= pages
    assert not {"discreet-dead.1", "discreet-mute.1"} & pages

"""`discreet schema`, `--quiet`, NO_COLOR, completion and manual pages."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from discreet.cli import output
from discreet.cli.man import write_pages
from discreet.cli.output import err
from discreet.cli.schema import find_schemas, list_schemas, make_schema
from tests.cli.json_schemas import commands_with_json
from tests.cli.running import run

SCHEMAS = list(list_schemas())
ROW = {"id": "d", "unit": "p", "text": "Ana has winter hand."}


def test_every_command_with_json_has_a_schema() -> None:
    assert [name for name in commands_with_json() if not find_schemas(name)] == []


def test_every_schema_belongs_to_a_command() -> None:
    assert {one for name in commands_with_json() for one in find_schemas(name)} | {"error"} == set(SCHEMAS)


def undescribed(schema: Any, path: str = "") -> Iterator[str]:
    """The properties of a schema, at any depth, of which it is not said what they are before it is said why not."""
    if isinstance(schema, list):
        for part in schema:
            yield from undescribed(part, path)
    elif isinstance(schema, dict):
        for name, part in schema.get("properties", {}).items():
            if str(part.get("description", "")).strip().lower().startswith(("null", "none")) or not part.get(
                "description"
            ):
                yield f"{path}/{name}"
            yield from undescribed(part, f"{path}/{name}")
        for keyword, part in schema.items():
            if keyword != "properties":
                yield from undescribed(part, path)


@pytest.mark.parametrize("name", SCHEMAS)
def test_schema_is_one_and_describes_what_it_requires(name: str) -> None:
    schema = make_schema(name)
    Draft202012Validator.check_schema(schema)
    assert schema["title"]
    assert set(schema["required"]) <= set(schema["properties"])
    assert schema["additionalProperties"] is False
    assert list(undescribed(schema)) == []


def test_schema_is_printed_by_the_name_of_a_command() -> None:
    assert run("schema").stdout.split() == SCHEMAS
    assert json.loads(run("schema", "key", "issue").stdout)["title"] == "A key with its secret."
    assert json.loads(run("schema", "ask").stdout)["title"] == "An answer as it leaves."


def test_unknown_schema_is_explained() -> None:
    done = run("schema", "budgt")
    assert done.exit_code == 2
    assert "Did you mean budget" in done.output


@pytest.mark.parametrize("where", ["before", "after"])
def test_quiet_shows_no_progress(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str) -> None:
    monkeypatch.setattr(output, "FIRST_LINE", 0.0)
    monkeypatch.setattr(err, "shows_progress", True)
    notes = tmp_path / "notes.jsonl"
    notes.write_text("\n".join(json.dumps(ROW | {"id": f"d{n}", "unit": f"p{n}"}) for n in range(2000)))
    run("init", tmp_path / "v", "--epsilon", 8, "--delta", 1e-6, "--embedder", "hashing", "--unit-field", "unit")
    command = ["add", tmp_path / "v", notes, "--yes"]
    done = run(*(["--quiet", *command] if where == "before" else [*command, "--quiet"]))
    assert done.exit_code == 0
    assert "so far" not in done.stderr
    assert " left" not in done.stderr


@pytest.mark.parametrize("name", ["NO_COLOR", "TERM"])
def test_output_has_no_colour_where_none_is_wanted(name: str) -> None:
    value = {"NO_COLOR": "1", "TERM": "dumb"}[name]
    command = [sys.executable, "-m", "discreet", "budget", "no-such-vault"]
    done = subprocess.run(command, capture_output=True, text=True, env=os.environ | {name: value}, check=False)
    assert done.returncode == 2
    assert "\x1b" not in done.stdout + done.stderr


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_of_a_shell_is_shown(shell: str) -> None:
    command = [sys.executable, "-c", "from discreet.cli import main; main()", "--show-completion", shell]
    named = {"_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"}  # else it is the shell that runs the tests
    done = subprocess.run(command, capture_output=True, text=True, env=os.environ | named, check=False)
    assert "complete" in done.stdout.lower(), done.stderr


def test_manual_has_a_page_for_each_command(tmp_path: Path) -> None:
    pages = {path.name for path in write_pages(tmp_path)}
    assert {f"discreet-{name.replace(' ', '-')}.1" for name in commands_with_json()} <= pages
    page = (tmp_path / "discreet-undo.1").read_text()
    assert page.startswith('.TH "DISCREET-UNDO" 1')
    assert "\n.SH OPTIONS\n" in page
    assert "\\-\\-yes" in page
    assert ".B 130\nInterrupted by Ctrl-C." in page

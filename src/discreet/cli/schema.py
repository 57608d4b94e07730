"""`discreet schema`: the JSON Schema of what a command prints with `--json`."""

import json
from collections.abc import Sequence
from importlib.resources import files
from typing import Annotated

import typer

from discreet.cli.app import app
from discreet.cli.completion import complete_from
from discreet.cli.output import err, explained, out
from discreet.errors import UnknownName

FOLDER = files("discreet") / "schemas"
SCHEMAS = sorted(file.name.removesuffix(".json") for file in FOLDER.iterdir() if file.name.endswith(".json"))
"""The names of all schemas: of a command "key issue" it is "key-issue"."""
_VARIANTS = ("", "-preview", "-plan", "-analyst", "-units", "-documents", "-batches", "-tables")
"""What an option or an argument of a command adds to the name."""


def find_schemas(command: str) -> list[str]:
    """Return the names of the schemas of a command, "" if it has none: those of `ask` are "answer" and "ask-plan"."""
    if command == "ask":
        return ["answer", "ask-plan"]
    name = "-".join(command.split())
    return [one for one in (f"{name}{variant}" for variant in _VARIANTS) if one in SCHEMAS]


@app.command()
@explained
def schema(
    command: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="COMMAND",
            help="A command: ask, key issue. Default: list all.",
            autocompletion=complete_from(SCHEMAS),
        ),
    ] = None,
) -> None:
    """Print the JSON Schema of what a command prints with --json.

    A key keeps its meaning until the schema's version rises. New keys may come. "error" is the schema of a command
    that fails. If an option changes what a command prints, that schema has a name of its own, such as ask-plan.
    """
    if not command:
        out.print("\n".join(SCHEMAS), markup=False)
        return
    given = " ".join(command)
    found = [given] if given in SCHEMAS else find_schemas(given)
    if not found:
        raise UnknownName("schema", given, SCHEMAS)
    if given == "list":  # no option, but an argument that must be given decides
        print(_any_of(given, found))
        return
    print(_read(found[0]), end="")
    if others := [name for name in find_schemas(given) if name != found[0]]:
        err.print(f"Other schemas of this command: {', '.join(others)}.", markup=False)


def _any_of(command: str, names: Sequence[str]) -> str:
    """Return the schema of a command whose argument decides which object it prints, in the text of JSON."""
    parts = [json.loads(_read(name)) for name in names]
    (dialect,) = {part.pop("$schema") for part in parts}
    whole = {"$schema": dialect, "title": f"What discreet {command} prints with --json", "anyOf": parts}
    return json.dumps(whole, indent=2)


def _read(name: str) -> str:
    return (FOLDER / f"{name}.json").read_text(encoding="utf-8")

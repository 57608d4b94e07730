"""`discreet schema`: the JSON Schema of what a command prints with `--json`."""

from importlib.resources import files
from typing import Annotated

import typer

from discreet.cli.app import app
from discreet.cli.output import explained, out
from discreet.errors import UnknownName

FOLDER = files("discreet") / "schemas"
SCHEMAS = sorted(file.name.removesuffix(".json") for file in FOLDER.iterdir() if file.name.endswith(".json"))
"""The names of all schemas: of a command "key issue" it is "key-issue"."""
_VARIANTS = ("", "-preview", "-plan", "-analyst", "-units", "-documents", "-batches", "-spellings", "-tables")
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
        list[str] | None, typer.Argument(metavar="COMMAND", help="A command: ask, key issue. Default: list all.")
    ] = None,
) -> None:
    """Print the JSON Schema of what a command prints with --json.

    A key keeps its meaning until the schema's version rises. New keys may come. "error" is the schema of a command
    that fails.
    """
    if not command:
        out.print("\n".join(SCHEMAS), markup=False)
        return
    given = " ".join(command)
    found = [given] if given in SCHEMAS else find_schemas(given)
    if not found:
        raise UnknownName("schema", given, SCHEMAS)
    for name in found:
        print((FOLDER / f"{name}.json").read_text(encoding="utf-8"), end="")

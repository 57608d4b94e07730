"""Which schema belongs to a command's `--json`, and whether an output fits it."""

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any

from jsonschema import Draft202012Validator
from typer.main import get_group

from discreet.cli.app import app
from discreet.cli.schema import find_schemas, make_schema

OPTIONS = {"add": "--preview", "ask": "--plan", "bench": "--list", "budget": "--analyst", "synthesize": "--plan"}
"""With this option, the command prints another object."""


def commands_with_json() -> Iterator[str]:
    """Return the names of all commands that have `--json`."""
    group = get_group(app)
    context = group.make_context("discreet", [], resilient_parsing=True)
    for name in group.list_commands(context):
        yield from _with_json(name, group.get_command(context, name), context)


def _with_json(name: str, command: Any, context: Any) -> Iterator[str]:
    if any(one.name == "as_json" for one in command.params):
        yield name
    if hasattr(command, "list_commands"):
        for word in command.list_commands(context):
            yield from _with_json(f"{name} {word}", command.get_command(context, word), context)


def find_schema(arguments: Sequence[str], content: Mapping[str, Any]) -> str:
    """Return the name of the schema of an output."""
    if {"error", "exit_code"} <= set(content):
        return "error"
    words = [word for word in map(str, arguments) if not word.startswith("-")]
    names = find_schemas(" ".join(words[:2])) or find_schemas(words[0])
    if words[0] == "list":
        return f"list-{words[2]}"
    special = OPTIONS.get(words[0]) in arguments
    return next(name for name in names if (name.endswith(("-preview", "-plan", "-analyst", "-tables"))) == special)


def check(arguments: Sequence[str], content: Mapping[str, Any]) -> None:
    """Check that an output fits its schema.

    Raises:
        ValidationError: if it does not.
    """
    _validator(find_schema(arguments, content)).validate(content)


@cache
def _validator(name: str) -> Draft202012Validator:
    return Draft202012Validator(make_schema(name))

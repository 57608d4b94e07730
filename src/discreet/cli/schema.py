"""`discreet schema`: the JSON Schema of what a command prints with `--json`."""

import json
import pkgutil
import re
from dataclasses import fields
from functools import cache
from typing import Annotated, Any, Union

import typer
from pydantic import TypeAdapter
from pydantic.json_schema import GenerateJsonSchema

from discreet.cli.app import DECLARED, app, complete_from
from discreet.cli.output import err, explained, out
from discreet.errors import UnknownName
from discreet.parameters import read_attributes
from discreet.plugins import COMMANDS, PluginCommand, load_usable
from discreet.system.plain import Sparse, is_required, key_of

DIALECT = "https://json-schema.org/draft/2020-12/schema"
_VARIANTS = ("", "-preview", "-plan", "-analyst", "-units", "-documents", "-batches", "-tables")
"""What an option or an argument of a command adds to the name."""


@cache
def list_schemas() -> dict[str, str]:
    """Return the class of each object that a command prints, as MODULE:CLASS, by the name of its schema, in order.

    The name of what "key issue" prints is "key-issue".
    """
    plugins = [one for one in load_usable(COMMANDS).values() if isinstance(one, PluginCommand)]
    own = {
        name: kind if ":" in kind else f"{one.module}:{kind}" for one in plugins for name, kind in one.prints.items()
    }
    return dict(sorted((own | {name: f"discreet.{path}" for name, path in DECLARED["prints"].items()}).items()))


def find_schemas(command: str) -> list[str]:
    """Return the names of the schemas of a command, "" if it has none: those of `ask` are "answer" and "ask-plan"."""
    if command == "ask":
        return ["answer", "ask-plan"]
    name = "-".join(command.split())
    return [one for one in (f"{name}{variant}" for variant in _VARIANTS) if one in list_schemas()]


def make_schema(*names: str) -> dict[str, Any]:
    """Return the JSON Schema of the objects with these names: of any one of them, if there are several."""
    return schema_of(*(pkgutil.resolve_name(list_schemas()[name]) for name in names))


def schema_of(*kinds: type) -> dict[str, Any]:
    """Return the JSON Schema of the objects of a dataclass: of any one of them, if there are several."""
    one: Any = Union[kinds]  # noqa: UP007 - of a list
    json_schema = TypeAdapter(one).json_schema(mode="serialization", schema_generator=_Generator)
    return {"$schema": DIALECT, **json_schema}


class _Generator(GenerateJsonSchema):
    """The schema of a dataclass, with the descriptions of its docstring. An object has no other keys."""

    def dataclass_schema(self, schema: Any) -> dict[str, Any]:
        generated, kind, properties, required = super().dataclass_schema(schema), schema["cls"], {}, []
        texts = read_attributes(kind)
        for field in fields(kind):
            part = {name: value for name, value in generated["properties"][field.name].items() if name != "default"}
            properties[key_of(field)] = {"description": _sentence(texts.get(field.name, "")), **part}
            if is_required(field) or not issubclass(kind, Sparse):
                required.append(key_of(field))
        return {
            "title": (kind.__doc__ or "").partition("\n")[0],
            "type": "object",
            "required": required,
            "properties": properties,
            "additionalProperties": False,
        }

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False

    def sort(self, value: Any, parent_key: str | None = None) -> Any:
        return value  # the order of the fields says what belongs together


def _sentence(text: str) -> str:
    return text[:1].upper() + re.sub(r"\bNone\b", "null", text[1:])


@app.command()
@explained
def schema(
    command: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="COMMAND",
            help="A command: ask, key issue. Default: list all.",
            autocompletion=lambda incomplete: complete_from(list_schemas())(incomplete),
        ),
    ] = None,
) -> None:
    """Print the JSON Schema of what a command prints with --json.

    A key keeps its meaning until the schema's version rises. New keys may come. "error" is the schema of a command
    that fails. If an option changes what a command prints, that schema has a name of its own, such as ask-plan.
    """
    if not command:
        out.print("\n".join(list_schemas()), markup=False)
        return
    given = " ".join(command)
    names = [given] if given in list_schemas() else find_schemas(given)
    if not names:
        raise UnknownName("schema", given, list(list_schemas()))
    shown = names if given == "list" else names[:1]  # no option, but an argument that must be given decides
    print(json.dumps(make_schema(*shown), indent=2))
    if others := [name for name in find_schemas(given) if name not in shown]:
        err.print(f"Other schemas of this command: {', '.join(others)}.", markup=False)

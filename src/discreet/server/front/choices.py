"""Choices among public answers, from OpenAI's and vLLM's parameters, and the JSON that such a client expects."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from discreet.server.front.errors import invalid

MOST_CHOICES = 64
LONGEST_CHOICE = 1000
_DEEPEST = 8


@dataclass(frozen=True)
class AnswerShape:
    """The shape of an answer that a JSON schema with one enum asks for.

    Attributes:
        path: the names of the objects around the chosen value, from the outermost.
    """

    path: tuple[str, ...] = ()

    def wrap(self, chosen: str) -> str:
        """Return the chosen answer as JSON that is valid for the schema."""
        value: Any = chosen
        for name in reversed(self.path):
            value = {name: value}
        return json.dumps(value, ensure_ascii=False)


def check_choices(value: object, param: str) -> tuple[str, ...]:
    """Return the choices of a list of texts.

    Raises:
        FrontError: if it is no list of 2 to 64 different texts.
    """
    if not isinstance(value, list) or not 2 <= len(value) <= MOST_CHOICES:
        raise invalid(param, f"It must be a list of 2 to {MOST_CHOICES} texts.")
    for one in value:
        if not isinstance(one, str) or not one.strip() or len(one) > LONGEST_CHOICE:
            raise invalid(param, f"A choice must be a text of 1 to {LONGEST_CHOICE} characters.")
    if len(set(value)) < len(value):
        raise invalid(param, "Each choice must differ from the others.")
    return tuple(value)


def of_response_format(value: object) -> tuple[tuple[str, ...], AnswerShape | None]:
    """Return the choices and the shape that `response_format` asks for; none for plain text.

    Raises:
        FrontError: if it asks for JSON in which not exactly one enum of texts stands.
    """
    param = "response_format"
    if value is None:
        return (), None
    kind = value.get("type") if isinstance(value, dict) else None
    if kind == "text":
        return (), None
    if not isinstance(value, dict) or kind != "json_schema":
        raise invalid(param, "Its type must be 'text', or 'json_schema' with one enum.")
    wrapper = value.get("json_schema")
    schema = wrapper.get("schema") if isinstance(wrapper, dict) else None
    if not isinstance(schema, dict):
        raise invalid(param, "json_schema.schema must be an object.")
    path, enum = _find_enum(schema, schema, 0)
    return check_choices(enum, param), AnswerShape(path)


def _find_enum(schema: object, root: Mapping[str, Any], depth: int) -> tuple[tuple[str, ...], object]:
    """Return the names of the objects around the one enum of a schema, and its values."""
    wanted = invalid("response_format", "The schema must be one enum of texts, or an object with one such property.")
    if depth > _DEEPEST or not isinstance(schema, dict):
        raise wanted
    if "$ref" in schema:
        return _find_enum(_resolve(schema["$ref"], root), root, depth + 1)
    if "enum" in schema:
        if schema.get("type", "string") != "string":
            raise wanted
        return (), schema["enum"]
    properties = schema.get("properties")
    if schema.get("type", "object") != "object" or not isinstance(properties, dict) or len(properties) != 1:
        raise wanted
    ((name, inner),) = properties.items()
    path, enum = _find_enum(inner, root, depth + 1)
    return (name, *path), enum


def _resolve(reference: object, root: Mapping[str, Any]) -> object:
    """Return the definition that `#/$defs/NAME` names in a schema; None if there is none."""
    for place in ("$defs", "definitions"):
        start = f"#/{place}/"
        definitions = root.get(place)
        if isinstance(reference, str) and reference.startswith(start) and isinstance(definitions, dict):
            return definitions.get(reference.removeprefix(start))
    return None

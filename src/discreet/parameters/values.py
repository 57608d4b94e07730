"""Parse the texts of parameters into the types of their fields."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from discreet.errors import UsageError
from discreet.parameters.assignments import find_parameter, suggest_names
from discreet.parameters.fields import Parameter

_YES, _NO = ("true", "yes", "on", "1"), ("false", "no", "off", "0")


def parse_values(
    values: Mapping[str, Sequence[str]], parameters: Sequence[Parameter], owner: str, help_command: str
) -> dict[str, Any]:
    """Return the value of each named field, parsed into the field's type.

    Args:
        values: texts by the name of an option or a field, as `read_assignments` returns them.
        parameters: the known parameters.
        owner: the name of the algorithm that has the parameters, for messages.
        help_command: the command that lists the parameters, for messages.

    Raises:
        UsageError: if a name is unknown, if a single value is given twice, or if a text has another type.
    """
    parsed: dict[str, Any] = {}
    for name, texts in values.items():
        parameter = find_parameter(name, parameters)
        if parameter is None:
            raise UsageError(
                f"'{owner}' has no parameter '{name}'. {suggest_names(name, parameters)} See: {help_command}"
            )
        if parameter.name in parsed:
            raise UsageError(f"{parameter.option} is given twice, also as {parameter.name}. Give it once.")
        parsed[parameter.name] = _parse(texts, parameter)
    return parsed


def _parse(texts: Sequence[str], parameter: Parameter) -> Any:
    if parameter.several:
        split = parameter.kind is not str  # a text may contain a comma
        parts = [part for text in texts for part in (text.split(",") if split else [text])]
        return tuple(_parse_one(part, parameter) for part in parts)
    if len(set(texts)) > 1:
        raise UsageError(
            f"{parameter.option} expects one value; {len(texts)} are given: {', '.join(texts)}. Give it once."
        )
    if parameter.optional and texts[0].strip().casefold() == "none":
        return None
    return _parse_one(texts[0], parameter)


def _parse_one(text: str, parameter: Parameter) -> Any:
    readers: dict[Any, Callable[[str], Any]] = {int: int, float: float, bool: _parse_bool}
    read = readers.get(parameter.kind, str)
    try:
        value = read(text)
    except ValueError:
        raise _wrong(text, parameter) from None
    if parameter.allowed and value not in parameter.allowed:
        raise _wrong(text, parameter)
    return value


def _parse_bool(text: str) -> bool:
    word = text.strip().casefold()
    if word not in (*_YES, *_NO):
        raise ValueError(word)
    return word in _YES


def _wrong(text: str, parameter: Parameter) -> UsageError:
    example = f" Example: --param {parameter.option}={parameter.default}." if parameter.default else ""
    return UsageError(f"{parameter.option} expects: {parameter.expected}; the value given is '{text[:40]}'.{example}")

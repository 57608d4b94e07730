"""The parameters of an algorithm: the fields of its dataclass, for help texts and for `--param name=value`.

Their descriptions stand in the docstring of the class, in a section of Google's form: "Attributes:", then "name: text"
in each line. Two names may share an entry ("highest, lowest: text"). The first name in parentheses is the symbol of the
paper: "the threshold of relevance (tau)".
"""

import inspect
import re
import types
import typing
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import MISSING, Field, dataclass, fields, is_dataclass
from difflib import get_close_matches
from typing import Any, Literal, get_args, get_origin

from discreet.errors import UsageError

_SECTION = re.compile(r"(?:Attributes|Parameters|Args):\s*")
_ENTRY = re.compile(r"(?P<names>\w+(?:, \w+)*)(?: \([^)]*\))?: *(?P<text>.*)")
_GREEK = "alpha|beta|gamma|delta|epsilon|eta|theta|kappa|lambda|mu|nu|pi|rho|sigma|tau|phi|chi|psi|omega"
_SYMBOL = rf"(?:[A-Za-z]|\w+_\w+|{_GREEK}|{_GREEK.title()})"
_NAMED = re.compile(rf"\((?:the paper's )?({_SYMBOL}(?: and {_SYMBOL})?)(?: of [\w-]+)?\)|the paper's ({_SYMBOL})\b")


def read_attributes(kind: type) -> dict[str, str]:
    """Return the description of each attribute from the docstrings of a class and its bases. The class comes first."""
    texts: dict[str, str] = {}
    for base in kind.__mro__:
        for name, text in _entries(inspect.cleandoc(base.__dict__.get("__doc__") or "")).items():
            texts.setdefault(name, text)
    return texts


def _find_symbol(text: str, position: int, names: int) -> str:
    """Return the symbol of the paper that a text names; "" if it names none.

    Args:
        text: the description of an attribute.
        position: the attribute's position among those that share the text.
        names: the number of attributes that share the text.
    """
    match = _NAMED.search(text)
    if match is None:
        return ""
    symbols = (match[1] or match[2]).split(" and ")
    return symbols[position] if len(symbols) == names else symbols[0]


def read_symbols(kind: type) -> dict[str, str]:
    """Return the symbol of the paper for each attribute that has one."""
    texts = read_attributes(kind)
    shared: dict[str, list[str]] = {}
    for name, text in texts.items():
        shared.setdefault(text, []).append(name)
    symbols = {
        name: _find_symbol(text, position, len(names))
        for text, names in shared.items()
        for position, name in enumerate(names)
    }
    return {name: symbol for name, symbol in symbols.items() if symbol}


def _entries(doc: str) -> dict[str, str]:
    """Return the entries of the section on attributes, each on one line."""
    entries: dict[str, list[str]] = {}
    current: list[str] = []
    inside, margin = False, 0
    for line in doc.splitlines():
        text, indent = line.strip(), len(line) - len(line.lstrip())
        if _SECTION.fullmatch(line):
            inside, margin = True, 0
        elif inside and text and not indent:
            inside = False
        elif inside and text:
            margin = margin or indent
            entry = _ENTRY.fullmatch(text) if indent == margin else None
            if entry:
                current = [entry["text"]]
                entries |= dict.fromkeys(entry["names"].split(", "), current)
            else:
                current.append(text)
    return {name: " ".join(part for part in parts if part) for name, parts in entries.items()}


_PROJECT = __name__.split(".")[0]
_OPTIONS = {
    "about": "seed_topic",
    "alike": "merge_similarity",
    "first": "cluster_order",
    "shape": "logit_transform",
    "share": "top_p",
    "uses": "questions_per_unit",
    "wanted": "target_units",
}
"""The option names of fields on the command line. Vaults store the field names, so those cannot change. The metadata of
a field may have another `option`."""
_WORDS = {int: "whole number", float: "number", bool: "yes or no", str: "text"}


@dataclass(frozen=True)
class Parameter:
    """A parameter of an algorithm.

    Attributes:
        name: the name of the field.
        option: the name on the command line; usually the same.
        kind: the type of one value, such as int.
        allowed: all values that a `Literal` type permits; empty for other types.
        several: whether the value is a tuple of values.
        optional: whether None is a value.
        required: whether the field has no default.
        default: the default; None if there is no default.
        meaning: the description in the docstring.
        symbol: the symbol in the paper; "" if the docstring names none.
    """

    name: str
    option: str
    kind: Any
    allowed: tuple[str, ...]
    several: bool
    optional: bool
    required: bool
    default: Any
    meaning: str
    symbol: str

    @property
    def expected(self) -> str:
        """The type in words."""
        if self.allowed:
            return f"one of {', '.join(self.allowed)}"
        word = _WORDS.get(self.kind, "name of an algorithm")
        more = "; give it several times" if self.kind is str else ", or several, with commas"  # a text may contain one
        return word + more if self.several else word

    @property
    def spelled(self) -> str:
        """The option with its hyphens, as the user types it."""
        return "--" + self.option.replace("_", "-")


def read_parameters(kind: type) -> tuple[Parameter, ...]:
    """Return the parameters of a dataclass, in the order of its fields.

    Raises:
        UsageError: if `kind` is not a dataclass.
    """
    if not is_dataclass(kind):
        raise UsageError(
            f"'{kind.__name__}' is not a dataclass, so it has no parameters. Decorate the class with @dataclass."
        )
    texts, symbols, hints = read_attributes(kind), read_symbols(kind), _hints(kind)
    return tuple(
        _parameter(kind, field, hints.get(field.name, field.type), texts.get(field.name, ""), symbols)
        for field in fields(kind)
        if field.init and not field.metadata.get("hidden")
    )


def _parameter(kind: type, field: Field[Any], hint: Any, meaning: str, symbols: dict[str, str]) -> Parameter:
    one, optional = _without_none(hint)
    several = get_origin(one) in (tuple, list)
    if several:
        one = (get_args(one) or (str,))[0]
    allowed = tuple(str(value) for value in get_args(one)) if get_origin(one) is Literal else ()
    default = field.default_factory() if field.default_factory is not MISSING else field.default
    renamed = _OPTIONS.get(field.name, field.name) if _is_own(kind, field.name) else field.name
    return Parameter(
        name=field.name,
        option=field.metadata.get("option", renamed),
        kind=str if allowed else one if isinstance(one, type) else type(default),
        allowed=allowed,
        several=several,
        optional=optional,
        required=default is MISSING,
        default=None if default is MISSING else default,
        meaning=meaning,
        symbol=symbols.get(field.name, ""),
    )


def _hints(kind: type) -> dict[str, Any]:
    try:
        return typing.get_type_hints(kind)
    except (NameError, TypeError):  # a name that only type checkers import; the defaults give the types
        return {}


def _without_none(hint: Any) -> tuple[Any, bool]:
    """Return the first type other than None, and whether None is one of the alternatives."""
    if get_origin(hint) not in (typing.Union, types.UnionType):
        return hint, False
    others = [one for one in get_args(hint) if one is not type(None)]
    return others[0], len(others) < len(get_args(hint))


def _is_own(kind: type, name: str) -> bool:
    """Return whether this project defines the field. A plug-in keeps its own names."""
    owner = next((base for base in kind.__mro__ if name in inspect.get_annotations(base)), kind)
    return owner.__module__.split(".")[0] == _PROJECT


def join_assignment(name: str, value: object) -> str:
    """Return the text that assigns a value to a name."""
    return f"{name}={value}"


def read_assignments(texts: Iterable[str]) -> dict[str, list[str]]:
    """Return the values of each name, in the order of the texts. A hyphen in a name becomes an underscore.

    Raises:
        UsageError: if a text has no name or no equals sign.
    """
    values: dict[str, list[str]] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name.strip():
            raise UsageError(f"--param expects NAME=VALUE; the value given is '{text}'. Example: --param voters=20.")
        values.setdefault(name.strip().replace("-", "_"), []).append(value)
    return values


def _suggest_names(name: str, parameters: Sequence[Parameter]) -> str:
    """Return a sentence with the nearest names, or with all of them if none is near."""
    options = [parameter.option for parameter in parameters]
    near = get_close_matches(name, options, n=3, cutoff=0.6)
    return f"Did you mean {' or '.join(near)}?" if near else f"It has: {', '.join(sorted(options)) or 'none'}."


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
        parameter = next((one for one in parameters if name in (one.option, one.name)), None)
        if parameter is None:
            raise UsageError(
                f"'{owner}' has no parameter '{name}'. {_suggest_names(name, parameters)} See: {help_command}"
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

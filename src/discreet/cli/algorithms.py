"""`discreet algorithms`: the algorithms, their guarantees and their parameters."""

import sys
from dataclasses import dataclass, is_dataclass
from typing import Annotated, Any

import typer
from rich.table import Table

from discreet.algorithms.base import Guarantee
from discreet.cli.app import Json, app
from discreet.cli.output import err, explained, out, print_json
from discreet.cli.parameters import Plugin, find_algorithm, list_inner_parameters, list_own_parameters, register_files
from discreet.models.capabilities import Capability
from discreet.parameters import Parameter, read_parameters
from discreet.registry import ALGORITHMS, find_plugin_failures
from discreet.synthesis.runner import METHODS
from discreet.system.plain import show_as

_group = typer.Typer(invoke_without_command=True, no_args_is_help=False)
app.add_typer(_group, name="algorithms")


@dataclass(frozen=True, kw_only=True)
class AlgorithmShown:
    """An algorithm, or a method of synthesis.

    Attributes:
        name: the name.
        guarantee: what is guaranteed.
        payment: who pays.
        requires: what a vault needs for it.
        paper: the paper and the number of the algorithm; None if it is of no paper.
        summary: what it does, in words.
    """

    name: str
    guarantee: str
    payment: str
    requires: list[str]
    paper: str | None
    summary: str


@dataclass(frozen=True)
class ParameterShown:
    """A parameter of an algorithm.

    Attributes:
        name: the name on the command line.
        field: the name in Python.
        type: the type in words.
        default: the default: a truth value, a number, a text, or several of them; None if there is none.
        required: whether it must be given.
        meaning: the meaning.
        symbol: the symbol in the paper; None if it has none.
    """

    name: str
    field: str
    type: str
    default: Any
    required: bool
    meaning: str
    symbol: str | None


@dataclass(frozen=True)
class AlgorithmList:
    """The algorithms that answer questions.

    Attributes:
        algorithms: the algorithms.
        failures: plug-ins that cannot be loaded, with the reasons.
    """

    algorithms: list[AlgorithmShown]
    failures: list[str]


@dataclass(frozen=True, kw_only=True)
class AlgorithmInFull(AlgorithmShown):
    """An algorithm, or a method of synthesis, with its parameters.

    Attributes:
        parameters: its parameters.
        inner_parameters: parameters of the algorithm inside.
    """

    parameters: list[ParameterShown]
    inner_parameters: list[ParameterShown]


@_group.callback()
def algorithms(context: typer.Context, as_json: Json = False) -> None:
    """List the algorithms that answer questions, or show the parameters of one."""
    if context.invoked_subcommand is None:
        _list(as_json=as_json)


@explained
def _list(*, as_json: bool) -> None:
    described = [describe_algorithm(name) for name in ALGORITHMS]
    failures = find_plugin_failures()
    if as_json:
        print_json(AlgorithmList(described, [str(failure) for failure in failures]))
        return
    table = Table("Name", "Guarantee", "What it does", box=None, pad_edge=False)
    for one in described:
        table.add_row(one.name, one.guarantee, one.summary + (f" ({one.paper})" if one.paper else ""))
    out.print(table)
    for failure in failures:
        err.print(str(failure), markup=False)
    out.print(f"Methods of `discreet synthesize`: {', '.join(METHODS)}", markup=False)
    out.print("Parameters of an algorithm or a method: discreet algorithms show NAME")


@_group.command("show")
@explained
def show(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The name of an algorithm, or of a method.")],
    plugin: Plugin = None,
    as_json: Json = False,
) -> None:
    """Show the parameters of an algorithm, or of a method of synthesis: name, type, default, meaning, symbol."""
    register_files([plugin] if plugin else [])
    if name in METHODS and name not in ALGORITHMS:
        about, own, inner = describe_method(name), list(read_parameters(METHODS[name])), []
    else:
        about, own, inner = describe_algorithm(name), list_own_parameters(name), list_inner_parameters(name)
    if as_json:
        described = {"parameters": list(map(_shown, own)), "inner_parameters": list(map(_shown, inner))}
        print_json(show_as(AlgorithmInFull, about, **described))
        return
    out.print(f"{name}: {about.summary}", markup=False)
    out.print(f"Guarantee: {about.guarantee}. It charges {about.payment}.", markup=False)
    if about.paper:
        out.print(f"Paper: {about.paper}.", markup=False)
    _print_parameters("Parameters (--param NAME=VALUE)", own)
    if inner:
        answering = next(one.default for one in own if one.name == "inner")
        _print_parameters(f"Parameters of {answering.name}, its default `inner`", inner)


def describe_algorithm(name: str) -> AlgorithmShown:
    """Return the description of an algorithm.

    Raises:
        UnknownName: if no algorithm has this name.
    """
    kind = find_algorithm(name)
    return AlgorithmShown(
        name=name,
        guarantee=str(kind.spec.guarantee),
        payment=str(kind.spec.payment),
        requires=sorted(map(str, kind.spec.capabilities)),
        paper=getattr(kind, "paper", "") or None,
        summary=getattr(kind, "summary", "") or _summary(kind),
    )


def describe_method(name: str) -> AlgorithmShown:
    """Return what is known of a method of synthesis, in the form of `describe_algorithm`."""
    return AlgorithmShown(
        name=name,
        guarantee=str(Guarantee.DP),
        payment="every unit whose documents it may read, once for the whole corpus",
        requires=[Capability.LOGITS.value],
        paper=None,
        summary=_summary(METHODS[name]),
    )


def _summary(kind: type) -> str:
    """Return the first line of the class's docstring; of the module's docstring if that line is about parameters.

    A section of the docstring ends the summary, also in the same line.
    """
    for doc in (kind.__doc__, sys.modules[kind.__module__].__doc__):
        line = (doc or "").strip().split("\n", 1)[0].partition("Attributes:")[0].strip()
        if line and "Parameters" not in line:
            return line
    return ""


def _shown(one: Parameter) -> ParameterShown:
    named = {"name": one.option, "field": one.name, "type": one.expected}
    return show_as(ParameterShown, one, **named, default=_plain_default(one), symbol=one.symbol or None)


def _plain_default(one: Parameter) -> Any:
    """Return the default of a parameter: of an algorithm inside, its name."""
    return getattr(type(one.default), "name", None) if is_dataclass(one.default) else one.default


def _print_parameters(title: str, parameters: list[Parameter]) -> None:
    out.print()
    out.print(title, markup=False)
    for one in parameters:
        symbol = f", {one.symbol} in the paper" if one.symbol else ""
        field = f" (in Python: {one.name})" if one.option != one.name else ""
        out.print(f"  {one.option}{field}: {one.expected}, default {_default(one)}{symbol}", markup=False)
        if one.meaning:
            out.print(f"      {one.meaning}", markup=False)


def _default(one: Parameter) -> str:
    default = _plain_default(one)
    if one.required:
        return "required"
    if isinstance(default, bool):
        return "yes" if default else "no"
    if isinstance(default, tuple):
        return (" and " if one.kind is str else ",").join(map(str, default)) or "none"
    return "none" if default in (None, "") else str(default)

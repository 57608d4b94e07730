"""Parameters of algorithms and methods on the command line: `--param name=value`, and an option for each name.

`--plugin FILE.py:NAME` registers an algorithm in one file for this process.
"""

import functools
import inspect
import sys
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import MISSING, fields, is_dataclass
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Annotated, Any, TypeVar

import typer

from discreet.algorithms.base import Algorithm
from discreet.errors import DiscreetError, UnknownName, UsageError
from discreet.parameters import Parameter, join_assignment, parse_values, read_assignments, read_parameters
from discreet.registry import ALGORITHMS, find_defect, make_algorithm
from discreet.synthesis.base import SynthesisAlgorithm
from discreet.synthesis.runner import METHODS

Params = Annotated[
    list[str] | None,
    typer.Option(metavar="NAME=VALUE", help="A parameter of the algorithm or method. Repeatable."),
]
Command = TypeVar("Command", bound=Callable[..., Any])


def accept_parameters(kinds: Iterable[type]) -> Callable[[Command], Command]:
    """Return a decorator that adds a hidden option for each parameter of some dataclasses to a command.

    The command has a parameter `param`. The values of the hidden options are added to it as NAME=VALUE. An option that
    the command already has is not replaced.
    """
    options = _by_name(kinds)

    def decorate(command: Command) -> Command:
        signature = inspect.signature(command)
        free = {name: one for name, one in options.items() if not {one.name, one.option} & signature.parameters.keys()}

        @functools.wraps(command)
        def run(**given: Any) -> Any:
            values = {name: given.pop(name, None) for name in free}
            texts = [join_assignment(name, text) for name, value in values.items() for text in _texts(value)]
            return command(**given | {"param": [*texts, *(given.get("param") or [])]})

        hidden = [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=_annotation(one))
            for name, one in free.items()
        ]
        shown = [one.replace(kind=inspect.Parameter.KEYWORD_ONLY) for one in signature.parameters.values()]
        setattr(run, "__signature__", signature.replace(parameters=[*shown, *hidden]))  # noqa: B010 - not in its type
        run.__annotations__ = command.__annotations__ | {one.name: one.annotation for one in hidden}
        return run  # type: ignore[return-value]

    return decorate


def list_parameters(name: str, inner: str | None = None) -> list[Parameter]:
    """Return the parameters of an algorithm and of its inner algorithm.

    Raises:
        UnknownName: if no algorithm has this name.
    """
    own, others = list_own_parameters(name), list_inner_parameters(name, inner)
    return own + others


def list_own_parameters(name: str) -> list[Parameter]:
    """Return the parameters of an algorithm without those of its inner algorithm.

    Raises:
        UnknownName: if no algorithm has this name.
    """
    return list(read_parameters(find_algorithm(name)))


def list_inner_parameters(name: str, inner: str | None = None) -> list[Parameter]:
    """Return the parameters of the inner algorithm, without those that the outer algorithm sets."""
    kind, own = find_algorithm(name), list_own_parameters(name)
    answering = next((one.default for one in own if one.name == "inner" and is_dataclass(one.default)), None)
    if answering is None:
        return []
    own_names = {one.name for one in own} | getattr(kind, "decides", frozenset())
    parameters = read_parameters(find_algorithm(inner) if inner else type(answering))
    return [one for one in parameters if one.name not in own_names]


def find_algorithm(name: str) -> type[Algorithm]:
    """Return the class of an algorithm.

    Raises:
        UnknownName: if no algorithm has this name.
    """
    if name not in ALGORITHMS:
        raise UnknownName("algorithm", name, ALGORITHMS)
    return ALGORITHMS[name]


def parse_options(name: str, param: Sequence[str] | None, given: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return the options of one algorithm: the parsed ones of `param`, and the given values.

    Raises:
        UsageError: if a parameter is unknown or given twice, or has another type.
    """
    values = read_assignments(param or ())
    parameters = list_parameters(name, values.get("inner", [None])[-1])
    return add_given(_parse_own(name, values, parameters, ALGORITHMS), given or {})


def parse_for_any(
    names: Sequence[str], param: Sequence[str] | None, given: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Return the options of several algorithms. Each later uses those that it has.

    Raises:
        UsageError: if none of the algorithms has a parameter, or a value has another type.
    """
    values = read_assignments(param or ())
    inner = values.get("inner", [None])[-1]
    parameters: dict[str, Parameter] = {}
    for name in names:
        for one in list_parameters(name, inner):
            parameters.setdefault(one.name, one)
    owner = "' and '".join(names)
    options = parse_values(values, list(parameters.values()), owner, f"discreet algorithms show {names[0]}")
    return add_given(options, given or {})


def choose_algorithm(name: str, param: Sequence[str] | None, given: Mapping[str, Any] | None = None) -> Any:
    """Return an algorithm with its parameters.

    Raises:
        UnknownName: if no algorithm has this name.
        UsageError: if a parameter is unknown or out of range, or has another type.
    """
    return make_algorithm(name, parse_options(name, param, given))


def choose_method(
    name: str, param: Sequence[str] | None, given: Mapping[str, Any] | None = None
) -> SynthesisAlgorithm[Any]:
    """Return a method of synthesis with its parameters.

    Raises:
        UnknownName: if there is no method of that name.
        UsageError: if a parameter is unknown or out of range, or has another type.
    """
    if name not in METHODS:
        raise UnknownName("method", name, METHODS)
    options = _parse_own(name, read_assignments(param or ()), read_parameters(METHODS[name]), METHODS)
    return METHODS[name](**add_given(options, given or {}))


def _parse_own(
    name: str, values: Mapping[str, Sequence[str]], parameters: Sequence[Parameter], kinds: Mapping[str, type]
) -> dict[str, Any]:
    """Return the parsed values. An error about an unknown parameter also names those of `kinds` that have it."""
    try:
        return parse_values(values, parameters, name, f"discreet algorithms show {name}")
    except UsageError as error:
        unknown = [one for one in values if not any(one in (known.name, known.option) for known in parameters)]
        raise UsageError(f"{error}{_say_owners(unknown[0], kinds)}" if unknown else str(error)) from None


def add_given(options: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """Return parsed parameters and the values of a command's own options together.

    Raises:
        UsageError: if a parameter is in both.
    """
    values = {name: value for name, value in given.items() if value is not None}
    if both := sorted(options.keys() & values.keys()):
        raise UsageError(f"{both[0]} is given twice: as an option and by --param. Give it once.")
    return {**options, **values}


def _by_name(kinds: Iterable[type]) -> dict[str, Parameter]:
    """Return the parameters of all classes, by their name in a command's function."""
    by_name: dict[str, Parameter] = {}
    for kind in kinds:
        for one in read_parameters(kind):
            by_name.setdefault(one.option, one)
    return by_name


def _annotation(one: Parameter) -> Any:
    spelled = [one.spelled] if one.option == one.name else [one.spelled, "--" + one.name.replace("_", "-")]
    if one.kind is bool:
        option = typer.Option(f"{one.spelled}/--no-{one.spelled.removeprefix('--')}", hidden=True)
        return Annotated[bool | None, option]
    kind = list[str] | None if one.several else str | None
    return Annotated[kind, typer.Option(*spelled, hidden=True)]


def _texts(value: Any) -> list[str]:
    """Return the values of an option as texts; an empty list if the option was not given."""
    if value is None:
        return []
    return [str(one) for one in value] if isinstance(value, list) else [str(value)]


def _say_owners(name: str, kinds: Mapping[str, type]) -> str:
    owners = [
        owner for owner, kind in kinds.items() if any(name in (one.name, one.option) for one in read_parameters(kind))
    ]
    return f". Algorithms with {name}: {', '.join(owners)}." if owners else ""


# --- algorithms in one file -------------------------------------------------------------------------------------------


Plugins = Annotated[
    list[str] | None,
    typer.Option("--plugin", metavar="FILE:NAME", help="An algorithm in my.py:MyRAG."),
]
Plugin = Annotated[str | None, typer.Option("--plugin", metavar="FILE:NAME", help="An algorithm in my.py:MyRAG.")]

_MODULE = "discreet_plugin_file_"
# The public methods, and how this program calls them after `self`.
_CALLED = {"plan": ("budget", "vocabulary"), "run": ("query", "corpus", "model", "account")}


def register_files(plugins: Sequence[str] | None) -> list[str]:
    """Load algorithms from files, and register each under its name for this process. Return the names.

    Args:
        plugins: texts `FILE.py:NAME`, NAME being a class in the file.

    Raises:
        UsageError: if a file or a class cannot be used. The message states what was expected.
    """
    return list(dict.fromkeys(_register(text) for text in plugins or ()))


def choose_names(algorithms: Sequence[str] | None, plugins: Sequence[str] | None) -> list[str]:
    """Return the given names and those of plug-in files, which are registered, without repetitions."""
    added = register_files(plugins)
    return list(dict.fromkeys([*(algorithms or ()), *added]))


def choose_name(algorithm: str | None, plugin: str | None) -> str | None:
    """Return the name of the one algorithm: the given one, or that of the plug-in file, which is registered.

    Raises:
        UsageError: if both are given, and differ.
    """
    if plugin is None:
        return algorithm
    (name,) = register_files([plugin])
    if algorithm not in (None, name):
        raise UsageError(f"--algorithm is '{algorithm}', and --plugin has '{name}'. Give one of them.")
    return name


@contextmanager
def errors_in_full(names: Sequence[str], work: str) -> Iterator[None]:
    """State an error of an algorithm from a plug-in file with its message and line. Use it on fictional data alone.

    Args:
        names: the names of the algorithms; without one, errors pass unchanged.
        work: the work that may fail, such as "audit".

    Raises:
        UsageError: if the work failed.
    """
    try:
        yield
    except DiscreetError:
        raise
    except Exception as error:
        if not names:
            raise
        raise UsageError(
            f"The {work} of {', '.join(names)} failed: {type(error).__name__}: {error}{_where(error, names)}. Mend the "
            "file."
        ) from None


def _where(error: Exception, names: Sequence[str]) -> str:
    """Return the last line of a plug-in's file that an error passed; "" if it passed none."""
    files = {inspect.getfile(ALGORITHMS[name]) for name in names}
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename in files]
    return f" (line {lines[-1]})" if lines else ""


def _register(text: str) -> str:
    file, colon, called = text.rpartition(":")
    if not (colon and file.endswith(".py") and called.isidentifier()):
        raise UsageError(f"--plugin is '{text}'. Expected FILE.py:NAME, such as my.py:MyRAG.")
    kind = _find_class(_load(Path(file)), file, called)
    name: Any = getattr(kind, "name", None)
    defect = find_defect(name, kind) or _find_misfit(kind)
    if defect:
        raise UsageError(f"--plugin {text} cannot be used: {defect} See docs/extend.md.")
    taken = ALGORITHMS.get(name)
    if taken is not None and not taken.__module__.startswith(_MODULE):
        raise UsageError(f"--plugin {text} has the name '{name}'. Expected a name that no other algorithm has.")
    ALGORITHMS[name] = kind
    return str(name)


def _load(path: Path) -> ModuleType:
    if not path.is_file():
        raise UsageError(f"--plugin: there is no file '{path}'. Expected a Python file, as in my.py:MyRAG.")
    name = _MODULE + path.stem
    spec = spec_from_file_location(name, path)
    assert spec is not None  # the name of the file ends with .py
    assert spec.loader is not None
    module = module_from_spec(spec)
    sys.modules[name] = module  # a dataclass looks for the types of its fields here
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:  # its code may raise anything while it is imported
        what = " ".join(str(error).split())
        raise UsageError(
            f"--plugin: '{path}' cannot be loaded: {type(error).__name__}: {what}. Expected Python that imports."
        ) from None
    return module


def _find_class(module: ModuleType, file: str, called: str) -> Any:
    if hasattr(module, called):
        return getattr(module, called)
    own = [
        name
        for name, kind in vars(module).items()
        if isinstance(kind, type) and issubclass(kind, Algorithm) and kind.__module__ == module.__name__
    ]
    hint = f"Its algorithms: {', '.join(own)}." if own else "It has no class that derives from discreet.Algorithm."
    raise UsageError(f"--plugin: '{file}' has no '{called}'. {hint}")


def _find_misfit(kind: type[Algorithm]) -> str:
    """Return why the class cannot be called as algorithms are called; an empty string if it can."""
    if not isinstance(getattr(kind, "name", None), str) or not kind.name:
        return "its class does not declare a `name`."
    if not getattr(kind, "__dataclass_params__").frozen:  # noqa: B009 - not in its type
        return "its dataclass is not frozen. Expected @dataclass(frozen=True)."
    if missing := sorted(kind.__abstractmethods__):
        return f"it has no {' and no '.join(missing)}. Expected methods of these names."
    for name, parameters in _CALLED.items():
        own = inspect.signature(getattr(kind, name))
        try:
            own.bind(None, *parameters)
        except TypeError:
            return f"its signature is {name}{own}. Expected {name}(self, {', '.join(parameters)})."
    without = [f.name for f in fields(kind) if f.init and f.default is MISSING and f.default_factory is MISSING]
    return f"its fields {', '.join(without)} have no default. Expected one for each field." if without else ""

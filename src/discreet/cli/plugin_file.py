"""`--plugin FILE.py:NAME`: an algorithm in one file, registered for this process."""

import inspect
import sys
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import MISSING, fields
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Annotated, Any

import typer

from discreet.algorithms.base import Algorithm
from discreet.errors import DiscreetError, UsageError
from discreet.registry import ALGORITHMS, find_defect

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

"""Find and load the plug-ins that other packages declare as entry points.

A package declares a plug-in in its pyproject.toml:

    [project.entry-points."discreet.algorithms"]
    my-algorithm = "my_package.algorithms:MyAlgorithm"

A plug-in that cannot be loaded is a failure of its own: the other plug-ins of the group stay usable. This package
declares plug-ins, too: the laboratory's (`discreet_lab`). Their names are reserved, as those of built-in parts are.
"""

from collections import Counter
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from discreet.errors import UsageError

ALGORITHMS, MODELS = "discreet.algorithms", "discreet.models"
STORES, STORE_ADDRESSES = "discreet.stores", "discreet.store_addresses"
EMBEDDERS, LOADERS = "discreet.embedders", "discreet.loaders"
COMMANDS, DECODERS = "discreet.commands", "discreet.decoders"
SOURCES = "discreet.sources"


@dataclass(frozen=True)
class PluginCommand:
    """A command, which an entry point of `discreet.commands` refers to. The command has the name of the entry point.

    Attributes:
        module: the module that defines the command with `@app.command` of `discreet.cli.app`. It is imported when the
            command is called.
        summary: the line of the command in `discreet --help`.
        heading: the heading above this line.
        prints: the dataclass of each object that it prints with --json, by the name of its schema: a name in `module`,
            or MODULE:NAME.
    """

    module: str
    summary: str
    heading: str = "Plug-ins"
    prints: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class PluginFailure:
    """A plug-in that cannot be used.

    Attributes:
        group: its group of entry points.
        name: its name in the group.
        package: the package that declares it; "" if unknown.
        error: the reason.
    """

    group: str
    name: str
    package: str
    error: str

    def __str__(self) -> str:
        origin = f" of the package {self.package}" if self.package else ""
        return f"The plug-in '{self.name}'{origin} in {self.group} cannot be used: {self.error}"


def find_names(group: str) -> list[str]:
    """Return the names of all plug-ins of a group, sorted, without loading them."""
    return sorted({entry.name for entry in entry_points(group=group)})


def load_usable(group: str, reserved: Collection[str] = ()) -> dict[str, Any]:
    """Return the plug-ins of a group that can be used, by name.

    Args:
        group: a group of entry points, such as `ALGORITHMS`.
        reserved: names of built-in parts, which no plug-in may replace.
    """
    return _load_all(group, reserved)[0]


def find_failures(
    group: str, reserved: Collection[str] = (), check: Callable[[str, Any], str] = lambda _name, _part: ""
) -> list[PluginFailure]:
    """Return the plug-ins of a group that cannot be used, with the reasons.

    Args:
        group: the group of entry points.
        reserved: the names of the built-in parts, which no plug-in can have.
        check: returns the defect of a part that was loaded, from its name and the part; empty if it has none.
    """
    usable, failures = _load_all(group, reserved)
    unfit = [PluginFailure(group, name, "", defect) for name, part in usable.items() if (defect := check(name, part))]
    return [*failures, *unfit]


def load_plugin(group: str, name: str, check: Callable[[Any], str] | None = None) -> Any | None:
    """Return one plug-in by its name, or None if no package declares it. Load no other plug-in.

    Args:
        group: a group of entry points, such as `ALGORITHMS`.
        name: its name in the group.
        check: returns the defect of what was loaded, or "" for none.

    Raises:
        UsageError: if the plug-in cannot be loaded, if two packages declare the name, or if `check` finds a defect.
    """
    declared = list(entry_points(group=group, name=name))
    declared = [entry for entry in declared if _is_own(entry)] or declared
    if not declared:
        return None
    loaded, error = _load(declared[0]) if len(declared) == 1 else (None, _duplicate(declared))
    if not error and check is not None:
        error = check(loaded)
    if error:
        failure = PluginFailure(group, name, _package(declared[0]), error)
        raise UsageError(f"{failure} Update or uninstall the package.")
    return loaded


def _load_all(group: str, reserved: Collection[str]) -> tuple[dict[str, Any], list[PluginFailure]]:
    declared = sorted(entry_points(group=group), key=lambda entry: (entry.name, entry.value))
    own = {entry.name for entry in declared if _is_own(entry)}

    def is_taken(entry: EntryPoint) -> bool:
        return entry.name in reserved or (entry.name in own and not _is_own(entry))

    times = Counter(entry.name for entry in declared if not is_taken(entry))
    usable: dict[str, Any] = {}
    failures = []
    for entry in declared:
        if is_taken(entry):
            loaded, error = None, "a built-in part has this name. Choose another name."
        elif times[entry.name] > 1:
            loaded, error = None, _duplicate([other for other in declared if other.name == entry.name])
        else:
            loaded, error = _load(entry)
        if error:
            failures.append(PluginFailure(group, entry.name, _package(entry), error))
        else:
            usable[entry.name] = loaded
    return usable, failures


def _load(entry: EntryPoint) -> tuple[Any, str]:
    """Return what an entry point refers to and "", or None and the error."""
    try:
        return entry.load(), ""
    except (Exception, SystemExit) as error:  # its code may raise anything while it is imported
        return None, f"{type(error).__name__}: {error}."


def _duplicate(entries: Collection[EntryPoint]) -> str:
    packages = ", ".join(sorted({_package(entry) or "unknown" for entry in entries}))
    return f"{len(entries)} plug-ins have this name ({packages})."


def _is_own(entry: EntryPoint) -> bool:
    """Return whether this package declares the entry point."""
    return _package(entry) == "discreet"


def _package(entry: EntryPoint) -> str:
    return entry.dist.name if entry.dist is not None else ""

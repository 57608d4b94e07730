"""`discreet`: the commands by name, built-in ones and those of plug-ins. A command is loaded when it is called."""

import signal
import sys
import tomllib
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from importlib import import_module
from importlib.resources import files
from io import TextIOWrapper
from pathlib import Path
from threading import Timer, main_thread
from typing import Annotated, Any, TypeVar

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_group

from discreet import __version__
from discreet.cli.output import WRONG_USE, add_value, err, explain_wrong_use, out, print_error
from discreet.errors import UsageError
from discreet.plugins import COMMANDS, PluginCommand, find_failures, load_plugin, load_usable

Function = TypeVar("Function", bound=Callable[..., Any])

DECLARED = tomllib.loads(files("discreet.cli").joinpath("commands.toml").read_text(encoding="utf-8"))
PANELS: dict[str, dict[str, tuple[str, str]]] = DECLARED["panels"]
"""For each heading of `discreet --help`: the built-in commands with their module and summary. Those of plug-ins
(`discreet.commands`) stand below them."""
loaded_commands: dict[str, Any] = {}
"""The commands of all modules that were imported."""
_QUIET = "--quiet"
_MODULES = {name: module for panel in PANELS.values() for name, (module, _) in panel.items()}


class Command(TyperCommand):
    """A command. For a misspelt option, its error names those that the help lists, and another one if it is nearest."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the arguments of the command.

        Raises:
            WRONG_USE: if they are wrong.
        """
        try:
            return super().parse_args(ctx, args)
        except WRONG_USE as error:
            if near := getattr(error, "possibilities", None):  # the nearest one is first
                hidden = {name for param in self.params if getattr(param, "hidden", False) for name in param.opts}
                listed = [name for name in near[1:] if name not in hidden]
                setattr(error, "possibilities", [near[0], *listed])  # noqa: B010 - of one kind of these errors
            raise


class Commands(TyperGroup):
    """The group of all commands. Each is loaded when it is called. With --json, errors of the parser are JSON, too."""

    _listing = False

    @cached_property
    def _summaries(self) -> dict[str, TyperCommand]:
        """All commands in the order of the help, only with their summaries."""
        listed = {heading: {name: summary for name, (_, summary) in panel.items()} for heading, panel in PANELS.items()}
        for name, plugin in load_usable(COMMANDS, _MODULES).items():
            if not _find_defect(plugin):
                listed.setdefault(plugin.heading, {})[name] = plugin.summary
        return {
            name: TyperCommand(name, help=summary, rich_help_panel=heading)
            for heading, panel in listed.items()
            for name, summary in panel.items()
        }

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names of all commands in the order of the help."""
        return list(self._summaries)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return the command of this name, None if there is none; while the help lists all, only its summary.

        Raises:
            UsageError: if it is the command of a plug-in that cannot be used. A shell that completes gets None.
        """
        if self._listing:
            return self._summaries.get(cmd_name)
        if cmd_name in _MODULES:
            import_module(f"discreet.cli.{_MODULES[cmd_name]}")
            return _build_command(cmd_name)
        try:
            plugin_command = load_plugin(
                COMMANDS, cmd_name, lambda plugin: _find_defect(plugin) or _add(cmd_name, plugin)
            )
        except UsageError:
            if ctx is not None and ctx.resilient_parsing:
                return None
            raise
        return plugin_command and _build_command(cmd_name)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the command that the arguments name. For a misspelt command, the error shows the nearest names."""
        if args and args[0] not in _MODULES:
            self.commands = dict(self._summaries)
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        """Run the command of the arguments. An error of the parser has the value that was given."""
        try:
            return super().invoke(ctx)
        except WRONG_USE as error:
            add_value(error)
            raise

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """List all commands without loading their modules, and the plug-ins that cannot be used."""
        self._listing = True
        super().format_help(ctx, formatter)
        for failure in find_failures(COMMANDS, _MODULES, lambda _, plugin: _find_defect(plugin)):
            err.print(str(failure), markup=False)

    def main(self, args: Sequence[str] | None = None, *given: Any, **named: Any) -> Any:
        """Run the command that the arguments name, and end the program."""
        typed = _quiet_first(list(sys.argv[1:] if args is None else args))
        as_json = "--json" in typed
        try:
            if not as_json:
                return super().main(typed, *given, **named)
            code = super().main(typed, *given, **{**named, "standalone_mode": False})
        except UsageError as error:  # the command is that of a plug-in that cannot be used
            print_error(error, as_json)
            code = error.exit_code
        except WRONG_USE as error:
            if not as_json:
                raise
            code = explain_wrong_use(error)
        sys.exit(code)


def _quiet_first(typed: list[str]) -> list[str]:
    """Return the arguments with `--quiet` before the command: it belongs to all commands, and may stand anywhere."""
    end = typed.index("--") if "--" in typed else len(typed)
    if _QUIET not in typed[:end]:
        return typed
    return [_QUIET, *(word for word in typed[:end] if word != _QUIET), *typed[end:]]


def _find_defect(plugin: Any) -> str:
    """Return why what an entry point refers to cannot be a command; an empty string if it can."""
    return "" if isinstance(plugin, PluginCommand) else "it is no discreet.plugins.PluginCommand."


def _add(name: str, plugin: PluginCommand) -> str:
    """Import the module of a plug-in's command; return why the command cannot be used, or ""."""
    try:
        import_module(plugin.module)
    except (Exception, SystemExit) as error:  # its code may raise anything while it is imported
        return f"{type(error).__name__}: {error}."
    return "" if _build_command(name) else f"{plugin.module} defines no command '{name}'."


def _build_command(name: str) -> Any:
    """Return the command that an imported module has registered, None if there is none; build each once."""
    if app.registered_commands or app.registered_groups:
        loaded_commands.update(get_group(app).commands)
        app.registered_commands.clear()
        app.registered_groups.clear()
    return loaded_commands.get(name)


class _App(typer.Typer):
    def command(
        self, name: str | None = None, *, cls: type[TyperCommand] | None = Command, **given: Any
    ) -> Callable[[Function], Function]:
        return super().command(name, cls=cls, **given)


app = _App(
    cls=Commands,
    no_args_is_help=True,
    pretty_exceptions_enable=False,  # a traceback may show private values
    add_completion=True,
)

VaultPath = Annotated[Path, typer.Argument(metavar="VAULT", help="The folder of the vault.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]


def complete_from(names: Iterable[str]) -> Callable[[str], list[str]]:
    """Return the function that completes one of `names` (`autocompletion` of Typer)."""
    candidates = tuple(names)

    def complete(incomplete: str) -> list[str]:
        return [name for name in candidates if name.startswith(incomplete)]

    return complete


def _version(asked: bool) -> None:
    if asked:
        out.print(f"discreet {__version__}")
        raise typer.Exit


@app.callback()
def about(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
    quiet: Annotated[
        bool,
        typer.Option(_QUIET, envvar="DISCREET_QUIET", help="Show no progress. Notes and errors are shown."),
    ] = False,
) -> None:
    """Answer questions about private documents, and bound what all answers reveal about each individual."""
    err.shows_progress = not quiet


def _interrupt_again(lost: "sys.UnraisableHookArgs") -> None:
    """Send a lost signal again after a moment. Python drops a signal that arrives while it finalizes an object."""
    if issubclass(lost.exc_type, KeyboardInterrupt | SystemExit):
        again = signal.SIGINT if issubclass(lost.exc_type, KeyboardInterrupt) else signal.SIGTERM
        Timer(0.1, signal.pthread_kill, (main_thread().ident, again)).start()
    else:
        sys.__unraisablehook__(lost)


def _end(number: int, _frame: object) -> None:
    raise SystemExit(128 + number)


def main() -> None:
    """Run the command line."""
    sys.unraisablehook = _interrupt_again
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, _end)  # removes temporary files, which hold documents
    for stream in (sys.stdout, sys.stderr):
        # File names and terminals may have another encoding than UTF-8. In JSON, the escape stands for the character.
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    app()

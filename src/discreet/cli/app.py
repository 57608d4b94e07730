"""`discreet`: the commands by name; each is in a file of its own, which is loaded when it is called."""

import signal
import sys
from collections.abc import Sequence
from importlib import import_module
from io import TextIOWrapper
from pathlib import Path
from threading import Timer, main_thread
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_group

from discreet import __version__
from discreet.cli.output import WRONG_USE, explain_wrong_use, out

PANELS: dict[str, dict[str, tuple[str, str]]] = {
    "First steps": {
        "demo": ("demo", "Ask a made-up hospital without documents, with plain RAG, and privately, and compare."),
        "plan": ("plan", "Show what a grant would pay for, before a vault is made."),
        "init": ("init", "Make a vault: a folder with settings, a store and a ledger."),
        "add": ("add", "Add documents: new ones are added, changed ones replaced."),
        "ask": ("ask", "Ask a question, and pay for the answer."),
        "chat": ("chat", "Ask one question after the other; each price is shown before it is paid."),
        "budget": ("budget", "Show what was granted, spent and is left."),
        "algorithms": ("algorithms", "List the algorithms that answer questions, and show the parameters of one."),
    },
    "Look after a vault": {
        "list": ("listing", "List the units, documents or batches of a vault."),
        "undo": ("undo", "Take back what one `add` brought."),
        "remove": ("remove", "Erase a document, an individual, a file or a batch."),
        "readmit": ("remove", "Let an individual come back that was erased."),
        "erasure-report": ("erasure", "Tell what was erased of an individual, what remains, and why."),
        "public": ("public", "Name a public corpus that helps to answer, for nothing."),
        "doctor": ("doctor", "Look over a vault, and say what should be mended."),
        "backup": ("backup", "Copy a vault, also while it is in use."),
        "restore": ("restore", "Make a vault of a backup."),
        "move": ("move", "Bring a vault to another place."),
        "report": ("report", "Write a page about a vault for the person who signs."),
    },
    "Serve analysts": {
        "serve": ("serve", "Serve vaults to analysts over HTTP, with keys and budgets."),
        "key": ("key", "Issue, cap and revoke the keys of analysts, and decide on their requests."),
        "audit-log": ("audit_log", "Check the audit log of a server."),
        "desk-link": ("desk_link", "Print a link with which the custodian logs in at the desk."),
    },
    "Other releases": {
        "synthesize": ("synthesize", "Make a synthetic corpus, paid for once."),
        "export-vectors": ("export", "Write one vector for each unit, projected and with noise."),
        "tune": ("budget", "Suggest a threshold for murag, released privately."),
    },
    "Measure": {
        "eval": ("evaluate", "Measure accuracy on questions with known answers."),
        "attack": ("attack", "Attack copies of the vault, and say what leaks."),
        "audit": ("audit", "Look for more privacy loss than is claimed."),
        "claim": ("claim", "What published claims amount to that are no guarantees."),
    },
}
"""By the heading under which `discreet --help` has them: a command's name, its module and what it does."""
_MODULES = {name: module for panel in PANELS.values() for name, (module, _) in panel.items()}


class Commands(TyperGroup):
    """All commands, each loaded when it is called; with --json, a parser's error is one JSON object, too."""

    _listing = False

    def list_commands(self, ctx: Any) -> list[str]:
        """The names of all commands, those for a newcomer first."""
        return list(_MODULES)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The command of this name; its summary alone while the help lists all of them."""
        if cmd_name not in _MODULES:
            return None
        if self._listing:
            return _summary(cmd_name)
        import_module(f"discreet.cli.{_MODULES[cmd_name]}")
        return get_group(app).commands[cmd_name]

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The command that the arguments name; of one that is misspelt, the nearest names are shown."""
        if args and args[0] not in _MODULES:
            self.commands = {name: _summary(name) for name in _MODULES}
        return super().resolve_command(ctx, args)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """List all commands; none is loaded for that."""
        self._listing = True
        super().format_help(ctx, formatter)

    def main(self, args: Sequence[str] | None = None, *given: Any, **named: Any) -> Any:
        """Run the command that the arguments name, and end the program."""
        typed = list(sys.argv[1:] if args is None else args)
        if "--json" not in typed:
            return super().main(args, *given, **named)
        try:
            code = super().main(typed, *given, **{**named, "standalone_mode": False})
        except WRONG_USE as error:
            code = explain_wrong_use(error)
        sys.exit(code)


def _summary(name: str) -> TyperCommand:
    panel, text = next((panel, one[name][1]) for panel, one in PANELS.items() if name in one)
    return TyperCommand(name, help=text, rich_help_panel=panel)


app = typer.Typer(
    cls=Commands,
    no_args_is_help=True,
    pretty_exceptions_enable=False,  # a traceback may show private values
    add_completion=True,
)

VaultPath = Annotated[Path, typer.Argument(metavar="VAULT", help="The folder of the vault.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]


def _version(asked: bool) -> None:
    if asked:
        out.print(f"discreet {__version__}")
        raise typer.Exit


@app.callback()
def about(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version, and no more.")
    ] = False,
) -> None:
    """Answers questions about private documents, and bounds what all answers show about any one individual."""


def _interrupt_again(lost: "sys.UnraisableHookArgs") -> None:
    """Send Ctrl-C, or another end, again a moment later: Python drops one that arrives while it clears an object."""
    if issubclass(lost.exc_type, KeyboardInterrupt | SystemExit):
        again = signal.SIGINT if issubclass(lost.exc_type, KeyboardInterrupt) else signal.SIGTERM
        Timer(0.1, signal.pthread_kill, (main_thread().ident, again)).start()
    else:
        sys.__unraisablehook__(lost)


def _end(number: int, _frame: object) -> None:
    raise SystemExit(128 + number)


def main() -> None:
    """Entry point of the command line."""
    sys.unraisablehook = _interrupt_again
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, _end)  # so that temporary files, which hold documents, are removed
    for stream in (sys.stdout, sys.stderr):
        # A file's name need not be UTF-8, nor a terminal; in JSON the escape is the character.
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    app()

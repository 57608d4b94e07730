"""How commands speak: tables for a person, one JSON object for a program, errors with an exit code."""

import functools
import json
import math
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, ParamSpec, Protocol, runtime_checkable

import typer
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from typer.core import TyperGroup

from discreet.errors import BudgetExhausted, DiscreetError, StoreError, UsageError
from discreet.retrieval.documents import is_unicode

P = ParamSpec("P")
# Of click, or of the copy of it that newer versions of typer hold.
_WRONG_USE: type[Exception] = typer.BadParameter.__mro__[1]

out = Console(soft_wrap=True, highlight=False)
err = Console(stderr=True, soft_wrap=True, highlight=False)


@runtime_checkable
class _Explains(Protocol):
    def format_message(self) -> str: ...


class Commands(TyperGroup):
    """All commands; with --json, what the parser finds wrong is one JSON object, too."""

    def main(self, args: Sequence[str] | None = None, *given: Any, **named: Any) -> Any:
        """Run the command that the arguments name, and end the program."""
        typed = list(sys.argv[1:] if args is None else args)
        if "--json" not in typed:
            return super().main(args, *given, **named)
        try:
            code = super().main(typed, *given, **{**named, "standalone_mode": False})
        except _WRONG_USE as error:
            what = error.format_message() if isinstance(error, _Explains) else str(error)
            _report(UsageError(f"{what.rstrip('.')}. See discreet COMMAND --help."), True)
            code = UsageError.exit_code
        sys.exit(code)


def print_json(content: dict[str, Any]) -> None:
    """One JSON object on standard output; numbers that JSON lacks become null."""
    plain = "utf" not in (sys.stdout.encoding or "").lower()  # then what is no ASCII is escaped as JSON does it
    sys.stdout.write(json.dumps(_finite(content), ensure_ascii=plain) + "\n")
    sys.stdout.flush()


def explained(command: Callable[P, int | None]) -> Callable[P, None]:
    """Turn what goes wrong into a message and an exit code; a command's own return value is its exit code."""

    @functools.wraps(command)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        as_json = bool(kwargs.get("as_json"))
        try:
            _check_texts(kwargs)
            code = command(*args, **kwargs) or 0
        except DiscreetError as error:
            _report(error, as_json)
            code = error.exit_code
        except KeyboardInterrupt:
            _report(
                DiscreetError(
                    "Interrupted. What was paid stays paid. `add` and `synthesize` go on when they are run again; "
                    "other commands begin anew."
                ),
                as_json,
            )
            code = 1
        except OverflowError:
            _report(
                UsageError(
                    "A number that was given is too large to be worked with. Give numbers as in the help: discreet "
                    "COMMAND --help."
                ),
                as_json,
            )
            code = UsageError.exit_code
        except MemoryError:
            _report(
                DiscreetError("There is not enough memory for what was asked. Ask for less: fewer, or shorter."),
                as_json,
            )
            code = 1
        except OSError as error:
            # Its name is not shown: it may be a document's.
            why = error.strerror or type(error).__name__
            _report(
                StoreError(f"A file cannot be used ({why}). Check the paths, who may use them, and the disk."), as_json
            )
            code = StoreError.exit_code
        except Exception as error:
            # The message or traceback of an unforeseen error may hold a document: only its type is shown.
            _report(
                DiscreetError(f"Something unforeseen failed ({type(error).__name__}). Details are withheld."),
                as_json,
            )
            code = 1
        raise typer.Exit(code)

    return run


def _check_texts(arguments: dict[str, Any]) -> None:
    """Nothing, if all texts that were typed are UTF-8; the name of a file need not be.

    Raises:
        UsageError: one is not.
    """
    for name, value in arguments.items():
        if not all(
            is_unicode(text) for text in (value if isinstance(value, list) else [value]) if isinstance(text, str)
        ):
            raise UsageError(f"What was given as '{name}' is not UTF-8. Type it again in a UTF-8 terminal.")


@contextmanager
def progress_bar(description: str) -> Iterator[Callable[[str, int], None]]:
    """A counter on standard error, for work that takes more than a moment."""
    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), TextColumn("{task.completed}"))
    with Progress(*columns, TimeElapsedColumn(), console=err, transient=True) as progress:
        task = progress.add_task(description, total=None)
        yield lambda _what, count: progress.advance(task, count)


@contextmanager
def step_bars() -> Iterator[Callable[[str, int, int], None]]:
    """A bar for each step of long work, with the time left, on standard error; told (step, done, of how much)."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=err) as bars:
        shown: dict[str, TaskID] = {}

        def told(step: str, done: int, total: int) -> None:
            if step not in shown:
                shown[step] = bars.add_task(step, total=total)
            bars.update(shown[step], completed=done, total=total)

        yield told


@contextmanager
def working(description: str) -> Iterator[None]:
    """A spinner on standard error."""
    with err.status(description):
        yield


def _report(error: DiscreetError, as_json: bool) -> None:
    if as_json:
        content: dict[str, Any] = {
            "error": type(error).__name__,
            "message": str(error),
            "exit_code": error.exit_code,
        }
        if isinstance(error, BudgetExhausted):
            content |= {"asked": error.asked, "left": error.left, "would_fit": error.would_fit}
        print_json(content)
    else:
        err.print(f"[bold red]{type(error).__name__}[/]: ", end="")
        err.print(str(error), markup=False)


def _finite(content: Any) -> Any:
    if isinstance(content, dict):
        return {key: _finite(value) for key, value in content.items()}
    if isinstance(content, list | tuple):
        return [_finite(value) for value in content]
    if isinstance(content, float) and not math.isfinite(content):
        return None
    return content

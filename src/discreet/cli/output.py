"""Output of commands: text for a person, one JSON object for a program, errors with an exit code, and progress."""

import functools
import json
import re
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from typing import Any, ParamSpec, Protocol, runtime_checkable

import typer
from markupsafe import Markup
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, ProgressColumn, SpinnerColumn, Task, TaskID, TextColumn
from rich.text import Text

from discreet.errors import BudgetExhausted, DiscreetError, Interrupted, StoreError, UsageError
from discreet.system.markup import fill
from discreet.system.plain import Sparse, Unbounded, to_json
from discreet.system.progress import Advance, shown_by
from discreet.system.words import counted as counted  # for the commands
from discreet.system.words import is_unicode

P = ParamSpec("P")
# The base class of the parser's errors, from click or from the copy of click in newer versions of typer.
WRONG_USE: type[Exception] = typer.BadParameter.__mro__[1]

_CONTROL = re.compile("\r(?!\n)|[\0-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
"""Control characters of a terminal. Those in a name, a path or an answer could overwrite printed text."""
_LONGEST_VALUE = 60
"""Characters of a wrong value that are shown."""


class _Terminal(Console):
    """A console that prints a question mark for each control character.

    Attributes:
        shows_progress: whether long work shows its progress here (`--quiet` turns it off).
    """

    shows_progress = True

    def render_str(self, text: str, **named: Any) -> Text:
        """Return the text without control characters."""
        return super().render_str(_CONTROL.sub("?", text), **named)


out = _Terminal(soft_wrap=True, highlight=False)
err = _Terminal(stderr=True, soft_wrap=True, highlight=False)


@runtime_checkable
class _Explains(Protocol):
    def format_message(self) -> str: ...


@runtime_checkable
class _Validates(Protocol):
    def errors(self) -> list[Any]: ...


def add_value(error: Exception) -> None:
    """Add the value that was given to an error of the parser, if its message lacks the value."""
    cause = error.__cause__  # of newer versions of typer, whose messages do not have it; those of older ones do
    message = getattr(error, "message", None)
    if not isinstance(cause, _Validates) or not isinstance(message, str):
        return
    given = next((repr(one["input"]) for one in cause.errors() if "input" in one), "")
    if given and given not in message:
        shown = given if len(given) <= _LONGEST_VALUE else f"{given[:_LONGEST_VALUE]}..."
        error.message = f"{message.rstrip('.')}; given: {shown}"


def explain_wrong_use(error: Exception) -> int:
    """Print an error of the parser as a JSON object. Return the exit code."""
    what = error.format_message() if isinstance(error, _Explains) else str(error)
    print_error(UsageError(f"{what.rstrip('.')}. See discreet COMMAND --help."), True)
    return UsageError.exit_code


def say(template: str, **values: Any) -> None:
    """Print a text of `discreet/templates`. In it, `plain` shows a value without markup."""
    out.print(fill(template, plain=lambda value: Markup(escape(str(value))), **values).rstrip("\n"))


def print_json(content: Any) -> None:
    """Print an object of a dataclass as JSON on standard output. Infinite numbers and NaN become null."""
    plain = "utf" not in (sys.stdout.encoding or "").lower()  # without UTF-8, JSON escapes all but ASCII
    text = _CONTROL.sub(lambda found: f"\\u{ord(found[0]):04x}", json.dumps(to_json(content), ensure_ascii=plain))
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


@contextmanager
def nothing_kept(done: str, kept: str = "nothing was kept") -> Iterator[None]:
    """State what an interrupted simulation left behind: no charge, and no more than `kept`.

    Raises:
        DiscreetError: if Ctrl-C was pressed; it begins with `done`.
    """
    try:
        yield
    except (KeyboardInterrupt, Interrupted):
        # Not chained: the frames hold documents.
        raise _interrupted(f"{done}; {kept}.") from None


def _interrupted(what: str) -> DiscreetError:
    broken = DiscreetError(f"Interrupted. {what}")
    broken.exit_code = Interrupted.exit_code
    return broken


def explained(command: Callable[P, int | None]) -> Callable[P, None]:
    """Return a command that prints errors as messages and exits with a code. A command's result is its exit code."""

    @functools.wraps(command)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        as_json = bool(kwargs.get("as_json"))
        try:
            _check_texts(kwargs)
            raise typer.Exit(command(*args, **kwargs) or 0)
        except typer.Exit:
            raise
        except DiscreetError as error:
            failure = error
        except KeyboardInterrupt:
            failure = _interrupted(
                "Charges made so far stay. Run the command again: `add` and `synthesize` resume, other commands start "
                "over."
            )
        except OverflowError:
            failure = UsageError(
                "A given number is too large. Give a number in the range that the help shows: discreet COMMAND --help."
            )
        except MemoryError:
            failure = DiscreetError("The machine has too little memory for this command. Give fewer or shorter inputs.")
        except OSError as error:
            # The message omits the file's name: it may be a document's name.
            why = error.strerror or type(error).__name__
            failure = StoreError(f"A file cannot be used ({why}). Check the paths, their permissions and the disk.")
        except Exception as error:
            # The message or traceback of an unexpected error may contain a document, so only its type is printed.
            failure = DiscreetError(
                f"Unexpected error ({type(error).__name__}). Details may be private and are withheld."
            )
        print_error(failure, as_json)
        raise typer.Exit(failure.exit_code)

    return run


def _check_texts(arguments: dict[str, Any]) -> None:
    """Check that all typed texts are UTF-8. The name of a file may have another encoding.

    Raises:
        UsageError: if a text is not UTF-8.
    """
    for name, value in arguments.items():
        if not all(
            is_unicode(text) for text in (value if isinstance(value, list) else [value]) if isinstance(text, str)
        ):
            raise UsageError(f"The value of '{name}' is not UTF-8. Type the value again in a UTF-8 terminal.")


@dataclass(frozen=True, kw_only=True)
class ErrorShown(Sparse):
    """An error of any command.

    Attributes:
        question: the question that failed; absent if only one was asked.
        error: the kind of the error.
        message: what is wrong, what is expected, and what mends it.
        exit_code: the exit code: 1, 2, 3 or 4.
        asked: the epsilon that was asked for; absent unless the budget is exhausted.
        left: the epsilon that is left; absent unless the budget is exhausted.
        would_fit: the epsilon that would fit; absent unless the budget is exhausted.
    """

    question: str | None = None
    error: str
    message: str
    exit_code: int
    asked: Unbounded | None = None
    left: Unbounded | None = None
    would_fit: Unbounded | None = None


def print_error(error: DiscreetError, as_json: bool, question: str | None = None) -> None:
    """Print an error: as text on standard error, or as a JSON object on standard output.

    Args:
        error: the error.
        as_json: whether to print a JSON object.
        question: the question that failed, if the object is to have it.
    """
    if as_json:
        shown = ErrorShown(question=question, error=type(error).__name__, message=str(error), exit_code=error.exit_code)
        if isinstance(error, BudgetExhausted):
            shown = replace(shown, asked=error.asked, left=error.left, would_fit=error.would_fit)
        print_json(shown)
    else:
        err.print(f"[bold red]{type(error).__name__}[/]: ", end="")
        err.print(str(error), markup=False)


# --- progress of long work --------------------------------------------------------------------------------------------


FIRST_LINE, NEXT_LINES = 2.0, 5.0
"""Without a terminal: the seconds before the first line, and between the lines."""
_WIDTH = 30

OnProgress = Callable[[str, int, int], None]
"""Receives a step, the number of items done, and the total of the step."""


@contextmanager
def doing(description: str, total: int | None = None) -> Iterator[Advance]:
    """Show the progress of long work, with the time left if the total is known.

    The stages that the work reports (`discreet.system.progress`) are shown below.

    Args:
        description: the name of the work.
        total: the number of items, if known.

    Yields:
        a function that receives the number of further items done.
    """
    with _showing() as board, shown_by(board.stage), board.stage(description, total) as advance:
        yield advance


@contextmanager
def doing_steps(description: str) -> Iterator[OnProgress]:
    """Show the progress of each step of long work. Yield the function that receives it."""
    steps: dict[str, TaskID] = {}
    with _showing() as board, shown_by(board.stage), board.stage(description):

        def on_progress(step: str, done: int, total: int) -> None:
            if step not in steps:
                steps[step] = board.add_task(step, total=total)
            board.move(steps[step], completed=done, total=total)

        yield on_progress


class _Far(ProgressColumn):
    """How far a stage is, and the time left: all the time that passed was like the rest."""

    def render(self, task: Task) -> Text:
        done, past = int(task.completed), task.elapsed or 0.0
        if task.total and done:
            left = past * max(task.total - done, 0) / done
            return Text(f"{done:,} of {int(task.total):,}, about {_spoken(left)} left")
        if task.total:
            return Text(f"0 of {int(task.total):,}, {_spoken(past, exact=True)} so far")
        spoken = _spoken(past, exact=True)
        return Text(f"{done:,} in {spoken}" if done else f"{spoken} so far")


class _Board(Progress):
    """The stages that run. As a line, it shows the one that moved last."""

    def __init__(self) -> None:
        name, self._far = TextColumn("{task.description}", markup=False), _Far()
        super().__init__(
            SpinnerColumn(), name, BarColumn(_WIDTH), self._far, console=err, transient=True, refresh_per_second=8
        )
        self._moved: list[TaskID] = []

    @contextmanager
    def stage(self, name: str, total: int | None = None) -> Iterator[Advance]:
        one = self.add_task(name, total=total)
        self._moved.append(one)
        try:
            yield lambda count: self.move(one, advance=count)
        finally:
            self._moved = [other for other in self._moved if other != one]
            self.remove_task(one)

    def move(self, one: TaskID, **how: Any) -> None:
        self._moved = [*(other for other in self._moved if other != one), one]
        self.update(one, **how)

    def line(self) -> str:
        with suppress(IndexError, KeyError):  # the stage has just ended
            task = self._tasks[self._moved[-1]]
            return f"{task.description}: {self._far.render(task)}"
        return ""


@contextmanager
def _showing() -> Iterator[_Board]:
    """Yield a board, and show it until the block ends: on a terminal as bars, elsewhere as a line now and then."""
    board, ended = _Board(), threading.Event()
    if not err.shows_progress:
        yield board
    elif sys.stderr.isatty() and err.is_interactive:
        with board:
            yield board
    else:
        lines = threading.Thread(target=_print_lines, args=(board, ended), daemon=True)
        lines.start()
        try:
            yield board
        finally:
            ended.set()
            lines.join()


def _print_lines(board: _Board, ended: threading.Event) -> None:
    wait = FIRST_LINE
    with suppress(OSError, ValueError):  # a closed standard error must not end the work
        while not ended.wait(wait):
            wait = NEXT_LINES
            if line := board.line():
                err.print(line, markup=False)


def _spoken(seconds: float, *, exact: bool = False) -> str:
    """Return a time in words: exact to the second, so that two lines differ; or rounded, for an estimate."""
    if seconds < 120:
        return f"{seconds:.0f} s"
    if exact:
        return f"{seconds // 60:.0f} min {int(seconds) % 60} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"

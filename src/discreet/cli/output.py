"""How commands speak: tables for a person, one JSON object for a program, errors with an exit code."""

import functools
import json
import math
import re
import sys
from collections.abc import Callable
from typing import Any, ParamSpec, Protocol, runtime_checkable

import typer
from rich.console import Console
from rich.text import Text

from discreet.errors import BudgetExhausted, DiscreetError, Interrupted, StoreError, UsageError
from discreet.system.unicode import is_unicode

P = ParamSpec("P")
# Of click, or of the copy of it that newer versions of typer hold.
WRONG_USE: type[Exception] = typer.BadParameter.__mro__[1]

_CONTROL = re.compile("\r(?!\n)|[\0-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
"""Characters that a terminal obeys. A name, a path or an answer may hold some, and could rewrite what is shown."""


class _Terminal(Console):
    """A console that shows a question mark for each control character of what is printed."""

    def render_str(self, text: str, **named: Any) -> Text:
        """The text as it is shown."""
        return super().render_str(_CONTROL.sub("?", text), **named)


out = _Terminal(soft_wrap=True, highlight=False)
err = _Terminal(stderr=True, soft_wrap=True, highlight=False)


@runtime_checkable
class _Explains(Protocol):
    def format_message(self) -> str: ...


def explain_wrong_use(error: Exception) -> int:
    """Print what the parser found wrong as a JSON object; returns the exit code."""
    what = error.format_message() if isinstance(error, _Explains) else str(error)
    print_error(UsageError(f"{what.rstrip('.')}. See discreet COMMAND --help."), True)
    return UsageError.exit_code


def counted(number: int, what: str) -> str:
    """A number and what it counts, in the plural if it is not one."""
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def print_json(content: dict[str, Any]) -> None:
    """One JSON object on standard output; numbers that JSON lacks become null."""
    plain = "utf" not in (sys.stdout.encoding or "").lower()  # then what is no ASCII is escaped as JSON does it
    text = _CONTROL.sub(lambda found: f"\\u{ord(found[0]):04x}", json.dumps(_finite(content), ensure_ascii=plain))
    sys.stdout.write(text + "\n")
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
            print_error(error, as_json)
            code = error.exit_code
        except KeyboardInterrupt:
            broken = DiscreetError(
                "Interrupted. What was paid stays paid. `add` and `synthesize` go on when they are run again; "
                "other commands begin anew."
            )
            broken.exit_code = code = Interrupted.exit_code
            print_error(broken, as_json)
        except OverflowError:
            print_error(
                UsageError(
                    "A number that was given is too large to be worked with. Give numbers as in the help: discreet "
                    "COMMAND --help."
                ),
                as_json,
            )
            code = UsageError.exit_code
        except MemoryError:
            print_error(
                DiscreetError("There is not enough memory for what was asked. Ask for less: fewer, or shorter."),
                as_json,
            )
            code = 1
        except OSError as error:
            # Its name is not shown: it may be a document's.
            why = error.strerror or type(error).__name__
            print_error(
                StoreError(f"A file cannot be used ({why}). Check the paths, who may use them, and the disk."), as_json
            )
            code = StoreError.exit_code
        except Exception as error:
            # The message or traceback of an unforeseen error may hold a document: only its type is shown.
            print_error(
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


def print_error(error: DiscreetError, as_json: bool, about: dict[str, Any] | None = None) -> None:
    """What went wrong: on standard error for a person, a JSON object on standard output for a program.

    Args:
        error: what went wrong.
        as_json: for a program.
        about: what else the object says, such as the question that it was.
    """
    if as_json:
        content: dict[str, Any] = (about or {}) | {
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

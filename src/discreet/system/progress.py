"""Progress reports of long work. A command line and a notebook show them; in another program they are dropped.

A report is public, or belongs to a command for the custodian. An answer has no counted stage. Its reports state that a
model is loaded, that voters are asked, and for how long. An analyst can measure that time without a report.
"""

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from contextvars import ContextVar
from importlib import import_module
from typing import Any

from discreet.system.markup import bar, paragraph

Advance = Callable[[int], None]
"""Receives the number of items that were done since the last call."""
Show = Callable[[str, int | None], AbstractContextManager[Advance]]
"""Shows a stage, given its name and total, until the block ends."""


def ignore_progress(*_: object) -> None:
    """Ignore a report of progress."""


@contextmanager
def _shown_to_no_one(_name: str, _total: int | None) -> Iterator[Advance]:
    yield lambda _: None


def _shown_by_default(name: str, total: int | None) -> AbstractContextManager[Advance]:
    # A cell may run in a context of its own, so a notebook cannot set `_SHOW` once for all cells.
    return (show_in_notebook if in_notebook() else _shown_to_no_one)(name, total)


_SHOW: ContextVar[Show] = ContextVar("show", default=_shown_by_default)


def stage(name: str, total: int | None = None) -> AbstractContextManager[Advance]:
    """Report a stage until the block ends. The block receives a function for the number of further items done."""
    return _SHOW.get()(name, total)


@contextmanager
def shown_by(show: Show) -> Iterator[None]:
    """Show the stages of this thread with `show` until the block ends."""
    before = _SHOW.set(show)
    try:
        yield
    finally:
        _SHOW.reset(before)


@contextmanager
def by_steps() -> Iterator[Callable[[str, int, int], None]]:
    """Report steps as stages until the block ends, one after the other.

    Yields:
        a function that receives a step, the number of its items that are done, and their total.
    """
    with ExitStack() as stack:
        running, before = "", 0
        advance: Advance = ignore_progress

        def report(step: str, done: int, total: int) -> None:
            nonlocal running, before, advance
            if step != running:
                stack.close()
                running, before, advance = step, 0, stack.enter_context(stage(step, total))
            advance(done - before)
            before = done

        yield report


# --- notebook progress ------------------------------------------------------------------------------------------------


_WAIT = 0.1
"""The least number of seconds between two updates: each is a message to the browser."""


def in_notebook() -> bool:
    """Return whether this program runs in a notebook that may show bars. `DISCREET_QUIET=1` hides them."""
    module = sys.modules.get("IPython")  # a notebook has loaded it; no other program waits for it
    if module is None or os.environ.get("DISCREET_QUIET", "") not in ("", "0"):
        return False
    return getattr(module.get_ipython(), "kernel", None) is not None


@contextmanager
def show_in_notebook(name: str, total: int | None) -> Iterator[Callable[[int], None]]:
    """Show a stage below the cell until the block ends, and the time that it took afterwards."""
    began = shown = time.monotonic()
    done = 0
    handle = import_module("IPython.display").display(_bundle(name, 0, total, ""), raw=True, display_id=True)

    def advance(count: int) -> None:
        nonlocal done, shown
        done += count
        if time.monotonic() - shown >= _WAIT:
            shown = time.monotonic()
            handle.update(_bundle(name, done, total, ""), raw=True)

    ended = "stopped"
    try:
        yield advance
        ended = "done"
    finally:
        handle.update(_bundle(name, done, total, f"{ended} after {time.monotonic() - began:.1f} s"), raw=True)


def _bundle(name: str, done: int, total: int | None, ended: str) -> dict[str, Any]:
    """Return the forms of a report: HTML, and text for a notebook that shows none."""
    far = f"{done:,} of {total:,}" if total else f"{done:,}" if done else ""
    text = f"{name}: {', '.join(filter(None, (far, ended))) or 'running'}"
    shown = [bar(done, total), " "] if total and not ended else []
    return {"text/plain": text, "text/html": str(paragraph(*shown, text))}

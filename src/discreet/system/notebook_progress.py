"""Bars of progress in a notebook: Jupyter, or another program that shows the outputs of an IPython kernel."""

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from discreet.system.markup import bar, paragraph

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

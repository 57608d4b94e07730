"""Progress reports of long work. A command line and a notebook show them; in another program they are dropped.

A report is public, or belongs to a command for the custodian. An answer has no counted stage. Its reports state that a
model is loaded, that voters are asked, and for how long. An analyst can measure that time without a report.
"""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from contextvars import ContextVar

from discreet.system.notebook_progress import in_notebook, show_in_notebook

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

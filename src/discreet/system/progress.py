"""Progress reports of long work. A command line shows them; in a program they are dropped.

A report is public, or belongs to a command for the custodian. An answer has no counted stage. Its reports state that a
model is loaded, that voters are asked, and for how long. An analyst can measure that time without a report.
"""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar

Advance = Callable[[int], None]
"""Receives the number of items that were done since the last call."""
Show = Callable[[str, int | None], AbstractContextManager[Advance]]
"""Shows a stage, given its name and total, until the block ends."""


def ignore_progress(*_: object) -> None:
    """Ignore a report of progress."""


@contextmanager
def _shown_to_no_one(_name: str, _total: int | None) -> Iterator[Advance]:
    yield lambda _: None


_SHOW: ContextVar[Show] = ContextVar("show", default=_shown_to_no_one)


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

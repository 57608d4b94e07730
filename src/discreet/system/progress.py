"""Stages of long work: told to a command line that shows them; to no one in a program.

What is told is public, or of a command that is for the custodian. An answer has no counted stage: what is told of it
is that a model is loaded and that voters are asked, and for how long; an analyst can measure that time without it.
"""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar

Advance = Callable[[int], None]
"""Told how many more are done."""
Show = Callable[[str, int | None], AbstractContextManager[Advance]]
"""Shows a stage (its name, of how many) as long as the block lasts."""


def ignore_progress(*_: object) -> None:
    """Ignore a report of progress."""


@contextmanager
def _shown_to_no_one(_name: str, _total: int | None) -> Iterator[Advance]:
    yield lambda _: None


_SHOW: ContextVar[Show] = ContextVar("show", default=_shown_to_no_one)


def stage(name: str, total: int | None = None) -> AbstractContextManager[Advance]:
    """Tell that this is done as long as the block lasts; what is yielded is told how many more of `total` are done."""
    return _SHOW.get()(name, total)


@contextmanager
def shown_by(show: Show) -> Iterator[None]:
    """Have `show` show the stages within the block; those of other threads stay unseen."""
    before = _SHOW.set(show)
    try:
        yield
    finally:
        _SHOW.reset(before)

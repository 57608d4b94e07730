"""Progress of long work on standard error: bars on a terminal, plain lines elsewhere."""

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.spinner import Spinner
from rich.table import Table

from discreet.cli.output import err
from discreet.system.progress import Advance, shown_by

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
    board = _Board()
    with _showing(board), shown_by(board.stage), board.stage(description, total) as advance:
        yield advance


@contextmanager
def doing_steps(description: str) -> Iterator[OnProgress]:
    """Show the progress of each step of long work. Yield the function that receives it."""
    board = _Board()
    steps: dict[str, _Stage] = {}

    def on_progress(step: str, done: int, total: int) -> None:
        if step not in steps:
            steps[step] = board.begin(step, total)
        board.move(steps[step], done, total)

    with _showing(board), shown_by(board.stage), board.stage(description):
        yield on_progress


@dataclass
class _Stage:
    name: str
    total: int | None
    done: int = 0
    began: float = field(default_factory=time.monotonic)

    @property
    def far(self) -> str:
        """The progress in words."""
        past = time.monotonic() - self.began
        if self.total and self.done:
            left = past * max(self.total - self.done, 0) / self.done
            return f"{self.done:,} of {self.total:,}, about {_spoken(left)} left"
        if self.total:
            return f"0 of {self.total:,}, {_spoken(past)} so far"
        return f"{self.done:,} in {_spoken(past)}" if self.done else f"{_spoken(past)} so far"


class _Board:
    """The running stages, in the order of their last reports."""

    def __init__(self) -> None:
        self._stages: list[_Stage] = []
        self._lock = threading.Lock()
        self._spinner = Spinner("dots")

    @contextmanager
    def stage(self, name: str, total: int | None = None) -> Iterator[Advance]:
        one = self.begin(name, total)
        try:
            yield lambda count: self.move(one, one.done + count, total)
        finally:
            with self._lock:
                self._stages.remove(one)

    def begin(self, name: str, total: int | None) -> _Stage:
        one = _Stage(name, total)
        with self._lock:
            self._stages.append(one)
        return one

    def move(self, one: _Stage, done: int, total: int | None) -> None:
        one.done, one.total = done, total
        with self._lock:
            self._stages.remove(one)
            self._stages.append(one)

    def line(self) -> str:
        """Return a line on the stage of the last report; "" if no stage runs."""
        with self._lock:
            return f"{self._stages[-1].name}: {self._stages[-1].far}" if self._stages else ""

    def bars(self) -> Table:
        """Return all stages as a table for a terminal."""
        table = Table.grid(padding=(0, 1))
        with self._lock:
            for one in self._stages:
                bar = ProgressBar(one.total, one.done, width=_WIDTH) if one.total else ""
                table.add_row(self._spinner, one.name, bar, one.far)
        return table


@contextmanager
def _showing(board: _Board) -> Iterator[None]:
    if not err.shows_progress:
        yield
        return
    if sys.stderr.isatty() and err.is_interactive:
        with Live(console=err, transient=True, get_renderable=board.bars, refresh_per_second=8):
            yield
        return
    ended = threading.Event()
    lines = threading.Thread(target=_print_lines, args=(board, ended), daemon=True)
    lines.start()
    try:
        yield
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


def _spoken(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"

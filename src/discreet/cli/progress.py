"""Progress of long work on standard error: bars on a terminal, plain lines elsewhere."""

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from rich.progress import BarColumn, Progress, ProgressColumn, SpinnerColumn, Task, TaskID, TextColumn
from rich.text import Text

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
            return Text(f"0 of {int(task.total):,}, {_spoken(past)} so far")
        return Text(f"{done:,} in {_spoken(past)}" if done else f"{_spoken(past)} so far")


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


def _spoken(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"

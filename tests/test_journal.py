"""What a run keeps, when several threads keep it at once."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from threading import Barrier, BrokenBarrierError
from typing import TypeVar

import pytest

from discreet.journal import Journal

R = TypeVar("R")


class Unlocked(Journal):
    """The broken twin: nobody waits for who draws already."""

    def once(self, name: str, draw: Callable[[], R]) -> R:
        if name not in self._lines:
            self.put(name, draw())
        found: R = self._lines[name]
        return found


@pytest.mark.parametrize(("kind", "times"), [(Journal, 1), (Unlocked, 2)])
def test_what_two_threads_ask_for_is_drawn_once(kind: type[Journal], times: int, tmp_path: Path) -> None:
    journal, both, drawn = kind(tmp_path / "run.jsonl"), Barrier(2), list[int]()

    def draw() -> int:
        drawn.append(len(drawn))
        with suppress(BrokenBarrierError):
            both.wait(1)  # for the other thread, if it draws, too
        return len(drawn)

    with ThreadPoolExecutor(2) as threads:
        found = list(threads.map(lambda _: journal.once("a", draw), range(2)))
    assert len(drawn) == times
    assert found == [times] * 2
    assert (tmp_path / "run.jsonl").read_text().count("name") == times


def test_lines_that_are_kept_at_once_do_not_get_mixed_up(tmp_path: Path) -> None:
    """A line of this length is written in several pieces."""
    journal = Journal(tmp_path / "run.jsonl")
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(lambda number: journal.once(f"n{number}", lambda: [number] * 50_000), range(40)))
    again = Journal(tmp_path / "run.jsonl")
    assert all(again.once(f"n{number}", list[int]) == [number] * 50_000 for number in range(40))


def test_a_draw_may_need_another_one(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "run.jsonl")
    assert journal.once("text", lambda: ["of", journal.once("size", lambda: 3)]) == ["of", 3]

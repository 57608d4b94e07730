"""What a run keeps, when several threads keep it at once."""

import resource
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from threading import Barrier, BrokenBarrierError
from typing import TextIO, TypeVar

import pytest

from discreet.errors import StoreError
from discreet.synthesis.extraction import FACTS, ExtractionCache, open_extraction_cache
from discreet.synthesis.runner import RunCheckpoint

R = TypeVar("R")


class Unlocked(RunCheckpoint):
    """The broken twin: nobody waits for who draws already."""

    def once(self, name: str, draw: Callable[[], R]) -> R:
        if name not in self._lines:
            self.put(name, draw())
        found: R = self._lines[name]
        return found


@pytest.mark.parametrize(("kind", "times"), [(RunCheckpoint, 1), (Unlocked, 2)])
def test_what_two_threads_ask_for_is_drawn_once(kind: type[RunCheckpoint], times: int, tmp_path: Path) -> None:
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
    journal = RunCheckpoint(tmp_path / "run.jsonl")
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(lambda number: journal.once(f"n{number}", lambda: [number] * 50_000), range(40)))
    again = RunCheckpoint(tmp_path / "run.jsonl")
    assert all(again.once(f"n{number}", list[int]) == [number] * 50_000 for number in range(40))


def test_a_draw_may_need_another_one(tmp_path: Path) -> None:
    journal = RunCheckpoint(tmp_path / "run.jsonl")
    assert journal.once("text", lambda: ["of", journal.once("size", lambda: 3)]) == ["of", 3]


def said(file: TextIO) -> ExtractionCache:
    """Readings of texts that say how long they are."""
    return ExtractionCache(file, ("model", 4), lambda fresh: enumerate([text, len(text)] for text in fresh))


def test_texts_that_differ_in_halves_of_characters_are_two(tmp_path: Path) -> None:
    with open_extraction_cache(tmp_path) as files:
        found = said(files[FACTS]).of(["a?", "a\ud800"], lambda _: None)
    assert [text for text, _ in found] == ["a?", "a\ud800"]


def test_a_full_disk_is_explained(tmp_path: Path) -> None:
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, limits[1]))
    try:
        with pytest.raises(StoreError, match="Make room"), open_extraction_cache(tmp_path) as files:
            said(files[FACTS]).of(["long" * 1000], lambda _: None)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)

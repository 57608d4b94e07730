"""Stages are told to the one who listens, and to no one in a program or in another thread."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from discreet.system.progress import Advance, shown_by, stage


def test_stage_is_told_to_the_one_who_listens() -> None:
    seen: list[object] = []

    @contextmanager
    def show(name: str, total: int | None) -> Iterator[Advance]:
        seen.append((name, total))
        yield seen.append
        seen.append("end")

    def work() -> None:
        with stage("Copying", 3) as done:
            done(2)

    work()
    with shown_by(show):
        work()
        elsewhere = threading.Thread(target=work)
        elsewhere.start()
        elsewhere.join()
    work()
    assert seen == [("Copying", 3), 2, "end"]


def test_error_takes_the_listener_away() -> None:
    with pytest.raises(ValueError, match="wrong"), shown_by(lambda *_: pytest.fail("shown")):
        raise ValueError("wrong")
    with stage("Copying"):
        pass

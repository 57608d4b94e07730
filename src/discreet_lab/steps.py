"""The progress of long work in the laboratory: steps, each with items that are counted."""

from collections.abc import Callable

OnProgress = Callable[[str, int, int], None]
"""Receives a step, the number of items done, and the total of the step."""
Count = Callable[..., None]
"""Counts items of a step that are done: one, or as many as are given."""


def count_step(step: str, total: int, on_progress: OnProgress) -> Count:
    """Return a function that counts the items of a step. The step is reported at once, with none of them done."""
    done = 0

    def count(more: int = 1) -> None:
        nonlocal done
        done += more
        on_progress(step, done, total)

    count(0)
    return count

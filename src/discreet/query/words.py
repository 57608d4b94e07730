"""Words in sentences: that for a unit, and moments."""

from collections.abc import Iterable

from discreet.system.words import (
    could_not_pay,
    nothing_released,
    part_of_grant,
    percent,
    such_questions,
    unit_word,
    who_said_so,
)

__all__ = [
    "could_not_pay",
    "minutes",
    "nothing_released",
    "part_of_grant",
    "percent",
    "such_questions",
    "unit_word",
    "who_said_so",
]


def minutes(moments: Iterable[str]) -> list[str]:
    """Return moments to the minute, in order, each once: "2026-03-01 10:02"."""
    return sorted({moment[:16].replace("T", " ") for moment in moments})

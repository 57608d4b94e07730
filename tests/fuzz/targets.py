"""What is fuzzed, for hypothesis (`test_*.py`, here) and for atheris (`audits fuzz`): one list for both.

A target is given bytes and a folder. It reads them as a user's file, or as what a user types, and uses what it read.
Its answer is "" if all went well, or the kind of what was refused. Whatever is raised that is no `DiscreetError` is a
crash, and so is a command that ends with a traceback, with an unknown exit code or with "Something unforeseen".
"""

import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from discreet.errors import DiscreetError
from tests.fuzz.mutations import Mutation, of_bytes

SOURCES = f"{Path('src') / 'discreet'}"


class Crash(Exception):  # noqa: N818 - it is what is looked for
    """Something that is no proper error: what, and where."""


@dataclass(frozen=True)
class Target:
    """Something that reads what others made.

    Attributes:
        name: of the target.
        share: how many of the inputs it gets, beside the shares of the others.
        seeds: sound inputs.
        run: reads bytes in a folder of its own; what it has done there before is still there.
        mutate: makes a strange input of a sound one.
    """

    name: str
    share: int
    seeds: tuple[bytes, ...]
    run: Callable[[Path, bytes], str]
    mutate: Mutation = of_bytes


def outcome(target: Target, folder: Path, data: bytes) -> str:
    """What came of an input: "done", or the kind of a proper error.

    Raises:
        Crash: anything else.
    """
    try:
        return target.run(folder, data) or "done"
    except DiscreetError as error:
        if len(str(error)) < 20:  # what happened, what was expected and what to do take more than that
            raise Crash(f"{type(error).__name__} without words: {error!s}") from error
        return type(error).__name__
    except Crash:
        raise
    except Exception as error:
        raise Crash(f"{type(error).__name__} at {_place(error)}") from error


def _place(error: Exception) -> str:
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if SOURCES in frame.filename]
    return " < ".join(f"{frame.filename.rpartition('discreet/')[2]}:{frame.name}" for frame in reversed(frames[-2:]))

"""What is kept track of without being kept alive, and looked at before a process forks."""

from typing import TypeVar
from weakref import WeakSet

T = TypeVar("T")


def members(of: WeakSet[T]) -> list[T]:
    """Return what a weak set holds, though other threads add to it meanwhile."""
    while True:
        try:
            return list(of)
        except RuntimeError:  # it changed while it was read
            continue

"""Reading of weak sets while other threads change them."""

from typing import TypeVar
from weakref import WeakSet

T = TypeVar("T")


def members(of: WeakSet[T]) -> list[T]:
    """Return the members of a weak set, also while other threads add members."""
    while True:
        try:
            return list(of)
        except RuntimeError:  # another thread changed the set
            continue

"""The mark of a vault without documents. It is public, because only acts of the custodian set it."""

from pathlib import Path

EMPTY = "empty"
"""The name of the mark: a public file in a new vault, until an `add` has ended."""


def is_empty(folder: Path) -> bool:
    """Return whether no `add` to the vault has ended yet. The result is public: it does not depend on any document.

    A vault of an older version has no mark, and counts as filled.
    """
    return (folder / EMPTY).exists()


def no_longer_empty(folder: Path) -> None:
    """Remove the mark, because an `add` has ended. The number of added documents plays no part."""
    (folder / EMPTY).unlink(missing_ok=True)

"""The mark of a vault to which nothing was added yet: public, since it follows from the acts of its custodian alone."""

from pathlib import Path

EMPTY = "empty"
"""A file in a new vault, public, until an `add` has ended; see docs/privacy-details.md, "An empty vault"."""


def is_empty(folder: Path) -> bool:
    """Whether no `add` to the vault has ended yet: public, since it follows from what was done, not from any record.

    A vault of an older version has no such mark, and counts as filled.
    """
    return (folder / EMPTY).exists()


def no_longer_empty(folder: Path) -> None:
    """Say, for good, that an `add` has ended, whatever it added."""
    (folder / EMPTY).unlink(missing_ok=True)

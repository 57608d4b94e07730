"""The difference between two neighbouring inputs of a mechanism.

A *privacy unit* is one individual with all documents that carry its name. Two vaults are neighbours if one unit is
present in one and absent in the other. A `Change` describes the effect on a mechanism's input: how many shares may
differ, and in which way.
"""

from dataclasses import dataclass
from enum import Enum


class Relation(Enum):
    """The way in which a share may differ between two neighbouring inputs."""

    ADD_REMOVE = "add-remove"
    """The share is present in one input and absent in the other."""
    REPLACE = "replace"
    """The share becomes any other value. Top-k retrieval turns a removal into this, since the next unit moves up."""


@dataclass(frozen=True)
class Change:
    """The effect of one privacy unit on a sealed value: at most `shares` shares differ, by `relation`."""

    shares: int
    relation: Relation

    def __post_init__(self) -> None:
        if self.shares < 1:
            raise ValueError(f"A unit changes at least one share, not {self.shares}.")

    def __str__(self) -> str:
        return f"{self.relation.value} of {self.shares} share{'s' if self.shares > 1 else ''}"

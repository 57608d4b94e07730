"""How two neighbouring inputs of a mechanism differ.

A *privacy unit* is one individual with all documents that carry its name. Two vaults are neighbours when one
unit is present in one and absent in the other. What a mechanism sees of that is described here: how many of
its shares may differ, and in which way.
"""

from dataclasses import dataclass
from enum import Enum


class Relation(Enum):
    """The way in which a share may differ between two neighbouring inputs."""

    ADD_REMOVE = "add-remove"
    """The share is present in one input and absent in the other."""
    REPLACE = "replace"
    """The share turns into any other value. Top-k retrieval makes a removal into this: the next unit moves up."""


@dataclass(frozen=True)
class Change:
    """What one privacy unit can do to a sealed value: alter at most `shares` shares, in the way of `relation`."""

    shares: int
    relation: Relation

    def __post_init__(self) -> None:
        if self.shares < 1:
            raise ValueError(f"A unit changes at least one share, not {self.shares}.")

    def __str__(self) -> str:
        return f"{self.relation.value} of {self.shares} share{'s' if self.shares > 1 else ''}"

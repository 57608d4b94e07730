"""Parameters are read from any dataclass, also from one of another package."""

from dataclasses import dataclass, field
from typing import Literal

import pytest

from discreet.parameters import read_parameters
from discreet.registry import ALGORITHMS


@dataclass(frozen=True, kw_only=True)
class Base:
    """Parameters of both.

    Attributes:
        voters: the number of voters (m), each
            with documents of its own.
    """

    voters: int = 40


@dataclass(frozen=True, kw_only=True)
class Plugin(Base):
    """An algorithm of another package.

    Attributes:
        weight: the weight of a vote (lambda).
        low, high: the bounds (l and u).
        order: the order of the voters; see
            `Base` (part 8).

    Raises:
        UsageError: if the weight is not positive.
    """

    weight: float
    low: float | None = None
    high: float | None = 1.0
    order: Literal["near", "rare"] = "near"
    names: tuple[str, ...] = ()
    numbers: tuple[int, ...] = (20, 40)
    fast: bool = field(default_factory=lambda: True)


Plugin.__module__ = Base.__module__ = "another_package"


@pytest.mark.parametrize("name", ALGORITHMS)
def test_every_algorithm_has_parameters_with_types(name: str) -> None:
    found = read_parameters(ALGORITHMS[name])
    assert found
    assert all(one.expected and not one.required for one in found)

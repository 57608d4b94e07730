"""List: the values of an attribute that many units share, each with its noisy count."""

from dataclasses import dataclass
from typing import ClassVar

from discreet.algorithms.statistics.value_counts import ValueCounts
from discreet.algorithms.statistics.values import values_of
from discreet.errors import UsageError
from discreet.retrieval.unit_records import UnitRecord


@dataclass(frozen=True, kw_only=True)
class ListValues(ValueCounts):
    """Parameters: those of `ValueCounts`, and one more.

    Attributes:
        attribute: what is listed: a declared field, or the kind of statements that the model read: "symptoms".
    """

    name: ClassVar[str] = "list"

    attribute: str = ""

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.attribute:
            raise UsageError("A list needs an attribute: what is listed, such as symptoms.")

    @property
    def attributes(self) -> tuple[str, ...]:
        """What is read of the units."""
        return (self.attribute,)

    def values(self, record: UnitRecord) -> tuple[str, ...]:
        """Return the values of the attribute that a unit has."""
        return tuple(str(value) for value in values_of(record, self.attribute))

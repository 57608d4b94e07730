"""Summary: what many units of a population state, of all kinds, each statement with its noisy count."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from discreet.algorithms.common.algorithm import Figure
from discreet.algorithms.statistics.counted import percent
from discreet.algorithms.statistics.value_counts import ValueCounts
from discreet.retrieval.unit_records import UnitRecord


@dataclass(frozen=True, kw_only=True)
class Summary(ValueCounts):
    """Parameters: see `ValueCounts`. A value is a statement, such as "treatment: ginger gloves"."""

    name: ClassVar[str] = "summary"

    each: int = 8

    @property
    def needs_readings(self) -> bool:
        """Whether the documents must be read: they must."""
        return True

    def values(self, record: UnitRecord) -> tuple[str, ...]:
        """Return the statements of a unit that have a kind and are not denied."""
        told = (one for one in record.statements if one.attribute and one.value and not one.negated)
        return tuple(f"{one.attribute}: {one.value}" for one in told)

    def say(self, table: Sequence[Figure]) -> str:
        """Return one sentence for each kind, with the share of each value."""
        kinds: dict[str, list[str]] = {}
        for figure in table:
            if figure.kind == "share":
                kind, _, value = figure.name.partition(": ")
                kinds.setdefault(kind, []).append(f"{value} ({percent(figure)})")
        said = [f"{kind[:1].upper()}{kind[1:]}: {'; '.join(values)}." for kind, values in kinds.items()]
        return "\n".join([*said, f"Of about {table[-1].value:,.0f}."])

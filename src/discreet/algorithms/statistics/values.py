"""The values of an attribute that a unit has: of a declared field, or of statements that the model read."""

from collections.abc import Iterable

from discreet.algorithms.text.attributes import matches
from discreet.retrieval.unit_records import UnitRecord, Value


def values_of(record: UnitRecord, attribute: str) -> list[Value]:
    """Return the values of an attribute, each once: of the declared field if it is one, and else the stated ones.

    What a text denies is no value. Documents of one unit that contradict each other give it several values.
    """
    declared = [value for name in _fields(record) if matches(name, attribute) for value in record.values(name)]
    stated = [
        one.value for one in record.statements if one.value and not one.negated and matches(one.attribute, attribute)
    ]
    return list(dict.fromkeys(declared or stated))


def _fields(record: UnitRecord) -> Iterable[str]:
    return dict.fromkeys(name for fields in record.fields for name in fields)

"""The values of an attribute that a unit has: of a declared field, or of statements that the model read."""

from collections.abc import Iterable
from functools import lru_cache

from discreet.algorithms.text.keywords import STOP_WORDS
from discreet.algorithms.text.normalize import words_of
from discreet.algorithms.text.yes_no_claim import stem
from discreet.retrieval.unit_records import UnitRecord, Value

_ALIKE = (
    "treatment therapy remedy medicine medication drug",
    "symptom sign complaint",
    "diagnosis disease illness condition disorder",
)
"""Words for one attribute. Others are alike if they have the same stem."""


def values_of(record: UnitRecord, attribute: str) -> list[Value]:
    """Return the values of an attribute, each once: of the declared field if it is one, and else the stated ones."""
    declared = [value for name in _fields(record) if matches(name, attribute) for value in record.values(name)]
    stated = [one.value for one in record.statements if one.value and matches(one.attribute, attribute)]
    return list(dict.fromkeys(declared or stated))


def matches(kind: str, attribute: str) -> bool:
    """Return whether a kind of statement is the attribute that is asked: "given treatment" is a "treatment"."""
    wanted = _stems(attribute)
    return bool(wanted) and wanted <= _stems(kind)


def _fields(record: UnitRecord) -> Iterable[str]:
    return dict.fromkeys(name for fields in record.fields for name in fields)


@lru_cache(maxsize=4096)
def _stems(text: str) -> frozenset[str]:
    stems = (stem(word) for word in words_of(text.replace("_", " ")) if word not in STOP_WORDS)
    return frozenset(_SAME.get(word, word) for word in stems)


_SAME = {stem(word): stem(group.split()[0]) for group in _ALIKE for word in group.split()}

"""The statistic of a request, in one vault: its date, its attribute under the schema, and whether all of it is known.

All of it depends on public values: the request, the declared fields, and whether the custodian had the documents read.
A vault that was read under a schema has its attributes. Lists and typical numbers of another one are refused unpaid.
"""

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any

from discreet.algorithms.common.algorithm import Algorithm
from discreet.algorithms.statistics.conditions import FieldTest
from discreet.algorithms.statistics.list_values import ListValues
from discreet.algorithms.statistics.statistic import Statistic
from discreet.algorithms.statistics.typical import Typical
from discreet.algorithms.text.attributes import matches
from discreet.algorithms.text.schema_words import Embed, attribute_meant, attribute_named
from discreet.config import VaultConfig, field_type, field_values
from discreet.errors import CannotAnswer, UnknownName, UsageError
from discreet.questions.request import KINDS, Request
from discreet.retrieval.attribute_schema import Attribute, AttributeSchema


def of_request(
    request: Request, settings: VaultConfig, given: Mapping[str, Any], schema: AttributeSchema | None = None
) -> Statistic:
    """Return the algorithm of a request, with what follows from the vault: its date, and the range of a number.

    Args:
        request: a request for a statistic.
        settings: the configuration of the vault.
        given: other parameters of the statistic, such as `where` and `epsilon`.
        schema: the schema under which the documents were read; None if there is none.

    Raises:
        CannotAnswer: if the vault cannot release such a statistic.
        UsageError: if such a statistic has no such parameter.
    """
    own: dict[str, Any] = dict(given)
    if request.kind == "trend":
        own = {"date_field": request.dated or _dates(settings)[0]} | own
    if request.kind == "typical":
        own = range_of(request.attribute, settings, schema) | own
    _refuse_strange(KINDS[request.kind], own)
    return request.statistic(**own)


def check_known(algorithm: Algorithm, settings: VaultConfig, *, read: bool) -> None:
    """Refuse an algorithm that needs something that the vault does not know. Nothing was charged.

    Args:
        algorithm: the algorithm.
        settings: the configuration of the vault.
        read: whether the documents were read (`discreet read`).

    Raises:
        UnknownName: if a field that it tests is not declared.
        UsageError: if a field has another type.
        CannotAnswer: if what it reads is no declared field, and the documents were not read.
    """
    if algorithm.needs_readings and not read:
        raise CannotAnswer(algorithm.name, "The documents were not read. Read them once: discreet read VAULT.")
    if not isinstance(algorithm, Statistic):
        return
    for name in (*algorithm.fields_tested, *algorithm.dates_read):
        if name not in settings.fields:
            raise UnknownName("declared field", name, settings.fields)
    for name in algorithm.dates_read:
        if settings.fields[name] != "date":
            raise UsageError(f"The field '{name}' is a {settings.fields[name]}, and a trend needs a date.")
    for test in algorithm.tests:
        _check_value(test, settings.fields[test.field])
    for attribute in algorithm.attributes:
        if not (read or any(matches(name, attribute) for name in settings.fields)):
            raise CannotAnswer(
                algorithm.name,
                f"Nothing is known about '{attribute}': it is no declared field, and the documents were not read. Read "
                "them once: discreet read VAULT.",
            )


def _check_value(test: FieldTest, kind: str) -> None:
    """Refuse a value that is none of the type of its field.

    Raises:
        UsageError: if it is none; the error has the accepted forms.
    """
    name, value, values = test.field, test.value, field_values(kind)
    kind = field_type(kind)
    if values and value.casefold() not in map(str.casefold, values):
        meant = next((one for one, labels in values.items() if value.casefold() in map(str.casefold, labels)), "")
        known = ", ".join(f"{one} ({'/'.join(labels)})" if labels else one for one, labels in values.items())
        form = f"{name}={meant or next(iter(values))}"
        raise UsageError(f"The field '{name}' has the values {known}, and '{value}' is none. Write {form}.")
    if kind == "number" and not test.is_number:
        raise UsageError(f"The field '{name}' is a number, and '{value}' is none. Write {name}>=60, or {name}=60..69.")
    if kind == "date" and test.period is None:
        raise UsageError(
            f"The field '{name}' is a date, and '{value}' is no day, month or year. Write {name}=2026-03, "
            f"{name}>=2026-03-01, {name}=31.03.2026, {name}=2026 or {name}=2026-01..2026-03."
        )
    if kind == "category" and test.relation not in ("=", "!="):
        raise UsageError(f"The field '{name}' is a category, without an order. Write {name}={value}.")
    if ".." in value and kind != "category" and test.relation not in ("=", "!="):
        raise UsageError(f"'{value}' is a range, and is tested by = or !=. Write {name}={value}.")


def _refuse_strange(kind: type[Statistic], given: Mapping[str, Any]) -> None:
    known = {field.name for field in fields(kind)}
    if strange := sorted(set(given) - known):
        raise UsageError(f"A {kind.name} has no {', '.join(strange)}. It has: {', '.join(sorted(known))}.")


def _dates(settings: VaultConfig) -> list[str]:
    """Return the names of the declared dates.

    Raises:
        CannotAnswer: if there is none.
    """
    if not (dates := [name for name, kind in settings.fields.items() if kind == "date"]):
        raise CannotAnswer(
            "trend",
            "It asks for a change over time, and the vault has no declared date. Declare one when a vault is made: "
            "discreet init VAULT --field NAME:date.",
        )
    return dates


def range_of(attribute: str, settings: VaultConfig, schema: AttributeSchema | None) -> dict[str, Any]:
    """Return the public range of a number, as the schema has it; nothing if it has none."""
    if schema is None or _is_declared(attribute, settings):
        return {}
    found = attribute_named(schema, attribute)
    return {} if found is None or found.low is None else {"low": found.low, "high": found.high}


def under_schema(
    algorithm: Algorithm, settings: VaultConfig, schema: AttributeSchema | None, embed: Embed
) -> Algorithm:
    """Return the algorithm with the attribute of the schema that it means.

    Args:
        algorithm: the algorithm.
        settings: the configuration of the vault; a declared field comes before an attribute.
        schema: the schema under which the documents were read; None if there is none.
        embed: returns the vector of a text; called only if the attribute is not named in the words of the schema.

    Raises:
        CannotAnswer: if the documents were not read for such an attribute, or if it is no number.
    """
    if schema is None or not isinstance(algorithm, ListValues | Typical):
        return algorithm
    if _is_declared(algorithm.attribute, settings):
        return algorithm
    found = attribute_meant(schema, algorithm.attribute, embed)
    if found is None:
        raise CannotAnswer(
            algorithm.name,
            f"The documents were read for {', '.join(schema.names)}, and '{algorithm.attribute}' is none of these. Ask "
            "for one of them, or add it to the schema and read again: discreet read VAULT --schema schema.json.",
        )
    return _attribute_of(algorithm, found)


def _attribute_of(algorithm: ListValues | Typical, found: Attribute) -> Algorithm:
    if isinstance(algorithm, ListValues):
        return replace(algorithm, attribute=found.name)
    if found.type != "number":
        raise CannotAnswer(
            algorithm.name, f"'{found.name}' is a {found.type} in the schema, and a typical value needs a number."
        )
    low, high = algorithm.range
    return replace(algorithm, attribute=found.name, low=low, high=high)


def _is_declared(attribute: str, settings: VaultConfig) -> bool:
    return any(matches(name, attribute) for name in settings.fields)

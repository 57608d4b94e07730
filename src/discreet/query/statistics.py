"""Questions for a statistic: the algorithm that answers one, by rules, from its public text alone.

A count, a share, a list, a comparison, a trend and a typical number are about many units, and need no voters. The route
depends on the question, on the names of the declared fields, and on whether the custodian had the documents read: all
of it is public.

A vault that was read under a schema has its attributes. Lists and typical numbers of another one are refused unpaid.
"""

from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from itertools import chain
from typing import Any

from discreet.algorithms.common.algorithm import Algorithm
from discreet.algorithms.statistics.compare import Compare
from discreet.algorithms.statistics.conditions import All, FieldTest, Not, all_of, parse, where
from discreet.algorithms.statistics.count import Count
from discreet.algorithms.statistics.difference import Difference
from discreet.algorithms.statistics.list_values import ListValues
from discreet.algorithms.statistics.share import Share
from discreet.algorithms.statistics.statistic import Statistic
from discreet.algorithms.statistics.summary import Summary
from discreet.algorithms.statistics.trend import MONTHS, Trend
from discreet.algorithms.statistics.typical import Typical
from discreet.algorithms.text.attributes import matches
from discreet.algorithms.text.schema_words import Embed, attribute_meant, attribute_named
from discreet.config import VaultConfig, field_type, field_values
from discreet.errors import CannotAnswer, UnknownName, UsageError
from discreet.query.question_kinds import recognise
from discreet.query.request import KINDS, Request
from discreet.query.requests import Wording, request_of
from discreet.query.slots import as_condition, keep_words
from discreet.retrieval.attribute_schema import Attribute, AttributeSchema

_REFUSED = ("person", "other-language", "follow-up")


def statistic_asked(
    question: str, settings: VaultConfig, language: str = "en", schema: AttributeSchema | None = None
) -> Wording | None:
    """Return the statistic that a question asks for, in its parts; None if it asks for none.

    Args:
        question: the question.
        settings: the configuration of the vault. Where all units pay for every question, no statistic is released.
        language: the code of the language that the model reads; "" for any. A statistic needs no model, and is found in
            German, French and Spanish, too.
        schema: the schema under which the documents were read; None if there is none.

    Raises:
        CannotAnswer: if the rules left out a part of the question that changes its answer.
    """
    if settings.payment != "unit":
        return None
    numbers = [one.called for one in schema.attributes if one.type == "number"] if schema else []
    request = request_of(question, settings.unit_field, (*settings.fields, *chain(*numbers)))
    foreign = request and request.language  # no model reads it
    if request is None or (not foreign and recognise(question, language, settings.unit_field).name in _REFUSED):
        return None
    return keep_words(question, request)


def build_statistic(
    request: Wording,
    settings: VaultConfig,
    given: Mapping[str, Any],
    schema: AttributeSchema | None = None,
    question: str = "",
) -> Statistic:
    """Return the algorithm of a request.

    Args:
        request: what is asked for.
        settings: the configuration of the vault.
        given: parameters of the statistic that do not follow from the question, such as `where` and `epsilon`.
        schema: the schema under which the documents were read; None if there is none.
        question: the question, for the advice of an error.

    Raises:
        CannotAnswer: if the vault cannot release such a statistic.
        UsageError: if such a statistic has no such parameter.
    """
    if request.kind == "compare" and request.negated:
        why = "A group, or what is compared, is denied. Write it as a request: compare: ..., groups ... versus ..."
        raise CannotAnswer("two-things", why)
    request = _with_conditions(request, question, settings)
    if request.statistic == "range":
        request = replace(request, statistic="quartiles")
    kind, own = _BUILD[request.kind](request, settings)
    _refuse_lost(request, kind)
    _refuse_strange(kind, given)
    spoken = {"language": request.language} if request.language else {}
    found = range_of(request.attribute, settings, schema) if kind is Typical else {}
    return kind(**(own | spoken | found | dict(given)))


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


def _with_conditions(request: Wording, question: str, settings: VaultConfig) -> Wording:
    """Return the request with its phrases as conditions.

    Raises:
        CannotAnswer: if one is none.
    """
    labels = {
        label.casefold(): where(name, "=", value)
        for name, kind in settings.fields.items()
        for value, named in field_values(kind).items()
        for label in named
    }

    def condition(part: str) -> str:
        return as_condition(part, request.language, question, labels)

    found, negated = condition(request.condition), request.negated
    several = parse(found) if negated and found != request.condition else None
    if isinstance(several, All):  # "no fever and no chills": the first denial is that of the first part
        if not all(isinstance(one, Not) for one in several.all[1:]):
            why = f"'no {request.condition}' can be read in two ways. Ask about each by itself."
            raise CannotAnswer("two-things", why)
        first = several.all[0]
        found, negated = str(all_of(first if isinstance(first, Not) else ~first, *several.all[1:])), False
    return replace(
        request,
        negated=False,
        population=condition(request.population),
        condition=str(~parse(found, request.language)) if negated and found else found,
        groups=tuple(map(condition, request.groups)),
    )


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


Built = tuple[type[Statistic], dict[str, Any]]
"""A statistic, and the parameters that follow from the question."""


def _refuse_lost(request: Wording, kind: type[Statistic]) -> None:
    """Refuse a request of which a part would be lost: the answer would be that of another question."""
    lost = [part for part in (request.since and f"since {request.since}", request.by and f"by {request.by}") if part]
    if lost and kind is not Trend:
        raise CannotAnswer(
            request.kind,
            f"It asks for '{', '.join(lost)}', and a {kind.name} is about all times and places. Ask for a count by "
            "month, or test a declared field: --where 'day>=2026-03'.",
        )


def _of(request: Wording) -> dict[str, Any]:
    """Return the population and the condition."""
    return {"population": request.population, "condition": request.condition}


def _count(request: Wording, settings: VaultConfig) -> Built:
    return _trend(request, settings) if request.since else (Count, _of(request))


def _share(request: Wording, settings: VaultConfig) -> Built:
    return Share, _of(request)


def _list(request: Wording, settings: VaultConfig) -> Built:
    return ListValues, {"population": request.population, "attribute": request.attribute, "most": request.most}


def _compare(request: Wording, settings: VaultConfig) -> Built:
    if not request.condition:
        raise CannotAnswer(
            "compare",
            "It compares groups by something that has several values. Ask how often one of them occurs, for example: "
            "Is fever more common with Winter Hand than with Glass Knee?",
        )
    return Compare, _of(request) | {"groups": request.groups}


def _difference(request: Wording, settings: VaultConfig) -> Built:
    return Difference, {"population": request.population, "groups": request.groups}


def _trend(request: Wording, settings: VaultConfig) -> Built:
    dates = _dates(settings)
    if request.attribute or request.by not in ("", *MONTHS, *dates):
        name = request.by or request.attribute
        listed = f" For the number of each {name}, ask for a list: List the {name}s." if name in settings.fields else ""
        raise CannotAnswer("trend", f"It asks for values by '{name}'. Counts are by month, quarter or year.{listed}")
    by = request.by if request.by in MONTHS else "month"
    return Trend, _of(request) | {"date_field": _named(dates, request.by), "since": request.since, "by": by}


def _typical(request: Wording, settings: VaultConfig) -> Built:
    what = request.statistic if request.statistic in ("mean", "quartiles") else "median"
    return Typical, {"population": request.population, "attribute": request.attribute, "what": what}


def _summary(request: Wording, settings: VaultConfig) -> Built:
    return Summary, {"population": request.population}


def _named(names: Sequence[str], wanted: str) -> str:
    """Return the name that is wanted; the first one if it is none of them."""
    return wanted if wanted in names else names[0]


_BUILD = {
    "count": _count,
    "share": _share,
    "difference": _difference,
    "list": _list,
    "compare": _compare,
    "trend": _trend,
    "typical": _typical,
    "summary": _summary,
}


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

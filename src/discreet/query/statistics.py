"""Questions for a statistic: the algorithm that answers one, by rules, from its public text alone.

A count, a share, a list, a comparison, a trend and a typical number are about many units, and need no voters. The route
depends on the question, on the names of the declared fields, and on whether the custodian had the documents read: all
of it is public.

A vault that was read under a schema has its attributes. Lists and typical numbers of another one are refused unpaid.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from itertools import chain
from typing import Any

from discreet.algorithms.common.algorithm import Algorithm
from discreet.algorithms.statistics.compare import Compare
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
from discreet.config import VaultConfig
from discreet.errors import CannotAnswer, UnknownName, UsageError
from discreet.query.question_kinds import recognise
from discreet.query.requests import Request, request_of
from discreet.query.tested import check_asked
from discreet.retrieval.attribute_schema import Attribute, AttributeSchema

_REFUSED = ("person", "other-language", "follow-up")
KINDS: dict[str, type[Statistic]] = {
    kind.name: kind for kind in (Count, Share, Difference, ListValues, Compare, Trend, Typical, Summary)
}
"""The statistics by the names of their kinds."""

_HOLDS_AND_NOT = re.compile(r"^(?P<holds>.+?) (?:but|and) (?:not|no|without|never) (?P<denied>.+)$", re.IGNORECASE)
"""In English, two things of which the second does not hold. "Migraine without aura" is one thing, as a text says it."""
_MORE = re.compile(r"\b(?:and|but|or|nor)\b", re.IGNORECASE)


def statistic_asked(
    question: str, settings: VaultConfig, language: str = "en", schema: AttributeSchema | None = None
) -> Request | None:
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
    check_asked(question, request)
    return request


def build_statistic(
    request: Request, settings: VaultConfig, given: Mapping[str, Any], schema: AttributeSchema | None = None
) -> Statistic:
    """Return the algorithm of a request.

    Args:
        request: what is asked for.
        settings: the configuration of the vault.
        given: parameters of the statistic that do not follow from the question, such as `where` and `epsilon`.
        schema: the schema under which the documents were read; None if there is none.

    Raises:
        CannotAnswer: if the vault cannot release such a statistic.
        UsageError: if such a statistic has no such parameter.
    """
    if request.language == "":
        request = _as_set_and_condition(request)
    if request.statistic == "range":
        request = replace(request, statistic="quartiles")
    kind, own = _BUILD[request.kind](request, settings)
    _refuse_lost(request, kind)
    known = {field.name for field in fields(kind)}
    if strange := sorted(set(given) - known):
        raise UsageError(f"A {kind.name} has no {', '.join(strange)}. It has: {', '.join(sorted(known))}.")
    spoken = {"language": request.language} if request.language else {}
    return kind(**(own | spoken | range_of(request, settings, schema) | dict(given)))


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
    for test in algorithm.members.fields:
        kind = settings.fields[test.name]
        if kind == "number" and not test.is_number():
            raise UsageError(f"The field '{test.name}' is a number, and '{test.value}' is none. Write {test.name}>=60.")
        if kind == "date" and not test.is_day():
            raise UsageError(
                f"The field '{test.name}' is a date, and '{test.value}' is no day. Write {test.name}>=2026-03-01; "
                f"for a month, also {test.name}<=2026-03-31."
            )
        if kind == "category" and test.relation not in ("=", "!="):
            raise UsageError(
                f"The field '{test.name}' is a category, without an order. Write {test.name}={test.value}."
            )
    for attribute in algorithm.attributes:
        if not (read or any(matches(name, attribute) for name in settings.fields)):
            raise CannotAnswer(
                algorithm.name,
                f"Nothing is known about '{attribute}': it is no declared field, and the documents were not read. Read "
                "them once: discreet read VAULT.",
            )


def _as_set_and_condition(request: Request) -> Request:
    """Return the count of "fever but not chills" as that of the units with fever that have no chills."""
    two = _HOLDS_AND_NOT.match(request.condition)
    if two is None or request.kind != "count" or request.population or request.negated:
        return request
    if _MORE.search(two["holds"]) or _MORE.search(two["denied"]):  # three things: `check_tested` refuses them
        return request
    return replace(request, population=two["holds"], condition=two["denied"], negated=True)


Built = tuple[type[Statistic], dict[str, Any]]
"""A statistic, and the parameters that follow from the question."""


def _refuse_lost(request: Request, kind: type[Statistic]) -> None:
    """Refuse a request of which a part would be lost: the answer would be that of another question."""
    lost = [part for part in (request.since and f"since {request.since}", request.by and f"by {request.by}") if part]
    if lost and kind is not Trend:
        raise CannotAnswer(
            request.kind,
            f"It asks for '{', '.join(lost)}', and a {kind.name} is about all times and places. Ask for a count by "
            "month, or test a declared field: --where 'day>=2026-03'.",
        )


def _of(request: Request) -> dict[str, Any]:
    """Return the population and the condition."""
    return {"population": request.population, "condition": request.condition, "negated": request.negated}


def _count(request: Request, settings: VaultConfig) -> Built:
    return _trend(request, settings) if request.since else (Count, _of(request))


def _share(request: Request, settings: VaultConfig) -> Built:
    return Share, _of(request)


def _list(request: Request, settings: VaultConfig) -> Built:
    return ListValues, {"population": request.population, "attribute": request.attribute, "most": request.most}


def _compare(request: Request, settings: VaultConfig) -> Built:
    if not request.condition:
        raise CannotAnswer(
            "compare",
            "It compares groups by something that has several values. Ask how often one of them occurs, for example: "
            "Is fever more common with Winter Hand than with Glass Knee?",
        )
    return Compare, _of(request) | {"groups": request.groups}


def _difference(request: Request, settings: VaultConfig) -> Built:
    return Difference, {"population": request.population, "groups": request.groups}


def _trend(request: Request, settings: VaultConfig) -> Built:
    dates = [name for name, kind in settings.fields.items() if kind == "date"]
    if not dates:
        raise CannotAnswer(
            "trend",
            "It asks for a change over time, and the vault has no declared date. Declare one when a vault is made: "
            "discreet init VAULT --field NAME:date.",
        )
    if request.attribute or request.by not in ("", *MONTHS, *dates):
        name = request.by or request.attribute
        listed = f" For the number of each {name}, ask for a list: List the {name}s." if name in settings.fields else ""
        raise CannotAnswer("trend", f"It asks for values by '{name}'. Counts are by month, quarter or year.{listed}")
    by = request.by if request.by in MONTHS else "month"
    return Trend, _of(request) | {"date_field": _named(dates, request.by), "since": request.since, "by": by}


def _typical(request: Request, settings: VaultConfig) -> Built:
    what = request.statistic if request.statistic in ("mean", "quartiles") else "median"
    return Typical, {"population": request.population, "attribute": request.attribute, "what": what}


def _summary(request: Request, settings: VaultConfig) -> Built:
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


def range_of(request: Request, settings: VaultConfig, schema: AttributeSchema | None) -> dict[str, Any]:
    """Return the public range of the number that a request names, as the schema has it; nothing if it has none."""
    if schema is None or request.kind != "typical" or _is_declared(request.attribute, settings):
        return {}
    found = attribute_named(schema, request.attribute)
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

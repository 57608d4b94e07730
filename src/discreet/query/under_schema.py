"""Lists and typical numbers of a vault that was read under a schema: their attribute is one of the schema.

It is found by its name, by its other words, then by the embedder: from the question and the schema alone, which are
public. A question for an attribute that the documents were not read for is refused before any payment.
"""

from dataclasses import replace
from typing import Any

from discreet.algorithms.common.algorithm import Algorithm
from discreet.algorithms.statistics.list_values import ListValues
from discreet.algorithms.statistics.typical import Typical
from discreet.algorithms.text.attributes import matches
from discreet.algorithms.text.schema_words import Embed, attribute_meant, attribute_named
from discreet.config import VaultConfig
from discreet.errors import CannotAnswer
from discreet.query.requests import Request
from discreet.retrieval.attribute_schema import Attribute, AttributeSchema


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
    return _of(algorithm, found)


def _of(algorithm: ListValues | Typical, found: Attribute) -> Algorithm:
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

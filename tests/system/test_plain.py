"""What a dataclass leaves as JSON, and what its schema says of it."""

import json
import math
from dataclasses import dataclass, field
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from discreet.cli.schema import schema_of
from discreet.system.plain import KEY, Sparse, Unbounded, show_as, to_json, to_plain


@dataclass(frozen=True)
class Part(Sparse):
    """A part.

    Attributes:
        size: its size.
        two_words: its words; None if there are none.
        note: a note; absent if there is none.
    """

    size: Unbounded
    two_words: str | None = field(metadata={KEY: "two-words"})
    note: str | None = ""


@dataclass(frozen=True)
class Whole:
    """A whole."""

    parts: tuple[Part, ...]
    count: int = 0


def test_field_with_its_default_is_absent_where_that_is_said() -> None:
    whole = Whole((Part(1.0, None), Part(math.inf, "a b", None)))
    assert to_json(whole) == {
        "parts": [{"size": 1.0, "two-words": None}, {"size": None, "two-words": "a b", "note": None}],
        "count": 0,
    }
    Draft202012Validator(schema_of(Whole)).validate(to_json(whole))


def test_schema_names_the_keys_and_permits_no_others() -> None:
    schema = schema_of(Whole)
    part = schema["$defs"]["Part"]
    assert (schema["required"], part["required"]) == (["parts", "count"], ["size", "two-words"])
    assert list(part["properties"]) == ["size", "two-words", "note"]
    assert part["properties"]["two-words"]["description"] == "Its words; null if there are none."
    assert part["additionalProperties"] is False


def test_value_of_another_type_is_refused_and_not_shown() -> None:
    wrong: Any = "secret"
    for broken in (Whole((Part(wrong, None),)), Whole((), wrong), Whole((wrong,))):
        with pytest.raises(TypeError) as error:
            to_plain(broken)
        assert "secret" not in str(error.value)
        assert error.value.__suppress_context__


def test_text_of_a_broken_file_name_leaves() -> None:
    assert json.dumps(to_json(Part(1.0, "a\udc80"))) == '{"size": 1.0, "two-words": "a\\udc80"}'


def test_object_is_made_from_another_one() -> None:
    assert show_as(Part, Part(1.0, "a", "b"), note="c") == Part(1.0, "a", "c")

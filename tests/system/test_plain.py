"""What a dataclass leaves as JSON, and what its schema says of it."""

import json
from dataclasses import dataclass, field
from typing import Any

import pytest

from discreet.system.plain import KEY, Sparse, Unbounded, to_json, to_plain


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


def test_value_of_another_type_is_refused_and_not_shown() -> None:
    wrong: Any = "secret"
    for broken in (Whole((Part(wrong, None),)), Whole((), wrong), Whole((wrong,))):
        with pytest.raises(TypeError) as error:
            to_plain(broken)
        assert "secret" not in str(error.value)
        assert error.value.__suppress_context__


def test_text_of_a_broken_file_name_leaves() -> None:
    assert json.dumps(to_json(Part(1.0, "a\udc80"))) == '{"size": 1.0, "two-words": "a\\udc80"}'

"""Values are parsed into the types of fields; what cannot be parsed is explained."""

from dataclasses import dataclass
from typing import Any, Literal

import pytest

from discreet.errors import UsageError
from discreet.parameters import parse_values, read_assignments, read_parameters


@dataclass(frozen=True, kw_only=True)
class Plugin:
    voters: int = 40
    weight: float = 0.5
    limit: int | None = None
    fast: bool = False
    order: Literal["near", "rare"] = "near"
    choices: tuple[str, ...] = ()
    numbers: tuple[int, ...] = (20, 40)


def parse(*texts: str) -> dict[str, Any]:
    return parse_values(read_assignments(texts), read_parameters(Plugin), "plug-in", "discreet algorithms show plug-in")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("voters=20", 20),
        ("weight=1e-3", 0.001),
        ("limit=none", None),
        ("limit=3", 3),
        ("fast=yes", True),
        ("fast=False", False),
        ("order=rare", "rare"),
        ("choices=a, b=c", ("a, b=c",)),
        ("numbers=20,40,60", (20, 40, 60)),
    ],
)
def test_value_has_the_type_of_its_field(text: str, value: object) -> None:
    assert parse(text) == {text.partition("=")[0]: value}


def test_texts_of_a_sequence_are_given_one_by_one() -> None:
    assert parse("choices=yes", "choices=no") == {"choices": ("yes", "no")}


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        (["voters"], "expects NAME=VALUE; the value given is 'voters'"),
        (["=3"], "expects NAME=VALUE"),
        (["voter=3"], "has no parameter 'voter'. Did you mean voters"),
        (["xyzzy=3"], "has no parameter 'xyzzy'. It has: choices, fast"),
        (["voters=many"], "voters expects: whole number; the value given is 'many'"),
        (["voters=9.5"], "expects: whole number"),
        (["fast=perhaps"], "expects: yes or no"),
        (["order=far"], "expects: one of near, rare"),
        (["numbers=20,x"], "the value given is 'x'"),
        (["voters=3", "voters=4"], "expects one value; 2 are given: 3, 4"),
        (["voters=" + "9" * 5000], "expects: whole number"),
    ],
)
def test_wrong_parameter_is_explained(texts: list[str], message: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse(*texts)
    assert message in str(caught.value)

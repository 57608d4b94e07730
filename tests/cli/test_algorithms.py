"""`discreet algorithms`: every algorithm is listed, and all of its parameters are shown."""

import json

import pytest

from discreet.parameters import read_parameters
from discreet.registry import ALGORITHMS
from tests.cli.running import run


def test_all_algorithms_are_listed_with_their_guarantees() -> None:
    shown = run("algorithms")
    assert shown.exit_code == 0
    assert all(name in shown.output for name in ALGORITHMS)
    found = {one["name"]: one for one in json.loads(run("algorithms", "--json").stdout)["algorithms"]}
    assert list(found) == list(ALGORITHMS)
    assert found["rag"]["guarantee"] == "none"
    assert found["murag"]["guarantee"] == "differential privacy"
    assert all(one["summary"] for one in found.values())


@pytest.mark.parametrize("name", ALGORITHMS)
def test_all_parameters_of_an_algorithm_are_shown(name: str) -> None:
    shown = run("algorithms", "show", name)
    assert shown.exit_code == 0, shown.output
    assert all(f"  {one.option}" in shown.output for one in read_parameters(ALGORITHMS[name]))


def test_misspelt_name_has_suggestions() -> None:
    result = run("algorithms", "show", "muragada", "--json")
    assert result.exit_code == 2
    assert "Did you mean murag-ada" in json.loads(result.stdout)["message"]

"""Every algorithm with a guarantee is audited end to end, on pairs of vaults; broken ones are flagged."""

import json
from pathlib import Path

import pytest

from discreet.algorithms import ALGORITHMS
from discreet.audit.algorithms import PAIRS, AlgorithmCase, algorithm_cases, settings
from discreet.audit.case import run
from discreet.audit.pairs import Pair
from discreet.audit.twins import BrokenDeal, BrokenIndex, BrokenPayment, twins_of_algorithms
from discreet.privacy.noise import InsecureSeededNoise

SETTINGS = settings(2.0)
SOME = (PAIRS[1], PAIRS[5])


def test_every_algorithm_that_promises_something_is_audited() -> None:
    promising = {name for name, kind in ALGORITHMS.items() if kind.private} - {"non-rag"}  # which reads no documents
    assert promising | {"consensus-choices"} == set(SETTINGS)
    assert len(algorithm_cases(2.0)) == len(SETTINGS) * len(PAIRS)
    assert len(algorithm_cases(2.0, ["murag"])) == len(PAIRS)


@pytest.mark.parametrize("name", SETTINGS)
def test_the_real_ones_keep_their_claims(name: str) -> None:
    found = run([AlgorithmCase(name, SETTINGS[name], pair) for pair in SOME], InsecureSeededNoise(0), draws=100)
    assert [finding for finding in found if finding.violated] == []


def structural(kind: object) -> AlgorithmCase:
    (found,) = (
        case
        for case in twins_of_algorithms(2.0)
        if isinstance(case, AlgorithmCase) and (case.ledger is kind or case.corpus is kind)
    )
    return found


@pytest.mark.parametrize(("kind", "draws"), [(BrokenIndex, 200), (BrokenDeal, 200), (BrokenPayment, 800)])
def test_broken_twins_are_flagged(kind: object, draws: int) -> None:
    (found,) = run([structural(kind)], InsecureSeededNoise(1), draws=draws)
    assert found.violated


def test_each_algorithm_has_a_twin() -> None:
    """Audited by `discreet audit algorithms --twins`; docs/audit.md has the table."""
    assert {case.name for case in twins_of_algorithms(2.0)} == set(SETTINGS)


def test_the_pairs_cover_what_can_happen_to_a_unit() -> None:
    assert any(pair.goes and not pair.comes for pair in PAIRS)
    assert any(pair.comes and not pair.goes for pair in PAIRS)
    assert any(pair.goes and pair.comes for pair in PAIRS)
    assert any(pair.goes and len(pair.units[pair.goes]) > 1 for pair in PAIRS)
    assert any(pair.questions > 1 for pair in PAIRS)


def transcripts(name: str, pair: Pair, seed: int) -> tuple[list[object], list[object]]:
    first, second = AlgorithmCase(name, SETTINGS[name], pair).sample(3, InsecureSeededNoise(seed), lambda _: None)
    return list(first), list(second)


def test_a_transcript_is_all_that_an_analyst_sees_and_the_same_again_from_the_same_seed() -> None:
    first, second = transcripts("murag", PAIRS[-1], 7)
    assert (first, second) == transcripts("murag", PAIRS[-1], 7)
    seen = json.loads(str(first[0]))
    assert len(seen) == 2 * 3  # three answers, and what is left to everybody after each
    assert {"answer", "stopped", "tokens", "private_tokens", "receipt"} <= seen[0].keys()
    assert seen[0]["receipt"]["charges"]
    assert seen[1] == 2.0  # units pay by themselves: nothing that everybody sees changes


def test_a_refusal_is_part_of_the_transcript() -> None:
    seen = json.loads(str(transcripts("consensus", PAIRS[-1], 0)[0][0]))
    assert "used up the budget" in seen[2]


def test_a_unit_that_becomes_another_is_two_steps_where_units_pay() -> None:
    pair = next(pair for pair in PAIRS if pair.steps == 2)
    assert AlgorithmCase("murag", SETTINGS["murag"], pair).claim == (4.0, 0.0)
    assert AlgorithmCase("consensus", SETTINGS["consensus"], pair).claim == (2.0, 0.01)


def test_nothing_but_the_command_knows_the_broken_ones() -> None:
    sources = (Path(__file__).parents[2] / "src").rglob("*.py")
    assert [path.name for path in sources if "audit.twins" in path.read_text()] == ["audit.py"]

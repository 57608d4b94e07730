"""Consensus with public candidates: its exact law on neighbouring vaults, and a twin that breaks it."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest

from discreet.algorithms.base import Input
from discreet.algorithms.retrieval import propose_answers
from discreet.errors import UsageError
from discreet.privacy.accounting import Budget
from discreet.privacy.mechanisms.leader import LeaderSelection
from discreet.privacy.noise import Noise
from discreet.privacy.private import Change, Relation
from discreet.registry import Consensus
from tests.guarantee.algorithms.test_consensus_neighbours import Law, deltas, law

GRANT = Budget(20.0, 1e-5)
PROPOSING = Consensus(voters=3, epsilon=4.0, delta=1e-3, sentence=False, propose=("The answer is C.", "x"))


def released(found: Law, answer: str) -> float:
    """How probably an answer is released."""
    return sum(chance for transcript, chance in found.items() if (answer,) in cast(tuple[object, ...], transcript))


@pytest.fixture(autouse=True)
def even_what_is_hopeless(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Consensus, "check", lambda self, rounds: None)


@pytest.mark.parametrize(("epsilon", "delta"), [(4.0, 1e-3), (2.0, 1e-3), (3.0, 1e-5)])
def test_proposals_keep_epsilon_and_delta(tmp_path: Path, epsilon: float, delta: float) -> None:
    algorithm = replace(PROPOSING, epsilon=epsilon, delta=delta)
    found = deltas(tmp_path, algorithm, epsilon)
    assert 0.2 * delta < max(found) <= delta * (1 + 1e-6)


def test_candidates_that_voters_name_are_caught(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The twin takes the answers of the voters for public candidates."""
    honest = LeaderSelection.draw

    def named(self: LeaderSelection, shares: Sequence[str | None], noise: Noise) -> str | None:
        said = tuple(sorted({share for share in shares if share is not None}))
        return honest(replace(self, candidates=said), shares, noise)

    monkeypatch.setattr(LeaderSelection, "draw", named)
    assert max(deltas(tmp_path, PROPOSING, 4.0)) > 10 * 1e-3


def test_two_votes_release_a_candidate_and_no_other_answer(tmp_path: Path) -> None:
    units = {"u1": "x", "u2": "x", "u3": "who"}
    with_it = law(tmp_path / "with", units, PROPOSING)
    without = law(tmp_path / "without", units, replace(PROPOSING, propose=("c",)))
    assert released(with_it, "x") > 0.9
    assert released(without, "x") < 0.05


def test_unsupported_candidate_is_released_within_the_prior(tmp_path: Path) -> None:
    found = law(tmp_path, {"u1": "b", "u2": "who", "u3": "..."}, PROPOSING)
    assert 0 < released(found, "c") < 0.02


def test_proposals_do_not_change_the_price() -> None:
    alone = Consensus(epsilon=1.0, delta=1e-6)
    heard = propose_answers(alone, ("Warm oil", "Syrup"))
    assert heard.propose == ("Warm oil", "Syrup")
    assert heard.plan(GRANT, 100).max_cost == alone.plan(GRANT, 100).max_cost
    assert heard._candidates("What helps?") == ("warm oil", "syrup")


def test_own_proposals_come_first_and_each_once() -> None:
    assert propose_answers(Consensus(propose=("a",)), ("b", "a")).propose == ("a", "b")


@pytest.mark.parametrize(
    "deaf",
    [Consensus(choices=("a", "b")), Consensus(voters=41), Consensus(leader=False)],
    ids=["choices", "41", "none"],
)
def test_some_consensus_hears_no_proposals(deaf: Consensus) -> None:
    assert Input.PROPOSALS not in deaf.spec.inputs
    assert propose_answers(deaf, ("x",)) is deaf


def test_selection_without_a_leader_ignores_proposals() -> None:
    made = Consensus(leader=False, propose=("x",))
    selection = made._stages(1.0, 1e-6, Change(1, Relation.REPLACE))[0]
    assert not isinstance(selection, LeaderSelection)


def test_what_cannot_be_proposed_is_refused() -> None:
    with pytest.raises(UsageError, match="no other answer"):
        Consensus(choices=("a", "b"), propose=("c",))
    with pytest.raises(UsageError, match="101 proposed answers"):
        Consensus(propose=tuple(map(str, range(101))))
    with pytest.raises(UsageError, match="not one text"):
        Consensus(propose="warm oil")  # type: ignore[arg-type]

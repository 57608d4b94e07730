"""All admitted units vote, with public candidates: exact laws on neighbouring vaults, and twins that break them."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

from discreet.algorithms.base import Input
from discreet.algorithms.retrieval import AllVoteRAG, VotingBudget, change_vote, propose_answers
from discreet.planning.prices import vault_budget
from discreet.privacy.accounting import Budget
from discreet.privacy.mechanisms.counting import ThresholdedCounts
from discreet.privacy.mechanisms.optimal_selection import CountedSelection
from discreet.privacy.mechanisms.order_selection import OrderSelection
from discreet.privacy.noise import Noise
from discreet.privacy.partition import ADD_REMOVE_ONE
from discreet.registry import Consensus, DPVoteRAG, MuRAG, MuRAGAda, NaiveMultiRAG
from tests.guarantee.algorithms.test_all_vote import BUDGET, OPEN, VAULTS, Law, divergence, law, lost

PROPOSING = replace(OPEN, propose=("The answer is C.", "x"))
SMALL = Budget(3.0, 0.02, 0.01)
PAIRS = [VAULTS["the only one who says b"], VAULTS["alone"]]


def released(found: Law, answer: str) -> float:
    """How probably an answer is released to one question."""
    transcripts = ((cast(tuple[tuple[object, ...], ...], seen), chance) for seen, chance in found.items())
    return sum(chance for seen, chance in transcripts if seen[0][:2] == (answer, "end"))


RELEASES: dict[str, dict[str, Any]] = {
    "selection": {"counts": False},
    "counts": {"counts": True},
    "curve": {"prices": ((1.5, 0.3), (3.0, 0.6))},
}


def releasing(monkeypatch: pytest.MonkeyPatch, how: str) -> None:
    monkeypatch.setattr(Consensus, "releases", lambda self: (replace(self, **RELEASES[how]),))
    monkeypatch.setattr(Consensus, "at_prices", lambda self, prices: None)


@pytest.mark.parametrize("how", RELEASES)
@pytest.mark.parametrize("budget", [BUDGET, SMALL], ids=["large delta", "small delta"])
def test_candidates_keep_epsilon_and_delta(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, budget: Budget, how: str
) -> None:
    releasing(monkeypatch, how)
    algorithm = MuRAG(inner=PROPOSING, similarity=-1.0, uses=1)
    assert isinstance(algorithm.calibrate(budget, 8), VotingBudget)
    assert lost(tmp_path, algorithm, budget, vaults=PAIRS) <= budget.delta


def test_candidates_of_murag_ada_keep_epsilon_and_delta(tmp_path: Path) -> None:
    algorithm = MuRAGAda(inner=PROPOSING, uses=1, epsilon_threshold=3.0, highest=0.9, lowest=-0.9, bins=2, enough=1)
    assert lost(tmp_path, algorithm, vaults=[{"u1": "x", "u2": "b"}]) <= BUDGET.delta


def test_two_votes_release_a_candidate_and_no_other_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    units, budget = {"u1": "x", "u2": "x"}, Budget(3.0, 2e-3, 1e-3)
    for how in RELEASES:
        releasing(monkeypatch, how)
        heard = MuRAG(inner=PROPOSING, similarity=-1.0, uses=1)
        with_it = released(law(tmp_path / f"with{how}", units, heard, budget), "x")
        without = released(law(tmp_path / f"without{how}", units, replace(heard, inner=OPEN), budget), "x")
        assert with_it > 2 * without


@pytest.mark.parametrize("how", RELEASES)
def test_unsupported_candidate_is_released_within_the_prior(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    releasing(monkeypatch, how)
    found = law(tmp_path, {"u1": "b"}, MuRAG(inner=PROPOSING, similarity=-1.0, uses=1), SMALL)
    assert 0 < released(found, "c") + released(found, "x") <= 0.02


def named_by_selection(self: CountedSelection[str], shares: Sequence[str | None], noise: Noise) -> Any:
    """BROKEN: the answers of the voters are taken for public candidates."""
    said = sorted({share for share in shares if share is not None})
    return SELECTED(CountedSelection[str](self.epsilon, self.delta).with_candidates(said), shares, noise)


def named_by_counts(self: ThresholdedCounts, shares: Sequence[Sequence[str]], noise: Noise) -> Any:
    """BROKEN: the answers of the voters are taken for public candidates."""
    said = sorted({value for share in shares for value in share})
    return COUNTED(ThresholdedCounts(self.sigma, self.threshold).with_candidates(said), shares, noise)


def named_by_curve(self: OrderSelection[str], shares: Sequence[str | None], noise: Noise) -> Any:
    """BROKEN: the answers of the voters are taken for public candidates."""
    said = sorted({share for share in shares if share is not None})
    return BY_CURVE(OrderSelection[str](self.table, self.delta, self.orders).with_candidates(said), shares, noise)


SELECTED, COUNTED, BY_CURVE = CountedSelection.draw, ThresholdedCounts.draw, OrderSelection.draw


@pytest.mark.parametrize("how", RELEASES)
def test_candidates_that_voters_name_are_caught(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str) -> None:
    releasing(monkeypatch, how)
    budget = Budget(3.0, 2e-3, 1e-3)
    algorithm = MuRAG(inner=PROPOSING, similarity=-1.0, uses=1)
    units = {"u1": "b"}

    def delta(name: str) -> float:
        first, second = (law(tmp_path / f"{name}{len(u)}", u, algorithm, budget) for u in (units, {}))
        return divergence(first, second, budget.epsilon)

    assert delta("honest") <= budget.delta
    monkeypatch.setattr(CountedSelection, "draw", named_by_selection)
    monkeypatch.setattr(ThresholdedCounts, "draw", named_by_counts)
    monkeypatch.setattr(OrderSelection, "draw", named_by_curve)
    assert delta("broken") > 3 * budget.delta


# -- delegation ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("alone", [MuRAG(), MuRAGAda(), MuRAGAda(uses=3), NaiveMultiRAG(inner=Consensus())])
def test_proposals_reach_the_generation_at_the_same_price(alone: MuRAG | MuRAGAda | NaiveMultiRAG) -> None:
    budget = vault_budget(20.0, 1e-5)
    heard = propose_answers(alone, ("Warm oil", "Syrup"))
    assert heard.inner.propose == ("Warm oil", "Syrup")  # type: ignore[attr-defined]
    assert heard.plan(budget, 1000).max_cost == alone.plan(budget, 1000).max_cost


def test_leader_is_not_needed_where_units_come_and_go() -> None:
    for inner in (Consensus(voters=60), Consensus(leader=False), Consensus(fallback=("keywords",))):
        assert Input.PROPOSALS in MuRAG(inner=inner).spec.inputs
    assert inner.hears_candidates(ADD_REMOVE_ONE)


@pytest.mark.parametrize(
    "deaf",
    [
        MuRAG(inner=DPVoteRAG()),
        MuRAG(inner=Consensus(choices=("a", "b"))),
        MuRAG(all_vote=False, inner=Consensus(voters=41)),
        MuRAG(inner=Consensus(units_per_voter=2, leader=False)),
        NaiveMultiRAG(inner=Consensus(leader=False)),
    ],
)
def test_some_algorithms_hear_no_proposals(deaf: AllVoteRAG | NaiveMultiRAG) -> None:
    assert Input.PROPOSALS not in deaf.spec.inputs
    assert propose_answers(deaf, ("x",)) is deaf


def test_choices_leave_own_proposals_out() -> None:
    made = change_vote(MuRAGAda(inner=PROPOSING), lambda vote: vote.with_choices(("yes", "no", "not said"), "not said"))
    assert isinstance(made.inner, Consensus)
    assert (made.inner.propose, Input.PROPOSALS in made.spec.inputs) == ((), False)


@pytest.mark.parametrize(
    ("epsilon", "uses", "others", "known"),
    [(2.0, 1, (9, 10), (5, 6)), (5.0, 5, (11, 14), (7, 10)), (20.0, 20, (9, 11), (5, 7))],
)
def test_votes_needed_of_one_of_twenty_candidates(
    epsilon: float, uses: int, others: tuple[int, int], known: tuple[int, int]
) -> None:
    voters, rounds = MuRAGAda(uses=uses).count_votes(vault_budget(epsilon, 1e-5), 1000)
    selection = voters.mechanisms(rounds.epsilon, rounds.delta, rounds.change, 1000)[0]
    assert isinstance(selection, CountedSelection | OrderSelection)
    heard = selection.with_candidates([str(n) for n in range(20)])
    assert tuple(heard.votes_needed(chance) for chance in (0.5, 0.9)) == others
    assert tuple(heard.candidate_votes_needed(chance) for chance in (0.5, 0.9)) == known

"""What a plan says, against prices that were worked out by hand, and against the accounts of a vault."""

import math
from pathlib import Path

import pytest

from discreet.algorithms.base import ANY_VOCABULARY
from discreet.algorithms.murag import MuRAGAda
from discreet.errors import MissingPart, UsageError
from discreet.planning.plan import draw_plan, make_plan, posterior
from discreet.planning.prices import LIKELY, SURELY, times, vault_budget
from discreet.privacy.accounting import FilterState
from discreet.privacy.mechanisms.order_selection import OrderSelection
from discreet.vault.budget_report import _times


def test_default_question_by_hand() -> None:
    """Epsilon 8 pays for eight questions by the curve, where it pays for six by counts with Gaussian noise."""
    row = make_plan(5000, 8, 1e-6).rows[0]
    inner, rounds = MuRAGAda().count_votes(vault_budget(8, 1e-6), ANY_VOCABULARY)
    release = inner.mechanisms(rounds.epsilon, rounds.delta, rounds.change, ANY_VOCABULARY)[0]
    assert isinstance(release, OrderSelection)
    assert (row.times, row.vault) == (8, 5000 * 8 // 80)
    assert row.epsilon == pytest.approx(2.93, abs=0.01)
    assert (row.likely, row.surely) == (11, 14)
    assert release.chance(13) < 0.9 <= release.chance(14)


def test_where_everybody_pays_by_hand() -> None:
    rows = {row.name: row for row in make_plan(5000, 8, 1e-6).rows}
    assert (rows["consensus"].times, rows["consensus"].vault) == (8, 8)  # 8 times 1
    assert (rows["naive-multi-rag"].times, rows["naive-multi-rag"].vault) == (3, 3)  # 3 times 2.5
    assert rows["dp-vote-rag"].times == 1


def test_choices_by_hand() -> None:
    """Scale 1.45, all others for one other choice: 22 beat 18 with 1 / (1 + e^(-4/1.45)), and 20 may lose."""
    choices = make_plan(5000, 8, 1e-6).rows[1]
    assert choices.times == 15
    assert 1 / (1 + math.exp(-2 / 1.45)) < SURELY < 1 / (1 + math.exp(-4 / 1.45) + math.exp(-22 / 1.45))
    assert 1 / (2 + math.exp(-20 / 1.45)) < LIKELY
    assert (choices.likely, choices.surely) == (21, 22)


@pytest.mark.parametrize("epsilon", [1.5, 4, 8, 20])
def test_plan_counts_as_a_vault_does(epsilon: float) -> None:
    budget = vault_budget(epsilon, 1e-6)
    most = MuRAGAda().plan(budget, ANY_VOCABULARY).max_cost
    assert times(budget, most) == _times(budget, FilterState(), most)


@pytest.mark.parametrize("hundredths", range(146, 250, 3))  # with each last digit
def test_small_grant_pays_for_one_question_whatever_its_digits(hundredths: int) -> None:
    budget = vault_budget(hundredths / 100, 1e-6)
    assert budget.admits(MuRAGAda().plan(budget, ANY_VOCABULARY).max_cost)


@pytest.mark.long
def test_wanted_questions_fit_the_stated_grant() -> None:
    plan = make_plan(5000, 8, 1e-6, questions=200)
    wanted = plan.wanted[0]
    assert wanted.uses == 4  # 200 questions of 80 people each, over 5000
    # With as many votes as a usual question.
    assert wanted.grant == 4.85
    assert make_plan(5000, wanted.grant, 1e-6, questions=200).wanted[0].likely == 12
    assert plan.wanted[3].uses == 200
    assert plan.wanted[3].likely is None


def test_odds_by_hand() -> None:
    assert posterior(0.5, math.log(3), 0) == pytest.approx(0.75)
    assert posterior(0.1, 0, 0) == pytest.approx(0.1)
    assert posterior(0.5, 0, 0.005) == pytest.approx(2 / 3)  # delta explains half of what the attack finds
    assert posterior(0.01, 1, 0.01) == 1
    assert posterior(0.5, 1e6, 1e-6) == pytest.approx(1)


@pytest.mark.parametrize(
    "wrong", [{"people": 0}, {"epsilon": 0}, {"epsilon": math.nan}, {"delta": 1}, {"questions": -1}, {"used": 0}]
)
def test_numbers_out_of_range(wrong: dict[str, float]) -> None:
    given = {"people": 100, "epsilon": 8, "delta": 1e-6} | wrong
    with pytest.raises(UsageError):
        make_plan(**given)  # type: ignore[arg-type]


@pytest.mark.long
def test_plot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("matplotlib")
    monkeypatch.setattr("discreet.planning.plan._POINTS", 5)  # each takes a third of a second
    plan = make_plan(300, 8, 1e-6)
    draw_plan(plan, tmp_path / "a.svg")
    draw_plan(plan, tmp_path / "b.svg")
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()
    assert "300 people" in (tmp_path / "a.svg").read_text()
    with pytest.raises(UsageError):
        draw_plan(plan, tmp_path / "a.doc")
    monkeypatch.setattr("discreet.planning.plan.find_spec", lambda _: None)
    with pytest.raises(MissingPart, match="eval"):
        draw_plan(plan, tmp_path / "c.svg")

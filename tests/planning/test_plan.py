"""What a plan says, against prices that were worked out by hand, and against the accounts of a vault."""

import math
from pathlib import Path

import pytest

from discreet.algorithms.common.plan import ANY_VOCABULARY
from discreet.algorithms.murag_ada import MuRAGAda
from discreet.errors import MissingPart, UsageError
from discreet.planning.odds import posterior
from discreet.planning.plan import make_plan
from discreet.planning.plot import draw_plan
from discreet.planning.prices import LIKELY, SURELY, times, vault_budget
from discreet.privacy.accounting import FilterState
from discreet.vault.budget_report import _times


def test_default_question_by_hand() -> None:
    """Epsilon 8 pays for 2.5 three times, of which 2 are for the answer.

    The curve pi(n) = (e^(2n) - 1) / (e^2 - 1) times 8e-9 passes 0.5 between 9 and 10 votes.
    """
    row = make_plan(5000, 8, 1e-6).rows[0]
    assert row.epsilon == pytest.approx(2.5, abs=0.01)
    assert (row.times, row.vault) == (3, 5000 * 3 // 80)
    assert math.ceil(math.log(1 + 0.5 / 8e-9 * (math.exp(2) - 1)) / 2) == 10
    assert (row.likely, row.surely) == (10, 11)


def test_where_everybody_pays_by_hand() -> None:
    rows = {row.name: row for row in make_plan(5000, 8, 1e-6).rows}
    assert (rows["consensus"].times, rows["consensus"].vault) == (8, 8)  # 8 times 1
    assert (rows["naive-multi-rag"].times, rows["naive-multi-rag"].vault) == (3, 3)  # 3 times 2.5
    assert rows["dp-vote-rag"].times == 1


def test_choices_by_hand() -> None:
    """Scale 1/2, all others for one other choice: 21 beat 19 with 1 / (1 + e^-4), and 20 beat 20 half the time."""
    choices = make_plan(5000, 8, 1e-6).rows[1]
    assert 1 / (1 + math.exp(2)) < LIKELY == 1 / 2 < SURELY < 1 / (1 + math.exp(-4) + math.exp(-42))
    assert (choices.likely, choices.surely) == (20, 21)


@pytest.mark.parametrize("epsilon", [1.5, 4, 8, 20])
def test_plan_counts_as_a_vault_does(epsilon: float) -> None:
    budget = vault_budget(epsilon, 1e-6)
    most = MuRAGAda().plan(budget, ANY_VOCABULARY).max_cost
    assert times(budget, most) == _times(budget, FilterState(), most)


@pytest.mark.parametrize("hundredths", range(146, 250))
def test_small_grant_pays_for_one_question_whatever_its_digits(hundredths: int) -> None:
    budget = vault_budget(hundredths / 100, 1e-6)
    assert budget.admits(MuRAGAda().plan(budget, ANY_VOCABULARY).max_cost)


def test_wanted_questions_fit_the_stated_grant() -> None:
    plan = make_plan(5000, 8, 1e-6, questions=200)
    wanted = plan.wanted[0]
    assert wanted.uses == 4  # 200 questions of 80 people each, over 5000
    # As many votes as at the usual price; four times 2.5 are 10, but Gaussian counts cost less in four questions.
    assert wanted.grant == 8.26
    assert make_plan(5000, wanted.grant, 1e-6, questions=200).wanted[0].likely == 9
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


def test_plot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("matplotlib")
    plan = make_plan(300, 8, 1e-6)
    draw_plan(plan, tmp_path / "a.svg")
    draw_plan(plan, tmp_path / "b.svg")
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()
    assert "300 people" in (tmp_path / "a.svg").read_text()
    with pytest.raises(UsageError):
        draw_plan(plan, tmp_path / "a.doc")
    monkeypatch.setattr("discreet.planning.plot.find_spec", lambda _: None)
    with pytest.raises(MissingPart, match="eval"):
        draw_plan(plan, tmp_path / "c.svg")

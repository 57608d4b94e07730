"""Algorithms that charge every unit, in a vault where units pay for themselves: exact laws of an answer.

One unit has nothing left. Every unit that can pay pays; the one that cannot is neither counted nor read
 (docs/algorithms.md, "Every unit pays, from balances of their own").
"""

import math
from collections.abc import Callable
from pathlib import Path

import pytest

from discreet.algorithms.base import Algorithm, Query
from discreet.errors import BudgetExhausted
from discreet.models.toy import ToyModel
from discreet.privacy.account import PayingUnits, UnitAccount
from discreet.privacy.accounting import Budget, Spending
from discreet.privacy.costs import Pure
from discreet.privacy.filter import MemoryLedger
from discreet.privacy.noise import InsecureSeededNoise
from discreet.registry import DPRAG, Adaptive, DPVoteRAG
from discreet.store.sealed_corpus import unit_key
from tests.exact import paths
from tests.guarantee.algorithms.test_multi import PURE, SECRET, WORDS, Law, corpus_of

ALGORITHMS: dict[str, Algorithm] = {
    "consensus of tokens": DPVoteRAG(epsilon=2.0, voters=1, private_tokens=1, max_tokens=1),
    "adaptive": Adaptive(inner=DPVoteRAG(epsilon=2.0, private_tokens=1, max_tokens=1), similarity=0.05, numbers=(1, 2)),
    "dp-rag": DPRAG(epsilon=2.0, wanted=1, levels=(0.9, 0.05), max_tokens=1, document_tokens=12),
}
UNITS = {"u1": "a", "u4": "b", "u5": "c"}


class ReadsThoseThatCannotPay(UnitAccount):
    """The broken twin: a unit that cannot pay is counted and read all the same."""

    def charge_every_unit(self, most: Spending) -> PayingUnits:
        return PayingUnits(super().charge_every_unit(most).paid)


def law(folder: Path, units: dict[str, str], algorithm: Algorithm, account: Callable[..., UnitAccount]) -> Law:
    """The probability of every answer, after u1 has spent all that it may."""
    corpus, found = corpus_of(folder, units), Law()
    model = ToyModel(["a", "b", "c"], default="d", size=WORDS)
    for noise in paths():
        ledger = MemoryLedger(PURE)
        ledger.reserve("before", 0, Spending.of(Pure(PURE.epsilon)), [unit_key("u1", SECRET)])
        paying = account(ledger, "q", noise=noise)
        draft = algorithm.run(Query("fever"), corpus, model, paying)
        transcript = (draft.text, draft.stopped, len(paying.receipt().charges))
        found[transcript] = found.get(transcript, 0.0) + noise.probability
    assert sum(found.values()) == pytest.approx(1.0, abs=1e-6)
    return found


def loss(folder: Path, algorithm: Algorithm, gone: str, account: Callable[..., UnitAccount] = UnitAccount) -> float:
    """The largest loss if a unit is gone."""
    rest = {unit: words for unit, words in UNITS.items() if unit != gone}
    whole = law(folder / "all", UNITS, algorithm, account)
    other = law(folder / "rest", rest, algorithm, account)
    assert whole.keys() == other.keys()
    return max(abs(math.log(whole[t] / other[t])) for t in whole if whole[t] > 1e-12)


@pytest.mark.parametrize("gone", ["u4", "u5"])
@pytest.mark.parametrize("name", ALGORITHMS)
def test_unit_that_pays_loses_at_most_its_payment(tmp_path: Path, name: str, gone: str) -> None:
    found = loss(tmp_path, ALGORITHMS[name], gone)
    assert gone == "u5" or found > 0  # one voter never reads u5
    assert found <= PURE.epsilon * (1 + 1e-9)


@pytest.mark.parametrize("name", ALGORITHMS)
def test_unit_that_cannot_pay_changes_nothing(tmp_path: Path, name: str) -> None:
    assert loss(tmp_path, ALGORITHMS[name], "u1") <= 1e-9


@pytest.mark.parametrize("name", ALGORITHMS)
def test_reading_a_unit_that_cannot_pay_is_caught(tmp_path: Path, name: str) -> None:
    assert loss(tmp_path, ALGORITHMS[name], "u1", ReadsThoseThatCannotPay) > 0.1


@pytest.mark.parametrize("name", ALGORITHMS)
def test_receipt_says_that_every_unit_paid(tmp_path: Path, name: str) -> None:
    budget = Budget(4.0, 1e-5, 1e-6)
    plan = ALGORITHMS[name].plan(budget, WORDS)
    assert plan is not None
    ledger = MemoryLedger(budget)
    account = UnitAccount(ledger, "q", ceiling=plan.ceiling, noise=InsecureSeededNoise(0))
    model = ToyModel(["a", "b", "c"], default="d", size=WORDS)
    ALGORITHMS[name].run(Query("fever"), corpus_of(tmp_path, UNITS), model, account)
    account.settle()
    assert account.receipt().payment == "every unit"
    assert 0 < account.receipt().epsilon <= 2.0 * (1 + 1e-6)
    assert ledger.spent() == account.spent()


@pytest.mark.parametrize("name", ALGORITHMS)
def test_exhausted_vault_refuses_before_anything_is_drawn(tmp_path: Path, name: str) -> None:
    ledger = MemoryLedger(PURE)
    ledger.reserve_all("before", 0, Spending.of(Pure(1.5)))
    account = UnitAccount(ledger, "q", noise=InsecureSeededNoise(0))
    model = ToyModel(["a", "b", "c"], default="d", size=WORDS)
    with pytest.raises(BudgetExhausted):
        ALGORITHMS[name].run(Query("fever"), corpus_of(tmp_path, UNITS), model, account)
    assert ledger.spent() == Spending.of(Pure(1.5))

"""The run of a question: a release beyond the plan is named, and a simulation uses its own history."""

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import pytest

from discreet import Account, Algorithm, Budget, GeneratedAnswer, Payment, Plan, Query
from discreet.algorithms.base import AlgorithmSpec, Input
from discreet.errors import BudgetExhausted, PlanExceeded
from discreet.models.protocol import VotingModel
from discreet.privacy.accounting import Spending
from discreet.privacy.costs import Cost, Pure
from discreet.privacy.filter import MemoryLedger
from discreet.privacy.mechanisms.counting import NoisyCount
from discreet.privacy.partition import ADD_REMOVE_ONE
from discreet.query.answer_cache import AnswerCache
from discreet.store.documents import Document
from discreet.store.sealed_corpus import SealedCorpus
from discreet.vault import Vault


@dataclass(frozen=True)
class Greedy(Algorithm):
    """Draws counts of a total epsilon, and declares another one."""

    name: ClassVar[str] = "greedy"
    spec: ClassVar[AlgorithmSpec] = AlgorithmSpec(Payment.EVERY_UNIT, inputs=frozenset({Input.PASSAGES}))

    drawn: tuple[float, ...] = (4.0,)
    declared: Cost = Pure(1.0)  # noqa: RUF009 - a frozen value
    ceiling: float = 1.0

    def plan(self, budget: Budget, vocabulary: int) -> Plan:
        return Plan(Budget(self.ceiling, budget.delta), self.declared, 1)

    def run(self, query: Query, corpus: SealedCorpus, model: VotingModel, account: Account) -> GeneratedAnswer:
        paying = account.charge_every_unit(Spending.of(self.declared))
        near = paying.among(corpus.above(query.text, 0.0)).map(lambda _: True)
        for epsilon in self.drawn:
            number = paying.paid.release(NoisyCount.calibrated(epsilon, ADD_REMOVE_ONE), near)
        return GeneratedAnswer(str(number), "end", tokens=1, private_tokens=1)


def vault_of(path: Path, payment: str = "unit") -> Vault:
    made = Vault.create(path / "vault", epsilon=20.0, delta=1e-5, embedder="hashing", payment=payment)
    made.add_documents([Document(f"d{n}", f"u{n}", "fever") for n in range(3)])
    return made


@pytest.mark.parametrize(
    ("payment", "drawn", "numbers", "paid"),
    [
        ("unit", (4.0,), "run draws epsilon 4, it charged epsilon 1", 1.0),
        ("unit", (30.0,), "run draws epsilon 30, it charged epsilon 1", 1.0),  # more than the vault has
        ("corpus", (4.0,), "run draws epsilon 4, plan has epsilon 1", 0.0),
        ("corpus", (0.75, 0.75), "run draws epsilon 1.5, plan has epsilon 1", 0.75),
    ],
)
def test_excess_is_a_fault_with_both_costs(
    tmp_path: Path, payment: str, drawn: tuple[float, ...], numbers: str, paid: float
) -> None:
    vault = vault_of(tmp_path, payment)
    with pytest.raises(PlanExceeded) as fault:
        vault.ask("fever", Greedy(drawn))
    assert not isinstance(fault.value, BudgetExhausted)
    assert fault.value.exit_code == 1
    assert f"The algorithm 'greedy' releases more than its plan declares: {numbers}." in str(fault.value)
    assert f"What was paid stays paid: epsilon {paid:g}." in str(fault.value)
    assert vault.ledger.budget.spent(vault.ledger.spent()) == pytest.approx(paid)


def test_budget_that_the_vault_lacks_is_no_fault_of_the_algorithm(tmp_path: Path) -> None:
    spent = MemoryLedger(Budget(0.5, 1e-5))
    with pytest.raises(BudgetExhausted):
        vault_of(tmp_path).simulate("fever", Greedy((1.0,)), ledger=spent)


def test_simulation_repeats_what_its_history_has(tmp_path: Path) -> None:
    vault = vault_of(tmp_path)
    history = AnswerCache(tmp_path / "simulated.jsonl", vault.embedder)
    first, second = (vault.simulate("fever", Greedy((1.0,)), history=history) for _ in range(2))
    assert first.receipt is not None
    assert second.receipt is not None
    assert (first.text, first.receipt.reused, second.receipt.reused) == (second.text, 0, 1)
    alone = vault.simulate("fever", Greedy((1.0,)))
    assert alone.receipt is not None
    assert alone.receipt.reused == 0

"""What questions may have cost any one unit."""

import math
from pathlib import Path

import pytest

from discreet.algorithms.ensemble import VoterEnsemble
from discreet.models.toy import ToyModel
from discreet.privacy.accounting import Budget, Spending
from discreet.privacy.costs import Pure
from discreet.query.admission import Odometer
from discreet.registry import DPKSA, Consensus, DPSparseVoteRAG, DPVoteRAG, MuRAG
from discreet.store.documents import Document
from discreet.vault import Vault


def test_two_questions_by_hand() -> None:
    """At order infinity epsilons add up; the odometer is the smaller of that and of the bound at the finite order."""
    budget = Budget(20, 1e-6)
    two = Spending.of(Pure(2.5)) + Spending.of(Pure(0.5))
    assert Odometer(budget, two, 2).epsilon == pytest.approx(3.0)
    forty = Spending.of(Pure(0.5), 40)  # epsilon 20 when added up, and less by the Renyi curve
    # Pure epsilon e at order a: ln((e^(ae) + e^((1 - a)e + e)) / (1 + e^e)) / (a - 1), e^x of the worst case.
    a, e = budget.order, 0.5
    curve = math.log((math.exp(a * e) + math.exp((1 - a) * e)) / (math.exp(e) + 1)) / (a - 1)
    conversion = math.log((a - 1) / a) - (math.log(1e-6) + math.log(a)) / (a - 1)
    assert Odometer(budget, forty, 40).epsilon == pytest.approx(40 * curve + conversion, rel=1e-6)
    assert Odometer(budget, forty.times(100), 4000).epsilon == 20  # never more than was granted


def test_no_unit_paid_more_than_the_odometer_says(tmp_path: Path) -> None:
    vault = Vault.create(tmp_path / "v", epsilon=20, delta=1e-6, embedder="hashing")
    vault.add_documents(Document(f"d{n}", f"p{n}", "numb thumbs say: winterhand .") for n in range(30))
    vault = Vault.open(vault.path, model=ToyModel())
    before = vault.odometer.epsilon
    asked = MuRAG(inner=Consensus(voters=25, max_tokens=4), similarity=-1)
    for number in range(4):
        vault.ask(f"numb thumbs {number}?", asked)
        budget = vault.ledger.budget
        most = max(budget.spent_state(own) for own, _ in vault.ledger.unit_balances())
        assert most <= vault.odometer.epsilon + 1e-9
        assert vault.odometer.epsilon > before
        before = vault.odometer.epsilon
    assert vault.budget().odometer == vault.odometer.epsilon
    assert Vault.open(vault.path).odometer.epsilon == 0  # of that session


@pytest.mark.parametrize("payment", ["unit", "corpus"])
@pytest.mark.parametrize(
    "asked",
    [
        # What it reserves has no bound at order infinity; what the first stage spends has one, which is not returned.
        Consensus(voters=25, max_tokens=4, epsilon=4, fallback=("keywords", "sparse")),
        Consensus(voters=25, max_tokens=4, choices=("winterhand", "summerhand"), vote_shares=True),
        DPKSA(voters=25, max_tokens=4),
        DPSparseVoteRAG(voters=10, max_tokens=4),
    ],
    ids=lambda asked: asked.name,
)
def test_answer_cost_equals_the_ledgers_and_is_within_its_price(
    tmp_path: Path, payment: str, asked: VoterEnsemble
) -> None:
    vault = Vault.create(tmp_path / "v", epsilon=20, delta=1e-6, embedder="hashing", payment=payment)
    vault.add_documents(Document(f"d{n}", f"p{n}", "numb thumbs say: winterhand .") for n in range(30))
    vault = Vault.open(vault.path, model=ToyModel())
    price = vault.price("numb thumbs?", asked)
    answer = vault.ask("numb thumbs?", asked)
    assert answer.cost is not None
    assert answer.receipt is not None
    assert vault.odometer.epsilon == vault.ledger.budget.spent(vault.ledger.spent())
    assert answer.cost.epsilon == min(vault.odometer.epsilon, answer.receipt.epsilon)
    assert 0 < answer.cost.epsilon <= price


@pytest.mark.parametrize(
    "asked",
    [
        MuRAG(inner=Consensus(voters=25, max_tokens=4), similarity=-1, epsilon=6),  # always costs its price
        MuRAG(inner=DPVoteRAG(voters=25, max_tokens=4), similarity=-1, epsilon=8),  # may cost less
    ],
    ids=["all of its price", "less"],
)
def test_unit_takes_part_in_at_least_the_stated_uses(tmp_path: Path, asked: MuRAG) -> None:
    vault = Vault.create(tmp_path / "v", epsilon=20, delta=1e-6, embedder="hashing")
    vault.add_documents(Document(f"d{n}", f"p{n}", "numb thumbs say: winterhand .") for n in range(30))
    vault = Vault.open(vault.path, model=ToyModel())
    told = vault.ask("numb thumbs 0?", asked).cost
    assert told is not None
    assert told.uses
    for number in range(1, told.uses):
        before = vault.ledger.unit_balances()
        vault.ask(f"numb thumbs {number}?", asked)
        assert vault.ledger.unit_balances() != before
    before = vault.ledger.unit_balances()
    vault.ask("numb thumbs once more?", asked)
    assert (vault.ledger.unit_balances() != before) == isinstance(asked.inner, DPVoteRAG)


def test_odometer_is_printed_in_one_sentence() -> None:
    assert str(Odometer(Budget(20, 1e-6), Spending.of(Pure(2.5)), 1)) == (
        "1 question so far: each unit paid at most epsilon 2.5 of 20, 12 % of the grant"
    )
    assert str(Odometer(Budget(20, 1e-6), Spending.nothing(), 0)).startswith("0 questions so far: ")


def test_vault_is_printed_by_path_and_unit_alone(tmp_path: Path) -> None:
    vault = Vault.create(tmp_path / "v", epsilon=20, delta=1e-6, unit_field="patient", embedder="hashing")
    vault.add_documents([Document("d1", "Ada Lind", "numb thumbs")])
    assert repr(vault) == str(vault) == f"Vault('{tmp_path / 'v'}', unit 'patient')"

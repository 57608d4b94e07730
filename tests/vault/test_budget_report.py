"""What a vault has left, unit by unit."""

from pathlib import Path

from discreet.models.toy import ToyModel
from discreet.privacy.accounting import Budget
from discreet.privacy.filter import MemoryLedger
from discreet.privacy.noise import InsecureSeededNoise
from discreet.registry import DPSparseVoteRAG, MuRAG, MuRAGAda
from discreet.store.documents import Document
from discreet.vault import Vault
from discreet.vault.budget_report import by_units

BUDGET = Budget(10.0, 1e-5, accountant="pure")


def test_the_estimate_follows_what_is_left() -> None:
    ledger = MemoryLedger(BUDGET)
    plan = MuRAG(inner=DPSparseVoteRAG(), uses=2).plan(BUDGET, 1000)
    assert by_units(ledger, "p", [], 400, plan, 40).more == 20  # 400 units, twice each, 40 at a time
    ledger.reserve_all("q", 0, plan.max_cost)
    assert by_units(ledger, "p", [], 400, plan, 40).more == 10
    ledger.reserve_all("r", 0, plan.max_cost)
    assert by_units(ledger, "p", [], 400, plan, 40).more == 0


def test_a_simulated_question_of_a_price_has_enough_to_pay_it(tmp_path: Path) -> None:
    vault = Vault.create(tmp_path / "v", epsilon=2, delta=1e-6, embedder="hashing")
    vault.add_documents(Document(f"d{n}", f"p{n}", f"fever say: winter hand {n}") for n in range(40))
    inner = DPSparseVoteRAG(voters=30, private_tokens=4, max_tokens=6)
    algorithm = MuRAGAda(inner=inner, epsilon=60.0, highest=0.9, lowest=0.0, bins=2)
    model = ToyModel(default="nothing known")
    found = vault.simulate("fever", algorithm, noise=InsecureSeededNoise(1), model=model)
    assert found.text.split()[:2] == ["winter", "hand"]

"""An algorithm that does not say what it promises and how it pays is refused before anything is recorded."""

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import pytest

from discreet.algorithms.base import Algorithm, AlgorithmSpec, GeneratedAnswer, Guarantee, Plan, Query
from discreet.errors import DiscreetError, UsageError
from discreet.models.protocol import VotingModel
from discreet.models.toy import ToyModel
from discreet.privacy.account import Account, Payment
from discreet.privacy.accounting import Budget, Spending, budget_for
from discreet.privacy.costs import Pure
from discreet.privacy.mechanisms.counting import NoisyCount
from discreet.privacy.partition import ADD_REMOVE_ONE
from discreet.registry import MuRAGAda
from discreet.store.documents import Document
from discreet.store.sealed_corpus import SealedCorpus
from discreet.vault import Vault


@dataclass(frozen=True)
class Count(Algorithm):
    """A third-party algorithm: a noisy count of the units near the question."""

    name: ClassVar[str] = "count"

    def plan(self, budget: Budget, vocabulary: int) -> Plan:
        return Plan(budget_for(Pure(1.0), 1.0, budget.delta), Pure(1.0), 1)

    def run(self, query: Query, corpus: SealedCorpus, model: VotingModel, account: Account) -> GeneratedAnswer:
        paying = account.charge_every_unit(Spending.of(Pure(1.0)))
        near = paying.among(corpus.above(query.text, 0.0)).map(lambda _: True)
        return GeneratedAnswer(str(paying.paid.release(NoisyCount.calibrated(1.0, ADD_REMOVE_ONE), near)), "end", 1)


class Declared(Count):
    """The same, which says how it pays."""

    spec: ClassVar[AlgorithmSpec] = AlgorithmSpec(Payment.EVERY_UNIT)


class NoGuarantee(Declared):
    """The same, which does not say what it promises."""

    spec: ClassVar[AlgorithmSpec] = AlgorithmSpec(Payment.EVERY_UNIT, guarantee=None)  # type: ignore[arg-type]


class Unpaid(Declared):
    """The same, which reads without payment."""

    def run(self, query: Query, corpus: SealedCorpus, model: VotingModel, account: Account) -> GeneratedAnswer:
        near = corpus.above(query.text, 0.0).map(lambda _: True)
        number = account.unpaid().release(NoisyCount.calibrated(1.0, ADD_REMOVE_ONE), near)
        return GeneratedAnswer(str(number), "end", 1)


class Boast(AlgorithmSpec):
    """A spec that calls everything private."""

    private = True


class Boastful(Declared):
    """A baseline that calls itself private."""

    spec: ClassVar[AlgorithmSpec] = Boast(Payment.EVERY_UNIT, guarantee=Guarantee.NONE)


class Silent(Declared):
    """The same, which plans no cost."""

    def plan(self, budget: Budget, vocabulary: int) -> None:  # type: ignore[override]
        return None


class Free(Declared):
    """The same, which says that it charges nothing."""

    spec: ClassVar[AlgorithmSpec] = AlgorithmSpec(Payment.NOTHING)


class Sly(Silent):
    """The same, which says that it charges nothing, and plans so."""

    spec: ClassVar[AlgorithmSpec] = AlgorithmSpec(Payment.NOTHING)


class NoAlgorithm:
    """Something else."""

    name, private = "something", True

    def plan(self, budget: Budget, vocabulary: int) -> None:
        return None


def hospital(path: Path, payment: str) -> Vault:
    vault = Vault.create(path, epsilon=20, delta=1e-6, embedder="hashing", payment=payment)
    vault.add_documents(Document(f"d{n}", f"p{n}", "numb thumbs say: winterhand .") for n in range(30))
    return Vault.open(path, model=ToyModel(["winterhand", "thumbs", "numb"]))


@pytest.mark.parametrize("payment", ["unit", "corpus"])
@pytest.mark.parametrize("algorithm", [Count(), NoGuarantee(), Boastful(), Silent(), Free(), NoAlgorithm()])
def test_undeclared_algorithm_is_refused_before_a_record(tmp_path: Path, payment: str, algorithm: Algorithm) -> None:
    vault = hospital(tmp_path / "v", payment)
    for ask in (vault.ask, vault.price):
        with pytest.raises(UsageError, match="Nothing was charged"):
            ask("numb thumbs?", algorithm)
    assert not vault.ledger.questions()
    assert vault.ledger.spent() == Spending.nothing()
    assert not list(vault.ledger.unit_balances())


@pytest.mark.parametrize("payment", ["unit", "corpus"])
def test_declared_algorithm_pays_in_every_vault(tmp_path: Path, payment: str) -> None:
    vault = hospital(tmp_path / "v", payment)
    answer = vault.ask("numb thumbs?", Declared())
    assert answer.receipt is not None
    assert answer.receipt.payment == "every unit"
    assert vault.ledger.spent() == Spending.of(Pure(1.0))
    if payment == "unit":  # other questions go on
        assert vault.ask("numb thumbs and toes?", MuRAGAda()).receipt is not None
        assert vault.ask("numb thumbs or toes?", Declared()).receipt is not None


@pytest.mark.parametrize("payment", ["unit", "corpus"])
def test_private_algorithm_cannot_open_values_unpaid(tmp_path: Path, payment: str) -> None:
    with pytest.raises(DiscreetError, match="must pay"):
        hospital(tmp_path / "v", payment).ask("numb thumbs?", Unpaid())


@pytest.mark.parametrize("payment", ["unit", "corpus"])
def test_algorithm_that_charges_nothing_cannot_charge(tmp_path: Path, payment: str) -> None:
    vault = hospital(tmp_path / "v", payment)
    with pytest.raises(DiscreetError, match="declares Payment"):
        vault.ask("numb thumbs?", Sly())
    assert vault.ledger.spent() == Spending.nothing()


def test_simulation_refuses_an_undeclared_algorithm(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="who pays"):
        hospital(tmp_path / "v", "unit").simulate("numb thumbs?", Count())

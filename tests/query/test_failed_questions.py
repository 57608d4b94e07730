"""A question that fails on documents is paid where all units pay, whatever failed, and whatever it had paid before."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from discreet.algorithms.base import Algorithm
from discreet.errors import BudgetExhausted, EngineFailed, PrivateValueError
from discreet.models.protocol import Prompt
from discreet.models.toy import ToyDecoding, ToyModel
from discreet.privacy.accounting import Spending
from discreet.privacy.costs import Pure
from discreet.privacy.filter import Charge
from discreet.privacy.private import Change, Relation
from discreet.registry import DPKSA, Adaptive, Consensus, DPSparseVoteRAG
from discreet.store.documents import Document
from discreet.vault import Vault


class Failing(ToyModel):
    """A model that fails where a document makes it."""

    def __init__(self, failure: Exception) -> None:
        super().__init__(default="nothing known")
        self._failure = failure

    def start(self, shared: Sequence[int], prompts: Sequence[Prompt], max_tokens: int) -> ToyDecoding:
        if len(prompts) > 1:  # the probe of the model has one
            raise self._failure
        return super().start(shared, prompts, max_tokens)


ALGORITHMS = (
    Consensus(voters=10, max_tokens=4, epsilon=4.0),
    Consensus(voters=10, max_tokens=4, epsilon=4.0, choices=("tea", "oil"), vote_shares=True),
    DPKSA(voters=10, max_tokens=4, epsilon=4.0),
    DPSparseVoteRAG(voters=10, private_tokens=2, max_tokens=4, epsilon=4.0),
    Adaptive(),
)


@pytest.mark.parametrize("algorithm", ALGORITHMS, ids=lambda one: one.name)
@pytest.mark.parametrize("failure", [EngineFailed("The server is gone."), ValueError("Ada"), MemoryError("Ada")])
def test_failed_question_costs_what_an_answered_one_costs(
    tmp_path: Path, algorithm: Algorithm, failure: Exception
) -> None:
    spent = []
    for model in (ToyModel(default="nothing known"), Failing(failure)):
        vault = Vault.create(
            tmp_path / type(model).__name__, epsilon=50, delta=1e-5, embedder="hashing", payment="corpus"
        )
        vault = Vault.open(vault.path, model=model)
        vault.add_documents(Document(f"d{n}", f"p{n}", f"fever say: tea {n}") for n in range(60))
        if isinstance(model, Failing):
            with pytest.raises((EngineFailed, PrivateValueError)) as caught:
                vault.ask("fever", algorithm)
            assert "Ada" not in str(caught.value)
        else:
            vault.ask("fever", algorithm)
        spent.append(vault.ledger.budget.spent(vault.ledger.spent()))
    if algorithm.name == "dp-sparse-vote-rag":  # its answer shows how many private tokens it has, and pays for these
        assert spent[0] <= spent[1] * 1.001
    else:
        assert spent[1] == pytest.approx(spent[0], rel=1e-3)


class Interfering(ToyModel):
    """A model during whose work another process spends the budget; then it fails, or does not."""

    def __init__(self, vault: Path, fails: bool, other: float) -> None:
        super().__init__(default="nothing known")
        self._vault, self._fails, self._other, self._spent = vault, fails, other, False

    def start(self, shared: Sequence[int], prompts: Sequence[Prompt], max_tokens: int) -> ToyDecoding:
        if len(prompts) > 1:
            if not self._spent:
                other = Charge("other", 0, "test", Change(1, Relation.REPLACE), Pure(self._other))
                Vault.open(self._vault).ledger.charge(other)
            self._spent = True
            if self._fails:
                raise ValueError("Ada")
        return super().start(shared, prompts, max_tokens)


@pytest.mark.parametrize("other", [3.0, 4.99])
@pytest.mark.parametrize("algorithm", ALGORITHMS[:4], ids=lambda one: one.name)
def test_failure_is_not_free_when_the_budget_is_spent_meanwhile(
    tmp_path: Path, algorithm: Algorithm, other: float
) -> None:
    """If nothing can pay for it, the failed question ends as the other one: by the same error, with no payment."""
    ends, free = list[tuple[str, Spending]](), Spending.of(Pure(other))
    for fails in (True, False):
        path = tmp_path / str(fails)
        Vault.create(path, epsilon=5, delta=1e-5, embedder="hashing", payment="corpus")
        vault = Vault.open(path, model=Interfering(path, fails, other))
        vault.add_documents(Document(f"d{n}", f"p{n}", f"fever say: tea {n}") for n in range(60))
        said = "an answer"
        try:
            vault.ask("fever", algorithm)
        except (BudgetExhausted, PrivateValueError) as error:
            said = str(error)
        ends.append((said, vault.ledger.spent()))
    failed, answered = ends
    assert failed == answered or failed[1] != free
    if algorithm is ALGORITHMS[0] or (algorithm in ALGORITHMS[:3] and other == 4.99):  # others pay a cheaper part first
        assert failed[1] == free
        assert "used up the budget" in failed[0]

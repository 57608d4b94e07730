"""A question that fails on documents is paid where all units pay, whatever failed, and whatever it had paid before."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from discreet.algorithms.base import Algorithm
from discreet.errors import EngineFailed, PrivateValueError
from discreet.models.protocol import Prompt
from discreet.models.toy import ToyDecoding, ToyModel
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

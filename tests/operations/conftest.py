"""A small vault that answers, with the hashing embedder and the toy model."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from discreet.models.toy import ToyModel
from discreet.registry import Consensus, MuRAG
from discreet.store.documents import Document
from discreet.vault import Vault

Make = Callable[[str], Vault]
CHEAP = MuRAG(inner=Consensus(voters=25, max_tokens=4, epsilon=1.5), epsilon=2.5, similarity=-1)


def let_go(vault: Vault) -> None:
    vault.ledger.place.engine.dispose()
    vault.store.close()


def with_toy(vault: Vault) -> Vault:
    return Vault.open(vault.path, model=ToyModel(["winterhand", "thumbs", "numb"]))


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Make]:
    """Makes vaults of 30 patients with a short name; they are asked nothing yet."""
    made = list[Vault]()

    def new(name: str) -> Vault:
        vault = Vault.create(tmp_path / name, epsilon=200, delta=1e-6, unit_field="patient", embedder="hashing")
        vault.add_documents(Document(f"d{n}", f"p{n}", "numb thumbs say: winterhand .") for n in range(30))
        vault.ledger.place.engine.dispose()
        made.append(with_toy(vault))
        return made[-1]

    yield new
    for vault in made:
        vault.ledger.place.engine.dispose()

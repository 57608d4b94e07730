"""Two vaults that differ in one unit, on which algorithms and corpora are audited."""

import math
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path

from discreet.attacks.bounds import Key
from discreet.audit.case import DELTA
from discreet.retrieval.documents import Document
from discreet.retrieval.store_metadata import replace_key
from discreet.vault import Vault

Units = Mapping[str, Sequence[str]]
"""The texts of each unit."""


@dataclass(frozen=True)
class Pair:
    """Two neighbouring vaults.

    Attributes:
        name: how they differ, in words.
        units: those of the first vault.
        goes: the unit that the second vault lacks; none if empty.
        comes: the unit that the second vault has besides.
        asked: the questions, one after the other.
    """

    name: str
    units: Units
    goes: str = ""
    comes: Units = field(default_factory=dict)
    asked: tuple[str, ...] = ("fever",)

    @property
    def steps(self) -> int:
        """How many units come or go."""
        return bool(self.goes) + len(self.comes)

    def claim(self, epsilon: float, delta: float) -> tuple[float, float]:
        """What a claim for one unit that comes or goes says of this pair, by the group property."""
        return (epsilon, delta) if self.steps < 2 else (2 * epsilon, (1 + math.exp(epsilon)) * delta)

    def sample(self, others: Units, draw: Callable[[Vault], list[Key]]) -> tuple[list[Key], list[Key]]:
        """What is drawn on each of the two vaults, with other units in both; the second is made of the first."""
        with tempfile.TemporaryDirectory() as folder:
            vault = _vault(Path(folder) / "vault", {**others, **self.units})
            first = draw(vault)
            if self.goes:
                vault.remove_unit(self.goes)
            vault.add_documents(_documents(self.comes))
            return first, draw(vault)


def _vault(path: Path, units: Units) -> Vault:
    vault = Vault.create(path, epsilon=1.0, delta=DELTA, embedder="hashing", model="toy")
    vault.store.close()
    # Which of equally near units comes first follows from a key that is drawn when a store is made. Here it is always
    # the same, so that a table can be printed again.
    replace_key(path / "store", bytes(32))
    opened = Vault.open(path)
    opened.add_documents(_documents(units))
    return opened


def _documents(units: Units) -> list[Document]:
    texts = chain.from_iterable(((unit, n, text) for n, text in enumerate(units[unit])) for unit in units)
    return [Document(f"{unit}-{n}", unit, text) for unit, n, text in texts]

"""Pairs of vaults that differ in one unit, for audits of algorithms and corpora."""

import math
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path

from discreet.retrieval.documents import Document
from discreet.retrieval.embedded_store import replace_key
from discreet.vault import Vault
from discreet_lab.attacks.bounds import Key
from discreet_lab.audit.case import DELTA

Units = Mapping[str, Sequence[str]]
"""The texts of each unit."""
DATE, YEAR = "date", 2000
"""The declared field of the documents, and its value for a text without a cough. Each cough is a year more."""


@dataclass(frozen=True)
class VaultPair:
    """Two neighbouring vaults.

    Attributes:
        name: a description of the difference.
        units: the units of the first vault.
        goes: the unit that the second vault lacks; empty for none.
        comes: the units that the second vault has in addition.
        asked: the questions, in order.
    """

    name: str
    units: Units
    goes: str = ""
    comes: Units = field(default_factory=dict)
    asked: tuple[str, ...] = ("fever",)

    @property
    def steps(self) -> int:
        """The number of units that are added or removed."""
        return bool(self.goes) + len(self.comes)

    def claim(self, epsilon: float, delta: float) -> tuple[float, float]:
        """Return the claim for this pair by the group property.

        The given claim is for one added or removed unit.
        """
        return (epsilon, delta) if self.steps < 2 else (2 * epsilon, (1 + math.exp(epsilon)) * delta)

    def stating(self) -> "VaultPair":
        """Return the same pair with texts that state a treatment, and questions about it: for votes by readings."""
        units, comes = (
            {unit: [text.replace("say:", "say: treatment is") for text in texts] for unit, texts in side.items()}
            for side in (self.units, self.comes)
        )
        return replace(self, units=units, comes=comes, asked=tuple(f"treatment of {one}" for one in self.asked))

    def sample(self, others: Units, draw: Callable[[Vault], list[Key]]) -> tuple[list[Key], list[Key]]:
        """Return the outcomes of `draw` on each of the two vaults, which share `others`.

        The second vault is derived from the first.
        """
        with tempfile.TemporaryDirectory() as folder:
            vault = _vault(Path(folder) / "vault", {**others, **self.units})
            first = draw(vault)
            if self.goes:
                vault.remove_unit(self.goes)
            vault.add_documents(_documents(self.comes))
            return first, draw(vault)


def _vault(path: Path, units: Units) -> Vault:
    vault = Vault.create(path, epsilon=1.0, delta=DELTA, embedder="hashing", model="toy", fields={DATE: "date"})
    vault.store.close()
    # The order of equally near units follows from a key that is drawn when a store is created. Here the key is
    # constant, so that a table can be reproduced.
    replace_key(path / "store", bytes(32))
    opened = Vault.open(path)
    opened.add_documents(_documents(units))
    return opened


def _documents(units: Units) -> list[Document]:
    texts = chain.from_iterable(((unit, n, text) for n, text in enumerate(units[unit])) for unit in units)
    return [Document(f"{unit}-{n}", unit, text, fields={DATE: _date(text)}) for unit, n, text in texts]


def _date(text: str) -> str:
    return f"{YEAR + text.count('cough')}-01-01"

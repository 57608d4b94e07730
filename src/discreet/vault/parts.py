"""The parts of an open vault, as properties: its folder, its documents, its ledger and its models."""

from pathlib import Path
from typing import TYPE_CHECKING

from discreet.config import VaultConfig
from discreet.generation.model import LanguageModel
from discreet.query.answer_cache import AnswerCache
from discreet.query.public_context import PublicContext
from discreet.retrieval.embedding import Embedder
from discreet.retrieval.inventory import Inventory
from discreet.retrieval.sealed_corpus import SealedCorpus
from discreet.retrieval.store import Store
from discreet.system.turns import Turn
from discreet.vault.components import VaultComponents

if TYPE_CHECKING:
    from discreet.ledger.protocol import VaultLedger


class VaultParts:
    """What a vault consists of. Parts are built at first use.

    Attributes:
        components: builds the parts.
        turn: the lock of the thread that is inside.
    """

    def __init__(self, components: VaultComponents) -> None:
        self.components, self.turn = components, Turn()

    @property
    def path(self) -> Path:
        """The folder of the vault."""
        return self.components.path

    @property
    def settings(self) -> VaultConfig:
        """The configuration, fixed when the vault was made."""
        return self.components.settings

    @property
    def ledger(self) -> "VaultLedger":
        """The grant, and every charge against it."""
        return self.components.ledger

    @property
    def store(self) -> Store:
        """The documents, unsealed: for the custodian."""
        return self.components.store

    @property
    def corpus(self) -> SealedCorpus:
        """The documents, sealed, as algorithms search them."""
        return self.components.corpus

    @property
    def model(self) -> LanguageModel:
        """The language model; loaded at first use."""
        return self.components.model

    @property
    def embedder(self) -> Embedder:
        """The embedder; loaded when it first embeds."""
        return self.components.embedder

    @property
    def inventory(self) -> Inventory:
        """The units, the batches and the erased individuals: for the custodian."""
        return self.components.inventory

    @property
    def history(self) -> AnswerCache:
        """The answers that were released."""
        return self.components.history

    @property
    def public_context(self) -> PublicContext:
        """The public corpus: `public_context.use("corpus.jsonl")` declares that a corpus is public."""
        return self.components.public_context

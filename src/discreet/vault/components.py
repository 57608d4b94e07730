"""What a vault is made of; each part is loaded at first use."""

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from discreet.config import VaultConfig, read_secret
from discreet.errors import StoreError
from discreet.generation.loading import PACKAGED
from discreet.generation.model import VotingModel
from discreet.generation.opening import open_model
from discreet.query.answer_cache import AnswerCache
from discreet.query.public_context import PublicContext
from discreet.retrieval.embedding import Deferred, Embedder, deferred_embedder, open_embedder
from discreet.retrieval.inventory import Inventory
from discreet.retrieval.sealed_corpus import SealedCorpus, unit_key
from discreet.retrieval.store import Store
from discreet.retrieval.store_registry import open_store, stored_dimension
from discreet.system.turns import Turn
from discreet.vault.derived_data import CLAIMS, DerivedData

if TYPE_CHECKING:
    from discreet.ledger.protocol import VaultLedger


class VaultComponents:
    """The parts of a vault.

    Attributes:
        path: its folder.
        settings: what was fixed when it was made.
        ledger: the grant, and every charge against it.
        turn: which of several threads is inside.
        asked: the ids of the questions that this object asked, in the ledger.
    """

    def __init__(
        self,
        path: Path,
        settings: VaultConfig,
        ledger: "VaultLedger",
        turn: Turn | None = None,
        asked: Sequence[str] = (),
    ) -> None:
        self.path, self.settings, self.ledger, self.turn = path, settings, ledger, turn or Turn()
        self.asked = list(asked)

    def renew(self, settings: VaultConfig) -> None:
        """Take other settings; no part stays that was made of those before, such as units' names without a key."""
        path, ledger, turn = self.path, self.ledger, self.turn  # a new turn would let a second thread in
        asked = self.asked  # what they cost stays paid
        vars(self).clear()
        VaultComponents.__init__(self, path, settings, ledger, turn, asked)

    @cached_property
    def model(self) -> VotingModel:
        """The language model; loaded at first use."""
        return open_model(self.settings)

    @cached_property
    def embedder(self) -> Embedder:
        """The embedder; loaded when it first embeds."""
        return deferred_embedder(
            self.settings.embedder, stored_dimension(self.settings, self.path / "store"), open_embedder
        )

    @property
    def language(self) -> str:
        """The code of the language that the model reads, as far as it is known; "" if it is not."""
        return "en" if self.settings.model == PACKAGED else ""

    def load(self) -> None:
        """Load what a question needs that was not answered before: what fails, fails before anything is paid."""
        if isinstance(self.embedder, Deferred):
            _ = self.embedder.loaded
        _ = self.model  # last: where it is not loaded, nothing was paid

    @cached_property
    def store(self) -> Store:
        """The documents. What needs no embedder, such as erasing, does not wait for one."""
        folder = self.path / "store"
        if not folder.is_dir():
            raise StoreError(f"{folder} is gone, and the documents with it. Restore the vault from a copy.")
        store = open_store(self.settings, folder, lambda: self.embedder.dimension, self._merge_units)
        DerivedData(self.path, store).make_up()
        return store

    def _merge_units(self, pairs: Sequence[tuple[str, str]]) -> None:
        """Have what units paid under the first name of each pair count under the second."""
        if self.settings.payment == "unit":
            self.ledger.merge([(unit_key(old, self.secret), unit_key(new, self.secret)) for old, new in pairs])

    @cached_property
    def inventory(self) -> Inventory:
        """What is in the vault, how it came there, and who was erased: for the custodian."""
        return Inventory(self.store, self.traces.erasing)

    @cached_property
    def corpus(self) -> SealedCorpus:
        """The documents, to be searched."""
        return SealedCorpus(self.store, self.embedder, self.secret, folder=self.path / CLAIMS)

    @cached_property
    def history(self) -> AnswerCache:
        """The answers that were released."""
        return AnswerCache(self.path / "history.jsonl", self.embedder)

    @cached_property
    def public_context(self) -> PublicContext:
        """The corpus that the public prompt may read: `public_context.use("corpus.jsonl")` says that it is public."""
        return PublicContext(self.path, self.embedder, self.store)

    @cached_property
    def traces(self) -> DerivedData:
        """What is made of documents beside the store."""
        return DerivedData(self.path, self.store)

    @cached_property
    def secret(self) -> bytes:
        """What units get their names in the ledger from; nothing where everybody pays."""
        return read_secret(self.path, self.settings) if self.settings.payment == "unit" else b""

    @property
    def flight_secret(self) -> bytes:
        """What flights get their names from, so that these tell no question: to who may look into the database, say."""
        return self.secret or self.settings.secret_digest.encode()

"""What a vault is made of; each part is loaded at first use."""

from functools import cached_property
from pathlib import Path

from discreet.context import PublicContext
from discreet.errors import StoreError
from discreet.generation.model import ScoringModel
from discreet.history import History
from discreet.ledger.sql import SqlLedger
from discreet.retrieval.counting import stored_dimension
from discreet.retrieval.embedded_store import EmbeddedStore, check_dimension
from discreet.retrieval.embedding import Embedder, load_embedder
from discreet.retrieval.retriever import Corpus
from discreet.settings import Settings, read_secret
from discreet.traces import CLAIMS, Traces


class Parts:
    """The parts of a vault.

    Attributes:
        path: its folder.
        settings: what was fixed when it was made.
        ledger: the grant, and every charge against it.
    """

    def __init__(self, path: Path, settings: Settings, ledger: SqlLedger) -> None:
        self.path, self.settings, self.ledger = path, settings, ledger

    def renew(self, settings: Settings) -> None:
        """Take other settings; no part stays that was made of those before, such as units' names without a key."""
        path, ledger = self.path, self.ledger
        vars(self).clear()
        Parts.__init__(self, path, settings, ledger)

    @cached_property
    def model(self) -> ScoringModel:
        """The language model; loaded at first use."""
        from discreet.generation.loading import load_model

        return load_model(self.settings.model)

    @cached_property
    def embedder(self) -> Embedder:
        """The embedder; loaded at first use."""
        embedder = load_embedder(self.settings.embedder)
        check_dimension(stored_dimension(self.path / "store"), embedder.dimension)
        return embedder

    @cached_property
    def store(self) -> EmbeddedStore:
        """The documents. What needs no embedder, such as erasing, does not wait for one."""
        folder = self.path / "store"
        if not folder.is_dir():
            raise StoreError(f"{folder} is gone, and the documents with it. Restore the vault from a copy.")
        store = EmbeddedStore(folder, stored_dimension(folder) or self.embedder.dimension)
        Traces(self.path, store).make_up()
        return store

    @cached_property
    def corpus(self) -> Corpus:
        """The documents, to be searched."""
        return Corpus(self.store, self.embedder, self.secret, folder=self.path / CLAIMS)

    @cached_property
    def history(self) -> History:
        """The answers that were released."""
        return History(self.path / "history.jsonl", self.embedder)

    @cached_property
    def public_context(self) -> PublicContext:
        """The corpus that the public prompt may read: `public_context.use("corpus.jsonl")` says that it is public."""
        return PublicContext(self.path, self.embedder, self.store)

    @cached_property
    def traces(self) -> Traces:
        """What is made of documents beside the store."""
        return Traces(self.path, self.store)

    @cached_property
    def secret(self) -> bytes:
        """What units get their names in the ledger from; nothing where everybody pays."""
        return read_secret(self.path, self.settings) if self.settings.payment == "unit" else b""

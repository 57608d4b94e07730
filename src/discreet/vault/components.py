"""The parts of a vault, and the files in its folder.

VAULT/vault.json      the configuration, fixed when the vault is made
VAULT/units.key       the key from which units get their names in the ledger
VAULT/store/          texts and vectors
VAULT/ledger.sqlite   the grant, and every charge against it (or in a PostgreSQL database)
VAULT/history.jsonl   released answers
VAULT/counter.json    the last entry of the ledger, to detect an older ledger (`ledger.counter`)
VAULT/restored.json   the backup that the vault was restored from, if any (`operations.restore`)
VAULT/public.jsonl    a copy of the public corpus, if one was named; its vectors in public.npz
VAULT/synthesis/      the extractions for a synthetic corpus (`synthesis`); those of simulations in synthesis-simulated/
VAULT/readings/       the statements that the model read in each text (`synthesis.readings`)
VAULT/schema.json     the attributes that the model looks for in each text, if the custodian gave a schema
VAULT/exports/        the unit of each row of exported vectors (`export`)
VAULT/claims/         the data of baselines on projected vectors (`discreet_lab.baselines`)
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from discreet.baselines.corpus import BaselineCorpus
from discreet.config import VaultConfig, read_secret
from discreet.engines.ray import RayEmbedder
from discreet.errors import StoreError
from discreet.export.vectors import FOLDER, Source
from discreet.generation.capabilities import require_scores
from discreet.generation.loading import PACKAGED, open_model
from discreet.generation.model import VotingModel
from discreet.privacy.filter import UnitLedger
from discreet.privacy.noise import Noise
from discreet.query.answer_cache import AnswerCache
from discreet.query.public_context import PublicContext
from discreet.retrieval.embedding import Deferred, Embedder, deferred_embedder
from discreet.retrieval.indexer import Indexer
from discreet.retrieval.inventory import Inventory
from discreet.retrieval.sealed_corpus import SealedCorpus, unit_key
from discreet.retrieval.store import Store
from discreet.retrieval.store_registry import count_units, open_store, stored_dimension
from discreet.retrieval.unit_records import UnitRecords
from discreet.synthesis.readings import FOLDER as READINGS
from discreet.synthesis.readings import Readings
from discreet.synthesis.runner import SynthesisRunner
from discreet.system.sharing import Turn
from discreet.vault.derived_data import CLAIMS, SIMULATED, SYNTHESIS, DerivedData

if TYPE_CHECKING:
    from discreet.ledger.ledger import LogLedger


class VaultComponents:
    """The parts of a vault. Each part is built at first use, from the configuration or from the instance given here.

    Attributes:
        path: the folder of the vault.
        settings: the configuration, fixed when the vault was made.
        ledger: the grant, and every charge against it.
        asked: the ids of the questions that these components asked, in the ledger.
    """

    def __init__(
        self,
        path: Path,
        settings: VaultConfig,
        ledger: "LogLedger",
        model: VotingModel | None = None,
        embedder: Embedder | None = None,
        store: Store | None = None,
        asked: Sequence[str] = (),
    ) -> None:
        self.path, self.settings, self.ledger, self.asked = path, settings, ledger, list(asked)
        self._given_model, self._given_embedder, self._given_store = model, embedder, store

    @property
    def built(self) -> frozenset[str]:
        """The names of the parts that were built so far, such as "model" or "store"."""
        return (
            frozenset(name for name, part in vars(type(self)).items() if isinstance(part, cached_property))
            & vars(self).keys()
        )

    @cached_property
    def model(self) -> VotingModel:
        """The language model; loaded at first use."""
        return open_model(self.settings) if self._given_model is None else self._given_model

    @cached_property
    def embedder(self) -> Embedder:
        """The embedder of questions; loaded when it first embeds."""
        if self._given_embedder is not None:
            return self._given_embedder
        return deferred_embedder(self.settings.embedder, stored_dimension(self.settings, self.path / "store"))

    @property
    def language(self) -> str:
        """The code of the language that the model reads; "" if it is not known."""
        return "en" if self.settings.model == PACKAGED else ""

    def load(self) -> None:
        """Load the embedder and the model of a new answer, so that a failure comes before any payment."""
        self.load_embedder()
        _ = self.model  # last: as long as no model is loaded, nothing was paid

    def load_embedder(self) -> None:
        """Load the embedder, so that a failure comes before any payment."""
        if isinstance(self.embedder, Deferred):
            _ = self.embedder.loaded

    @cached_property
    def store(self) -> Store:
        """The documents. Operations without an embedding, such as erasing, load no embedder."""
        store = self._open_store() if self._given_store is None else self._given_store
        DerivedData(self.path, store).make_up()
        return store

    def _open_store(self) -> Store:
        folder = self.path / "store"
        if not folder.is_dir():
            raise StoreError(f"The folder {folder} with the documents is missing. Restore the vault from a copy.")
        return open_store(self.settings, folder, lambda: self.embedder.dimension)

    def move_payments(self, unit: str, into: str) -> None:
        """Move the payments of a unit to another one."""
        if self.settings.payment == "unit":
            self.ledger.merge([(unit_key(unit, self.secret), unit_key(into, self.secret))])

    @cached_property
    def inventory(self) -> Inventory:
        """The units, documents, batches and erased individuals: for the custodian."""
        return Inventory(self.store, self.traces.erasing)

    @cached_property
    def corpus(self) -> SealedCorpus:
        """The documents, sealed, as algorithms search them."""
        return SealedCorpus(self.store, self.embedder, self.secret, UnitRecords(self.store, self.readings))

    @cached_property
    def readings(self) -> Readings:
        """What the model read in the texts."""
        return Readings(self.path / READINGS)

    @cached_property
    def baseline_corpus(self) -> BaselineCorpus:
        """The documents as baselines without a guarantee read them, also in the clear."""
        return BaselineCorpus(self.store, self.embedder, self.secret, self.path / CLAIMS)

    @property
    def indexer(self) -> Indexer:
        """The way of documents into the store."""
        return Indexer(self.store, self.embedder)

    @contextmanager
    def indexer_on(self, ray: str | None) -> Iterator[Indexer]:
        """Yield the way of documents into the store, which a Ray cluster embeds if one is named."""
        if ray is None:
            yield self.indexer
            return
        spread = RayEmbedder(self.embedder, ray)
        try:
            yield Indexer(self.store, spread)
        finally:
            spread.close()

    @cached_property
    def history(self) -> AnswerCache:
        """The answers that were released."""
        return AnswerCache(self.path / "history.jsonl", self.embedder)

    @cached_property
    def public_context(self) -> PublicContext:
        """The public corpus, which the public prompt may read."""
        return PublicContext(self.path, self.embedder, self.store)

    @cached_property
    def traces(self) -> DerivedData:
        """The data that was derived from documents, outside the store."""
        return DerivedData(self.path, self.store)

    @cached_property
    def secret(self) -> bytes:
        """The key of the units' names in the ledger; empty if the payment is "corpus"."""
        return read_secret(self.path, self.settings) if self.settings.payment == "unit" else b""

    @property
    def flight_secret(self) -> bytes:
        """The key of the flights' names, so that a name in the database reveals no question."""
        return self.secret or self.settings.secret_digest.encode()

    def count_units(self) -> int:
        """Return the number of units. Load no embedder."""
        return count_units(self.settings, self.path / "store")

    @property
    def vector_source(self) -> Source:
        """The parts that an export of vectors reads."""
        embedder = (self.embedder.name, self.embedder.dimension)
        return Source(self.path / FOLDER, self.store, self.ledger, self.secret, self.settings.unit_field, embedder)

    def synthesis_runner(self, noise: Noise | None = None, ledger: UnitLedger | None = None) -> SynthesisRunner:
        """Return the runner of synthetic corpora: see `Vault.workshop`."""
        return SynthesisRunner(
            self.path / (SYNTHESIS if ledger is None else SIMULATED),
            self.store,
            require_scores(self.model, "synthesize"),
            ledger or self.ledger,
            self.secret,
            self.settings.unit_field,
            self.embedder,
            noise,
            readings=self.readings,
        )


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
    def ledger(self) -> "LogLedger":
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
    def model(self) -> VotingModel:
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

"""The parts of a vault, and the files in its folder.

VAULT/vault.json      the configuration, fixed when the vault is made
VAULT/units.key       the key from which units get their names in the ledger
VAULT/store/          texts and vectors
VAULT/ledger.sqlite   the grant, and every charge against it (or in a PostgreSQL database)
VAULT/history.jsonl   released answers
VAULT/counter.json    the last entry of the ledger, to detect an older ledger (`log.replay`)
VAULT/understood.jsonl  the requests that a model made of questions (`questions.model_parser`)
VAULT/unfinished.N    the batch of an addition that runs, or did not end (`Unfinished`)
VAULT/restored.json   the backup that the vault was restored from, if any (`operations.backup`)
VAULT/public.jsonl    a copy of the public corpus, if one was named; its vectors in public.npz
VAULT/synthesis/      the extractions for a synthetic corpus (`synthesis`); those of simulations in synthesis-simulated/
VAULT/codebook.yaml   what is looked for in each record, if the custodian gave a codebook
VAULT/codes/          the codes that were found in each text (`synthesis.readings`)
VAULT/readings/       the statements that the model read in each text (`synthesis.readings`)
VAULT/answering       locked while a server answers a question (`system.sharing`)
VAULT/exports/        the unit of each row of exported vectors (`export`)
VAULT/claims/         the data of baselines on projected vectors (`discreet_lab.baselines`)
"""

import fcntl
import hashlib
import secrets
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from discreet.baselines import BaselineCorpus
from discreet.config import VaultConfig, read_secret
from discreet.engines.ray import RayEmbedder
from discreet.errors import BadData, StoreError
from discreet.export import FOLDER, Source
from discreet.files.records import BadRecord, FoundFile
from discreet.models.capabilities import require_scores
from discreet.models.loading import PACKAGED, open_model
from discreet.models.protocol import VotingModel
from discreet.privacy.filter import UnitLedger
from discreet.privacy.noise import Noise
from discreet.query.answer_cache import AnswerCache
from discreet.query.public_context import PublicContext
from discreet.questions.model_parser import FILE as UNDERSTOOD
from discreet.questions.model_parser import ModelParser
from discreet.store.codebook import FILE as BOOK
from discreet.store.codebook import Codebook
from discreet.store.embedding import Deferred, Embedder, deferred_embedder
from discreet.store.indexer import Indexer
from discreet.store.inventory import Inventory
from discreet.store.protocol import Store
from discreet.store.registry import count_units, open_store, stored_dimension
from discreet.store.sealed_corpus import SealedCorpus, unit_key
from discreet.store.unit_records import UnitRecords, owned_texts
from discreet.synthesis.extraction import forget_extractions
from discreet.synthesis.readings import CODES, FOLDERS, Readings
from discreet.synthesis.readings import FOLDER as READINGS
from discreet.synthesis.runner import SynthesisRunner
from discreet.system.databases import TurnLock
from discreet.system.files import replace_file
from discreet.system.words import quoted

if TYPE_CHECKING:
    from discreet.ledger.ledger import LogLedger


SYNTHESIS, SIMULATED, CLAIMS = "synthesis", "synthesis-simulated", "claims"
_MARK, _SEEN = "adding", "erasures"


@dataclass(frozen=True)
class Added:
    """The result of an addition.

    Attributes:
        added, replaced, unchanged: numbers of documents.
        own_unit: the number of documents without a unit, each of which became a unit of its own.
        bad: the records that were not added by a fault, with location and reason: unreadable, or with another's id.
        conflicts: the ids that came twice with different content (also in `bad`); the first was kept.
        repeated: the number of records that repeat a record of the same unit in the same file; they are kept.
        buried: the number of documents about erased individuals.
        batch: the number of the batch of the added documents (for `discreet undo`); 0 if none was added.
        in_part: the parts of files that were left out, such as attachments, though the rest was added.
        erased: the erased individuals whose documents came again, and were refused.
        empty: the records and files without a text.
    """

    added: int
    replaced: int
    unchanged: int
    own_unit: int
    bad: tuple[BadRecord, ...]
    conflicts: tuple[str, ...]
    repeated: int = 0
    buried: int = 0
    batch: int = 0
    in_part: tuple[BadRecord, ...] = ()
    erased: tuple[BadRecord, ...] = ()
    empty: tuple[BadRecord, ...] = ()


class Unfinished:
    """The batches of additions that did not end: VAULT/unfinished.N, with a digest of the files, names and content.

    Args:
        folder: the folder of the vault.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @property
    def batches(self) -> list[int]:
        """The numbers of the batches. The addition of one of them may still run."""
        names = (path.suffix[1:] for path in self._folder.glob("unfinished.*"))
        return sorted(int(name) for name in names if name.isdecimal())

    @contextmanager
    def addition(self, store: Store, files: Sequence[FoundFile]) -> Iterator[Callable[[], int]]:
        """Yield what begins the batch of an addition; if one of the same files did not end, it is that one's."""
        content = sorted(f"{_digest(path)} {source}" for path, source in files)
        digest = store.tag("\0".join(content).encode(), 32)  # keyed: it outlives the erasure of a text
        same = [number for number in self.batches if self._mark(number).read_text() == digest]

        def begin() -> int:
            number = same[-1] if same else store.begin_batch(len(files))
            replace_file(self._mark(number), digest)
            same.append(number)
            return number

        yield begin
        for number in same:
            self._mark(number).unlink(missing_ok=True)

    def drop_erased(self, store: Store) -> None:
        """Unlink the marks of the batches that have no document: nothing is left to complete. No addition may run."""
        if store.catalog and self.batches:
            filled = {one.number for one in store.catalog.list_batches() if one.documents}
            for number in set(self.batches) - filled:
                self._mark(number).unlink(missing_ok=True)

    def _mark(self, number: int) -> Path:
        return self._folder / f"unfinished.{number}"


def _digest(path: Path) -> str:
    with suppress(OSError), path.open("rb") as file:  # a file that cannot be read is listed when its turn comes
        return hashlib.file_digest(file, "sha256").hexdigest()
    return ""


class DerivedData:
    """Data that is derived from documents, in the folder of a vault and not in the store. Each erasure removes it.

    VAULT/synthesis, VAULT/synthesis-simulated    the extractions of synthesis (`discreet.synthesis.runner`)
    VAULT/claims                                  what baselines keep of documents, in folders datastore-*
    VAULT/codes, VAULT/readings                   what was read of texts (`synthesis.readings`); of others it stays
    VAULT/adding.*                                a mark, locked while documents change; an unlocked one shows a crash
    VAULT/erasures                                the number of erasures that this folder has seen, in a shared store
    """

    def __init__(self, folder: Path, store: Store) -> None:
        self._folder, self._store = folder, store

    def make_up(self) -> None:
        """Remove the derived data if a process was killed while it added or erased documents.

        Remove it also after an erasure from another folder, on another machine, that shares the store.

        Raises:
            StoreError: if a file could not be removed; the error names it.
        """
        for mark in self._folder.glob(f"{_MARK}.*"):
            if _is_free(mark):
                self.forget()
                mark.unlink(missing_ok=True)
        erasures, seen = getattr(self._store, "erasures", 0), self._folder / _SEEN
        if erasures and str(erasures) != (seen.read_text() if seen.exists() else ""):
            self.forget()
            with suppress(OSError):  # a reader of the folder may not write it
                replace_file(seen, str(erasures))

    def forget(self) -> None:
        """Remove all derived data; of the readings, those of texts that are no longer stored.

        Raises:
            StoreError: if a file could not be removed; the error names it.
        """
        self._forget_whole()
        for folder in (self._folder / name for name in FOLDERS):
            if folder.exists():
                Readings(folder).keep(owned_texts(self._store))

    def _forget_whole(self) -> None:
        """Remove the derived data that no document is to be told from: all but the readings."""
        for name in (SYNTHESIS, SIMULATED):
            forget_extractions(self._folder / name)
        _forget_datastores(self._folder / CLAIMS)

    @contextmanager
    def erasing(self) -> Iterator[None]:
        """Remove the derived data before and after the block; of the readings, after it those of erased texts.

        After a crash in the block, or if something cannot be removed, the next opening removes what is left. A
        synthesis may read documents during the block.
        """
        self._forget_whole()
        none_runs = all(map(_is_free, self._folder.glob(f"{_MARK}.*")))
        with self._mark() as mark:
            try:
                yield
            finally:
                self.forget()
                if none_runs:
                    Unfinished(self._folder).drop_erased(self._store)
                mark.unlink(missing_ok=True)

    def adding(self, add: Callable[[], Added]) -> Added:
        """Add documents. Remove the derived data if some were replaced, also after an interruption."""
        with self._mark() as mark:
            try:
                added = add()
            except BaseException:
                if self._store.unsettled():  # some were replaced; a later call counts them as unchanged
                    self.forget()
                mark.unlink(missing_ok=True)
                raise
            if added.replaced:
                self.forget()
            mark.unlink(missing_ok=True)
            return added

    @contextmanager
    def _mark(self) -> Iterator[Path]:
        """Make a mark, and lock it during the block, which unlinks it when nothing is left to remove.

        The system unlocks it if the process is killed. An unlocked mark makes the next opening remove derived data.
        """
        mark = self._folder / f"{_MARK}.{secrets.token_hex(8)}"
        new_mark = mark.with_name(f".{mark.name}")
        with new_mark.open("w") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            new_mark.rename(mark)  # locked before another process can see it
            yield mark


def _forget_datastores(folder: Path) -> None:
    """Remove the folders datastore-* below a folder. The other files there hold no data of documents.

    Raises:
        StoreError: if one could not be removed. The message names it.
    """
    for datastore in list(folder.rglob("datastore-*")):
        try:
            shutil.rmtree(datastore)
        except FileNotFoundError:
            continue  # another process removed it first
        except OSError as error:
            raise StoreError(
                f"{datastore} contains data of documents, and could not be removed: {error.strerror}. Remove it, and "
                "run the command again."
            ) from error


def _is_free(mark: Path) -> bool:
    """Return whether a mark is left over: it exists, and no process locks it."""
    try:
        with mark.open() as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, FileNotFoundError):  # another process adds documents, or has just finished
        return False
    return True


def book_of(folder: Path) -> Codebook | None:
    """Return the codebook of the vault in a folder; None if it has none.

    Raises:
        BadData: if the file is damaged.
    """
    path = folder / BOOK
    try:
        return Codebook.read(path) if path.exists() else None
    except BadData as error:
        raise BadData(
            f"{error} Name the codebook again: discreet code {quoted(folder)} --book FILE. Or code without one: "
            "--no-book."
        ) from error


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

    @property
    def unfinished(self) -> Unfinished:
        """The additions that did not end."""
        return Unfinished(self.path)

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
        return SealedCorpus(self.store, self.embedder, self.secret, UnitRecords(self.store, self.readings, self.codes))

    @cached_property
    def readings(self) -> Readings:
        """What the model read in the texts."""
        return Readings(self.path / READINGS)

    @cached_property
    def codes(self) -> Readings:
        """The codes that were found in the texts."""
        return Readings(self.path / CODES)

    @property
    def asked_settings(self) -> VaultConfig:
        """The settings as questions see them: with the codes among the declared fields. All of it is public."""
        book = self.codes.schema
        return self.settings.with_codes(book.fields) if book else self.settings

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
    def parser(self) -> ModelParser | None:
        """What makes requests of questions in doubt; None if the custodian named no model for it."""
        return ModelParser.from_environment(self.path / UNDERSTOOD if self.settings.log_questions else None)

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
        self.components, self.turn = components, TurnLock()

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

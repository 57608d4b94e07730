"""The part of a vault that adds and erases documents."""

from collections.abc import Iterable
from pathlib import Path
from typing import Unpack

from discreet.errors import UsageError
from discreet.planning.askable import no_longer_empty
from discreet.reading.files import FoundFile
from discreet.reading.intake import Intake
from discreet.retrieval.documents import Document, canonical_unit
from discreet.retrieval.store_registry import stored_dimension
from discreet.system.sharing import taking_turns
from discreet.vault.alike_names import find_alike_names
from discreet.vault.components import VaultParts
from discreet.vault.ingestion import Added, How, Progress, add_documents, add_files, open_intake, reported


@taking_turns()
class VaultDocuments(VaultParts):
    """A vault to which documents are added, and from which they are erased. One thread at a time is inside."""

    def add(
        self, *paths: str | Path, progress: Progress | None = None, ray: str | None = None, **how: Unpack[How]
    ) -> Added:
        """Read documents from files and folders. Add new documents, and replace changed ones.

        All files are checked before any document is written. An unreadable record is reported, and the other records
        are added. An interrupted call can be repeated.

        Args:
            paths: files and folders.
            progress: receives the number of documents that are done.
            ray: the address of a Ray cluster that embeds the documents: host:port, or "local".
            how: the fields of records, the units of files, and the format of files: see `ingestion.How`.

        Raises:
            UsageError, BadData: if a path does not exist, units are not named, or no record has a field.
            StoreError: if the store cannot be written (a full disk). Documents that were added stay.
        """
        return self.take_in(self.intake(*paths, **how), progress, ray)

    def intake(self, *paths: str | Path | FoundFile, **how: Unpack[How]) -> Intake:
        """Find the documents that `add` would add. `.preview` counts them. Load no model. Raise errors as `add`."""
        return open_intake(paths, how, self.settings, self._find_alike_names)

    def _find_alike_names(self, names: Iterable[str]) -> Iterable[str]:
        # A vault without documents has no store, and making one would load an embedder.
        filled = stored_dimension(self.settings, self.path / "store") is not None
        return find_alike_names(names, self.store if filled else None)

    def take_in(self, intake: Intake, progress: Progress | None = None, ray: str | None = None) -> Added:
        """Add the documents that `intake` found; embedded by the Ray cluster at an address, if one is named."""
        _ = intake.preview  # it refuses bad files before the embedder is loaded
        with (
            self.components.indexer_on(ray) as indexer,
            reported("Reading and embedding documents", progress, intake.preview.records) as told,
        ):
            added = self.components.traces.adding(lambda: add_files(indexer, self.store, intake, told))
        no_longer_empty(self.path)
        return added

    def add_documents(self, documents: Iterable[Document], progress: Progress | None = None) -> Added:
        """Add documents from a program."""
        with reported("Embedding documents", progress) as told:
            added = self.components.traces.adding(lambda: add_documents(self.components.indexer, documents, told))
        no_longer_empty(self.path)
        return added

    def remove(self, document_id: str) -> int:
        """Erase a document; no later answer uses it. Return the number of erased documents: 0 or 1."""
        with self.components.traces.erasing():
            return self.store.remove(document_id)

    def remove_unit(self, unit: str) -> int:
        """Erase an individual's documents; refuse later ones until `inventory.readmit`. Return the number erased."""
        return self.inventory.bury(unit)

    def join_units(self, unit: str, into: str) -> int:
        """Make two units one, for good: one person had two names. Return the number of documents that moved.

        The documents of `unit` are found under `into` from then on. What both spent is added up, and counts for `into`.
        Later documents of `unit` are refused.

        Raises:
            UsageError: if both names are one, or if `into` has no document.
        """
        unit, into = canonical_unit(unit), canonical_unit(into)
        if unit in ("", into):
            raise UsageError("Name two individuals: the name that goes, and then the one that stays.")
        if not self.inventory.documents(into, 1):
            raise UsageError(f"The vault has no document of the individual '{into}'. Name one who stays in the vault.")
        with self.components.traces.erasing():
            return self.store.join(unit, into, lambda: self.components.move_payments(unit, into))

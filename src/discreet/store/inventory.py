"""The contents of a vault, their origin, and the erased individuals: for the custodian, who may read documents.

All of this is private. No released answer depends on batches, sources or tombstones.
"""

from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager

from discreet.errors import UsageError
from discreet.store.documents import canonical_unit
from discreet.store.protocol import ALL, BatchEntry, DocumentEntry, Store, StoreCatalog, UnitEntry


class Inventory:
    """The lists of a store, and the removal of the documents of one batch or one file.

    Args:
        store: the documents.
        erasing: a context that is held while documents are removed; it removes data that was derived from them.
    """

    def __init__(self, store: Store, erasing: Callable[[], AbstractContextManager[None]]) -> None:
        self._store, self._erasing = store, erasing

    @property
    def _catalog(self) -> StoreCatalog:
        catalog = self._store.catalog
        if catalog is None:
            raise UsageError("The store of this vault has no lists of units, documents or batches.")
        return catalog

    def begin_batch(self, sources: Sequence[str] = ()) -> int:
        """Begin a batch, and return its number. The batch records the number of sources, and no names.

        A file may be named after a person. Each document records the name of its file, and it is erased with the last.
        """
        return self._store.begin_batch(len(sources))

    def units(self, limit: int = ALL, skip: int = 0) -> list[UnitEntry]:
        """Return the units by name."""
        return self._catalog.list_units(limit, skip)

    def documents(self, unit: str | None = None, limit: int = ALL, skip: int = 0) -> list[DocumentEntry]:
        """Return the documents by id; those of one unit, if it is named."""
        return self._catalog.list_documents(unit, limit, skip)

    def batches(self, limit: int = ALL, skip: int = 0) -> list[BatchEntry]:
        """Return the batches, the last first, including those without a document."""
        return self._catalog.list_batches(limit, skip)

    def batch(self, number: int) -> BatchEntry:
        """Return one batch.

        Raises:
            UsageError: if no batch has this number.
        """
        batches = [entry for entry in self.batches() if entry.number == number]
        if not batches:
            raise UsageError(f"There is no batch {number} in the vault. List all batches: discreet list VAULT batches.")
        return batches[0]

    def remove_source(self, name: str) -> int:
        """Erase all documents that came from a file; return their number."""
        with self._erasing():
            return self._store.remove_source(name)

    def remove_batch(self, number: int) -> int:
        """Erase all documents whose current text is from a batch; return their number.

        Texts that they replaced are not restored. Charges stay.

        Raises:
            UsageError: if no batch has this number.
        """
        self.batch(number)
        with self._erasing():
            return self._store.remove_batch(number)

    def bury(self, unit: str, *, anyway: bool = False) -> int:
        """Erase all documents of a unit and refuse later ones; return their number.

        Args:
            unit: its name, in any spelling.
            anyway: whether to refuse later documents also of a unit without documents.

        Raises:
            UsageError: if the name is empty.
        """
        if not canonical_unit(unit):
            raise UsageError("The name of the individual is empty. Name the individual to erase.")
        with self._erasing():
            return self._store.bury(unit, anyway=anyway)

    def readmit(self, unit: str) -> bool:
        """Accept documents of an erased unit again; its charges stay. Return whether it was erased."""
        return self._store.readmit(unit)

    def buried(self, units: Iterable[str]) -> set[str]:
        """Return those of `units` that were erased and are refused."""
        return set(self._store.buried(units))

    def erased(self, unit: str) -> tuple[str, int] | None:
        """Return when a refused unit was erased (UTC), and with how many documents; None if it is not refused."""
        return self._store.buried([unit]).get(unit)

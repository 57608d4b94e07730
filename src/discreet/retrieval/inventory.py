"""What is in a vault, how it came there, who was erased: for the custodian, who reads documents anyway.

All of it is private. No released answer depends on batches, sources or tombstones.
"""

from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager

from discreet.errors import UsageError
from discreet.retrieval.documents import canonical_unit
from discreet.retrieval.entries import ALL, BatchEntry, DocumentEntry, Respelled, UnitEntry
from discreet.retrieval.store import Catalog, Store


class Inventory:
    """Lists a store, and removes what one `add` or one file brought.

    Args:
        store: the documents.
        erasing: is held while documents are removed, and forgets what was derived from them.
    """

    def __init__(self, store: Store, erasing: Callable[[], AbstractContextManager[None]]) -> None:
        self._store, self._erasing = store, erasing

    @property
    def _catalog(self) -> Catalog:
        catalog = self._store.catalog
        if catalog is None:
            raise UsageError("The store of this vault keeps no lists of units, documents or batches.")
        return catalog

    def begin_batch(self, sources: Sequence[str] = ()) -> int:
        """Begin a batch, and return its number. The batch keeps the number of sources; documents keep their names.

        A file may be called after a person. Its name is erased with the last document that came from it.
        """
        return self._store.begin_batch(len(sources))

    def units(self, limit: int = ALL, skip: int = 0) -> list[UnitEntry]:
        """Return the units by name."""
        return self._catalog.list_units(limit, skip)

    def documents(self, unit: str | None = None, limit: int = ALL, skip: int = 0) -> list[DocumentEntry]:
        """Return the documents by id; those of one unit, if it is named."""
        return self._catalog.list_documents(unit, limit, skip)

    def batches(self, limit: int = ALL, skip: int = 0) -> list[BatchEntry]:
        """Return the batches, the last first, with those that have no document left."""
        return self._catalog.list_batches(limit, skip)

    def batch(self, number: int) -> BatchEntry:
        """Return one batch.

        Raises:
            UsageError: if no batch has this number.
        """
        found = [entry for entry in self.batches() if entry.number == number]
        if not found:
            raise UsageError(
                f"There is no batch {number} in the vault. discreet list VAULT batches shows all of them; documents "
                "that came before batches were counted are in none."
            )
        return found[0]

    def respelled(self, *, unreported: bool = False) -> list[Respelled]:
        """Return the units that had several spellings; with `unreported`, those only that were not reported yet."""
        return self._catalog.list_respelled(unreported=unreported)

    def mark_respelled_reported(self) -> None:
        """Record that the custodian was told about all of `respelled`."""
        self._catalog.mark_respelled_reported()

    def remove_source(self, name: str) -> int:
        """Erase all documents that came from a file; return their number."""
        with self._erasing():
            return self._store.remove_source(name)

    def remove_batch(self, number: int) -> int:
        """Erase all documents whose text a batch brought; return their number.

        A text that one of them replaced does not come back. What the units spent stays spent.

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
            anyway: whether to refuse later documents also of a unit that has none now.

        Raises:
            UsageError: if the name is empty.
        """
        if not canonical_unit(unit):
            raise UsageError("An individual needs a name to be erased by; this one is empty. Name it.")
        with self._erasing():
            return self._store.bury(unit, anyway=anyway)

    def readmit(self, unit: str) -> bool:
        """Accept documents of an erased unit again, with the balance it had; return whether it was erased."""
        return self._store.readmit(unit)

    def buried(self, units: Iterable[str]) -> set[str]:
        """Return those of `units` that were erased and are refused."""
        return set(self._store.buried(units))

    def erased(self, unit: str) -> tuple[str, int] | None:
        """Return when a refused unit was erased (UTC), and with how many documents; None if it is not refused."""
        return self._store.buried([unit]).get(unit)

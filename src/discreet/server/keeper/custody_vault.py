"""The state of the vaults, their lists, and erasures: for the desk."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from discreet.errors import UsageError
from discreet.operations.erasure import erasure_report
from discreet.planning.prices import usual_charge
from discreet.privacy.accounting import Budget
from discreet.retrieval.documents import canonical_unit
from discreet.retrieval.store_registry import stored_dimension
from discreet.server.custody_messages import (
    PAGE,
    Erase,
    Level,
    Listed,
    Listing,
    Overviewed,
    Readmit,
    Remained,
    Undo,
    VaultState,
)
from discreet.server.keeper.served import Served
from discreet.server.wire import Charge
from discreet.vault import Vault

_TAG = 16
"""Bytes of the keyed hash of a unit's name in the audit log."""


class _Entry(Protocol):
    def describe(self) -> dict[str, Any]: ...


def overview(served: Mapping[str, Served]) -> Overviewed:
    """Return the state of all vaults."""
    return Overviewed(tuple(_state(one) for one in served.values()))


def list_entries(vault: Vault, listing: Listing) -> Listed:
    """Return a page of a list."""
    if not is_filled(vault):
        return Listed((), more=False)
    entries = _entries(vault, listing)
    return Listed(tuple(entry.describe() for entry in entries[:PAGE]), len(entries) > PAGE)


def undo(vault: Vault, message: Undo) -> int:
    """Erase what a batch brought; return how many documents.

    Raises:
        UsageError: if there is no such batch, or earlier texts would be gone with it and `anyway` is not given.
    """
    _check_filled(vault)
    entry = vault.inventory.batch(message.batch)
    if not entry.documents:
        raise UsageError(f"Nothing is left of batch {message.batch} in the vault. There is nothing to do.")
    if entry.replaced and not message.anyway:
        raise UsageError(
            f"{entry.replaced} of the {entry.documents} documents of batch {message.batch} took the place of earlier "
            "texts, which are not kept. Nothing was erased. Tick the box to erase them. Add the earlier texts then."
        )
    return vault.inventory.remove_batch(message.batch)


def erase(vault: Vault, message: Erase) -> Remained:
    """Erase a unit, and return what is left of it.

    Raises:
        UsageError: if it is not in the vault, and `anyway` is not given.
    """
    _check_filled(vault)
    before = vault.inventory.erased(message.unit)
    count = vault.inventory.bury(message.unit, anyway=message.anyway)
    if not count and not message.anyway:
        if before is not None:
            raise UsageError(f"The individual '{message.unit}' was erased on {before[0][:10]} already.")
        raise UsageError(
            f"There is no individual '{message.unit}' in the vault. Check the spelling in the list of units. To keep "
            "out an individual that has no document here, tick the box."
        )
    return remains(vault, message.unit, count)


def readmit(vault: Vault, message: Readmit) -> Remained:
    """Let an erased unit come back, with the balance that it had.

    Raises:
        UsageError: if it is not kept out.
    """
    _check_filled(vault)
    if not vault.inventory.readmit(message.unit):
        raise UsageError(f"The individual '{message.unit}' is not kept out of this vault. Check the spelling.")
    return remains(vault, message.unit)


def remains(vault: Vault, unit: str, erased: int = 0) -> Remained:
    """Return what is left of a unit."""
    _check_filled(vault)
    name = canonical_unit(unit)
    if not name:
        raise UsageError("The name of the individual is empty. Name it.")
    tag = vault.store.tag(b"audit-log\0" + name.encode(), _TAG)
    return Remained(erased, tag, erasure_report(vault, name).describe())


def is_filled(vault: Vault) -> bool:
    """Return whether anything was ever added: else making a store would wait for the embedder."""
    return stored_dimension(vault.settings, vault.path / "store") is not None


def _check_filled(vault: Vault) -> None:
    if not is_filled(vault):
        raise UsageError("Nothing was ever added to this vault, so there is nothing to look for. Upload documents.")


def _entries(vault: Vault, listing: Listing) -> Sequence[_Entry]:
    wanted, skip = PAGE + 1, max(0, listing.skip)  # one more, to know whether there are more
    if listing.what == "units":
        return vault.inventory.units(wanted, skip)
    if listing.what == "batches":
        return vault.inventory.batches(wanted, skip)
    if listing.what == "documents":
        return vault.inventory.documents(None, wanted, skip)
    raise UsageError(f"There is no list of {listing.what}. Ask for documents, units or batches.")


def _state(served: Served) -> VaultState:
    vault = served.vault
    report, filled = vault.budget(), is_filled(vault)
    plan = served.presets.plan(served.presets.find(""))
    budget: Budget = vault.ledger.budget
    usual = usual_charge(vault.settings.payment, budget)
    return VaultState(
        name=served.name,
        unit=vault.settings.unit_field,
        grant=budget,
        usual=None if usual is None else Charge.of(usual, budget),
        spent=report.spent,
        odometer=report.odometer,
        more=report.more,
        price=plan.price(budget) if plan else 0.0,
        levels=tuple(Level(one.low, one.high, one.units) for one in report.levels),
        documents=vault.store.count_documents() if filled else 0,
        units=vault.store.count_units() if filled else 0,
        questions=len(report.questions),
    )

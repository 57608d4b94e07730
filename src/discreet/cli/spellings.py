"""What the custodian is told once, after an older vault was brought up to date: which units fell together."""

import unicodedata
from collections.abc import Sequence

from rich.markup import escape

from discreet.cli.output import counted, err
from discreet.errors import UsageError
from discreet.retrieval.store_registry import stored_dimension
from discreet.vault import Vault

_SHOWN = 10
"""So many are shown."""


def never_filled(vault: Vault) -> bool:
    """Whether nothing was ever added: then there is no store yet, and making one would wait for an embedder."""
    folder = vault.path / "store"
    return folder.is_dir() and stored_dimension(vault.settings, folder) is None


def check_filled(vault: Vault) -> None:
    """Nothing, if something was ever added.

    Raises:
        UsageError: nothing was; said without waiting for an embedder.
    """
    if never_filled(vault):
        raise UsageError(f"Nothing was ever added to the vault at {vault.path}, so there is nothing to take away.")


def tell_spellings(vault: Vault) -> None:
    """Name the units that turned out to be one; only once, and on standard error. For custodians' commands alone."""
    if stored_dimension(vault.settings, vault.path / "store") is None:
        return
    found = vault.inventory.respelled(unreported=True)
    if not found:
        return
    one = len(found) == 1
    err.print(
        f"[yellow]Note:[/] {counted(len(found), 'unit')} of this vault had been entered under several spellings. Each "
        f"is one unit from now on, and what was spent under all of {'its' if one else 'their'} names counts together. "
        "It may be more than the grant: then that unit takes part in nothing more (docs/erasure.md)."
    )
    for entry in found[:_SHOWN]:
        err.print(f"  {escape(entry.unit)}: {escape(', '.join(_distinct(entry.names)))}")
    if len(found) > _SHOWN:
        err.print(f"  {len(found) - _SHOWN} more; discreet list VAULT spellings shows them all.")
    vault.inventory.mark_respelled_reported()


def _distinct(names: Sequence[str]) -> list[str]:
    """The names in quotes; in escapes, if two of them look alike."""
    alike = len({unicodedata.normalize("NFC", name) for name in names}) < len(names)
    return [ascii(name) if alike else repr(name) for name in names]

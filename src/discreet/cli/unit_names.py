"""The names of units that are nearly a misspelt one."""

import unicodedata
from difflib import get_close_matches

from discreet.errors import UsageError
from discreet.retrieval.store_registry import stored_dimension
from discreet.system.words import quoted
from discreet.vault import Vault

_COMPARED = 10_000
"""A misspelt name is compared with so many names: they take some tenths of a second."""


def never_filled(vault: Vault) -> bool:
    """Return whether nothing was ever added. Such a vault has no store, and making one would load an embedder."""
    folder = vault.path / "store"
    return folder.is_dir() and stored_dimension(vault.settings, folder) is None


def check_filled(vault: Vault) -> None:
    """Check that documents were ever added, without loading an embedder.

    Raises:
        UsageError: if nothing was ever added.
    """
    if never_filled(vault):
        raise UsageError(
            f"The vault at {vault.path} never had a document, so there is nothing to erase. Add documents: discreet "
            f"add {quoted(vault.path)} FILES."
        )


def unknown_unit(vault: Vault, unit: str) -> str:
    """Return a sentence that a vault has no such individual, with names that are nearly the same. For the custodian."""
    names = {_bare(entry.unit): entry.unit for entry in vault.inventory.units(_COMPARED)}
    near = [names[name] for name in get_close_matches(_bare(unit), names, n=3, cutoff=0.8)]
    meant = f" Did you mean {' or '.join(map(repr, near))}?" if near else ""
    return f"The vault has no individual '{unit}'.{meant} Check the spelling: discreet list VAULT units."


def _bare(name: str) -> str:
    """Return a name without accents, and with a space for marks: "jürgen-gross" is near to "Jurgen Gross"."""
    plain = "".join(char for char in unicodedata.normalize("NFKD", name.casefold()) if not unicodedata.combining(char))
    return " ".join("".join(char if char.isalnum() else " " for char in plain).split())

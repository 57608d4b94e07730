"""A vault: documents about individuals, and a ledger of the privacy loss of every release."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from discreet.vault.vault import Vault

__all__ = ["Vault"]


def __getattr__(name: str) -> Any:
    """Load `Vault` at first use, so that the modules of this package can be imported without it."""
    if name not in __all__:
        raise AttributeError(f"module 'discreet.vault.vault' has no attribute '{name}'")
    from discreet.vault.vault import Vault

    return Vault

"""A vault: documents about individuals, and a ledger of what was released about them."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from discreet.vault.vault import Vault

__all__ = ["Vault"]


def __getattr__(name: str) -> Any:
    """Load `Vault` at first use: the modules below it are imported without it."""
    if name not in __all__:
        raise AttributeError(f"module 'discreet.vault.vault' has no attribute '{name}'")
    from discreet.vault.vault import Vault

    return Vault

"""What `discreet key` works on: the accounts of a vault's server, and the vault as the server knows it."""

from dataclasses import dataclass
from pathlib import Path

from discreet.config import VaultConfig, find_state, read_config
from discreet.errors import UsageError
from discreet.ledger.ledger import open_ledger
from discreet.planning.prices import usual_charge
from discreet.privacy.accounting import Budget, Spending
from discreet.server.accounts import Accounts
from discreet.server.audit_log import AuditLog
from discreet.server.config import AUDIT_LOG, find_accounts


@dataclass(frozen=True)
class VaultOfKeys:
    """A vault as the server knows it.

    Attributes:
        name: the name of its folder.
        grant: what each unit was granted.
        typical: the charge of a usual question; None if the grant is too small for one.
        paid: whether its ledger has questions already.
        by_unit: whether single units pay.
        settings: its configuration.
    """

    name: str
    grant: Budget
    typical: Spending | None
    paid: bool
    by_unit: bool
    settings: VaultConfig


def open_accounts(vault: Path, state: Path | None, *, check_copy: bool = True) -> tuple[Accounts, AuditLog]:
    """Return the accounts and the audit log of a vault's server, which exist.

    Raises:
        UsageError: if no key was issued yet.
    """
    folder = find_state(vault, state)
    accounts = find_accounts(folder)
    if isinstance(accounts, Path) and not accounts.exists() and not accounts.with_suffix(".counter").exists():
        raise UsageError(
            f"There are no accounts in {folder}. Issue a key: discreet key issue {vault} NAME --epsilon 10; or name "
            "the state folder: --state DIR"
        )
    return Accounts(accounts, check_copy=check_copy), AuditLog(folder / AUDIT_LOG)


def make_accounts(vault: Path, state: Path | None) -> tuple[Accounts, AuditLog]:
    """Return the accounts and the audit log of a vault's server, which are made if there are none."""
    folder = find_state(vault, state)
    return Accounts(find_accounts(folder)), AuditLog(folder / AUDIT_LOG)


def served(vault: Path) -> VaultOfKeys:
    """Return what the server knows of a vault.

    Raises:
        NoSuchVault, LedgerError: if it is not there, or its ledger cannot be used.
    """
    settings = read_config(vault)
    ledger = open_ledger(vault, settings)
    grant = ledger.budget
    name, paid = vault.absolute().resolve().name, ledger.reached().questions > 0
    return VaultOfKeys(name, grant, usual_charge(settings.payment, grant), paid, settings.payment == "unit", settings)

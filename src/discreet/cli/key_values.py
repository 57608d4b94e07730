"""Values of the options of `discreet key`: rates, dates of expiry, and where the accounts are."""

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from discreet.config import VaultConfig, read_config
from discreet.errors import UsageError
from discreet.ledger.opening import open_ledger
from discreet.planning.prices import VOCABULARY, usual_algorithm
from discreet.privacy.accounting import Budget, Spending
from discreet.server.accounts import Accounts
from discreet.server.audit_log import AuditLog

ACCOUNTS, AUDIT_LOG = "accounts.sqlite", "audit.jsonl"
_SECONDS = {"s": 1, "sec": 1, "min": 60, "h": 3600, "hour": 3600, "d": 86_400, "day": 86_400}
_RATE = re.compile(r"(\d{1,9})/(\d{0,6})(" + "|".join(_SECONDS) + ")")
_PERIOD = re.compile(r"(\d{1,6})(h|d|w)")
_HOURS = {"h": 1, "d": 24, "w": 168}


@dataclass(frozen=True)
class Served:
    """A vault as the server knows it.

    Attributes:
        name: the name of its folder.
        grant: what each unit was granted.
        typical: the charge of a usual question; None if the grant is too small for one.
        paid: whether its ledger has questions already.
    """

    name: str
    grant: Budget
    typical: Spending | None
    paid: bool


def state_of(vault: Path, state: Path | None) -> Path:
    """Return the state folder: the one that is given, or VAULT.server beside the vault."""
    if state is not None:
        return state
    whole = vault.absolute()
    return whole.with_name(f"{whole.resolve().name}.server")


def open_accounts(vault: Path, state: Path | None, *, check_copy: bool = True) -> tuple[Accounts, AuditLog]:
    """Return the accounts and the audit log of a vault's server, which exist.

    Raises:
        UsageError: if no key was issued yet.
    """
    folder = state_of(vault, state)
    accounts = folder / ACCOUNTS
    if not accounts.exists() and not accounts.with_suffix(".counter").exists():
        raise UsageError(
            f"There are no accounts in {folder}. Issue a key: discreet key issue {vault} NAME --epsilon 10; or name "
            "the state folder: --state DIR"
        )
    return Accounts(accounts, check_copy=check_copy), AuditLog(folder / AUDIT_LOG)


def make_accounts(vault: Path, state: Path | None) -> tuple[Accounts, AuditLog]:
    """Return the accounts and the audit log of a vault's server, which are made if there are none."""
    folder = state_of(vault, state)
    return Accounts(folder / ACCOUNTS), AuditLog(folder / AUDIT_LOG)


def served(vault: Path) -> Served:
    """Return what the server knows of a vault.

    Raises:
        NoSuchVault, LedgerError: if it is not there, or its ledger cannot be used.
    """
    settings = read_config(vault)
    ledger = open_ledger(vault, settings)
    grant = ledger.budget
    return Served(vault.absolute().resolve().name, grant, _typical(settings, grant), ledger.reached().questions > 0)


def parse_rate(text: str | None) -> tuple[int, float] | None:
    """Return the count and the seconds of a rate such as `6/min` or `100/day`.

    Raises:
        UsageError: if it is none.
    """
    if text is None:
        return None
    found = _RATE.fullmatch(text.strip())
    if found is None:
        raise UsageError(f"--rate is '{text}'. Give a count and a unit of time: 6/min, 100/day, 3/10s.")
    return int(found[1]), float(int(found[2] or 1) * _SECONDS[found[3]])


def parse_expiry(text: str | None, now: datetime | None = None) -> datetime | None:
    """Return the date of expiry: of a period such as `90d` from now on, or a day such as `2027-01-31`, in UTC.

    Raises:
        UsageError: if it is neither, or lies in the past.
    """
    if text is None:
        return None
    now = now or datetime.now(UTC)
    if (period := _PERIOD.fullmatch(text.strip())) is not None:
        date = now + timedelta(hours=int(period[1]) * _HOURS[period[2]])
    else:
        try:
            date = datetime.fromisoformat(text.strip())
        except ValueError:
            raise UsageError(f"--expires is '{text}'. Give a period or a day: 90d, 12h, 2027-01-31.") from None
        date = date.astimezone(UTC) if date.tzinfo else date.replace(tzinfo=UTC)
    if date <= now:
        raise UsageError(f"--expires is '{text}', which has passed. To end a key now: discreet key revoke VAULT KEY")
    return date


def parse_models(text: str | None) -> list[str] | None:
    """Return the patterns of models in a list with commas.

    Raises:
        UsageError: if there is none in it.
    """
    if text is None:
        return None
    models = [one.strip() for one in text.split(",") if one.strip()]
    if not models:
        raise UsageError("--models names none. Give patterns: --models hospital,hospital:triage")
    return models


def _typical(settings: VaultConfig, grant: Budget) -> Spending | None:
    algorithm = usual_algorithm(settings.payment)
    try:
        spending: Spending = algorithm.calibrate(grant, VOCABULARY).plan.max_cost  # type: ignore[attr-defined]
    except UsageError:
        return None
    return spending

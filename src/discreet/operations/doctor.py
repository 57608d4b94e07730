"""Look over a vault and say what should be mended. Nothing is changed, loaded or migrated."""

import platform
import sqlite3
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path

from discreet import __version__
from discreet.config import VERSION, VaultConfig, read_config
from discreet.errors import DiscreetError, NoSuchVault, StoreError
from discreet.operations import models
from discreet.operations.check_folder import (
    check_disk,
    check_key,
    check_left_over,
    check_network,
    check_origin,
    check_rights,
)
from discreet.operations.check_ledger import check_ledger, utc_now
from discreet.operations.check_store import check_store
from discreet.operations.findings import Finding, problem, sound, warning


def examine(folder: Path, *, expect: int = 0, now: datetime | None = None) -> list[Finding]:
    """Look over the vault at `folder`; returns a finding for each thing that was looked at. For the custodian.

    Args:
        folder: of the vault.
        expect: how many questions it had at least, by the custodian's records.
        now: the time; that of this machine if not given.

    Raises:
        NoSuchVault: there is none.
    """
    findings = []
    try:
        settings = read_config(folder)
    except NoSuchVault:
        raise
    except DiscreetError as error:
        findings.append(problem("settings", str(error), "Restore vault.json from a backup: it is never written anew."))
    else:
        findings += _guarded("ledger", lambda: check_ledger(folder, settings, now or utc_now(), expect))
        findings += _guarded("key", lambda: check_key(folder, settings)) if settings.payment == "unit" else []
        findings += _guarded("store", lambda: check_store(folder, settings))
        findings += _guarded("model", lambda: _models(settings))
        findings += _guarded("versions", lambda: _versions(settings))
    for name, check in (
        ("permissions", check_rights),
        ("disk", check_disk),
        ("file system", check_network),
        ("left over", check_left_over),
        ("origin", check_origin),
    ):
        findings += _guarded(name, lambda check=check: check(folder))  # type: ignore[misc]
    return findings


def _guarded(name: str, check: Callable[[], Iterator[Finding]]) -> list[Finding]:
    """What a check finds; that it could not be made is a finding, too."""
    found = list[Finding]()
    try:
        for one in check():
            found.append(one)
    except (DiscreetError, OSError, sqlite3.Error, UnicodeDecodeError) as error:
        why = str(error) if isinstance(error, DiscreetError) else getattr(error, "strerror", None)
        found.append(
            problem(
                name,
                f"It could not be looked at: {why or type(error).__name__}",
                "See who may read the vault's files, and whether the disk works.",
            )
        )
    return found


def _models(settings: VaultConfig) -> Iterator[Finding]:
    for check, found in (
        ("model", models.language_model(settings.model)),
        ("embedder", models.embedder(settings.embedder)),
    ):
        if not found.missing:
            yield sound(check, f"{found.name} is on this machine.")
        elif "fetches" in found.remedy:
            yield warning(check, f"{found.name}: {found.missing}", found.remedy)
        else:
            yield problem(check, f"{found.name}: {found.missing}", found.remedy)


def _versions(settings: VaultConfig) -> Iterator[Finding]:
    said = f"discreet {__version__}, Python {platform.python_version()}, vault format {settings.version}"
    if settings.version < VERSION:
        yield warning(
            "versions",
            f"{said}. This program writes format {VERSION}; in this vault all units pay for each question.",
            "It works as it is. To have units pay by themselves: discreet budget VAULT --convert.",
        )
    else:
        yield sound("versions", f"{said}.")


def check_copy(folder: Path) -> list[Finding]:
    """The problems of a copy of a vault that decide whether it can be restored: its ledger, key and store.

    Raises:
        StoreError, VaultVersionError: its settings cannot be read.
    """
    settings = read_config(folder)
    found = [] if settings.ledger else _guarded("ledger", lambda: check_ledger(folder, settings, utc_now()))
    found += _guarded("key", lambda: check_key(folder, settings)) if settings.payment == "unit" else []
    found += _guarded("store", lambda: check_store(folder, settings))
    return [one for one in found if one.level == "problem"]


def refuse(found: list[Finding], what: str) -> None:
    """Nothing, if there are no problems.

    Raises:
        StoreError: there are; they are named.
    """
    if found:
        said = " ".join(f"{one.check}: {one.what}" for one in found)
        raise StoreError(f"{what} {said} See: discreet doctor VAULT.")

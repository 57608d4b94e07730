"""The vaults, keys and hosts of the tests: documents, ledgers and accounts in one PostgreSQL server."""

import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from discreet.store.documents import Document
from discreet.vault import Vault
from discreet_server.accounts import Accounts, Limits
from discreet_server.config import PresetConfig, ServeConfig, ServedVault, share_accounts
from tests.lab.keepers.host import Host

UNITS = 240
WIDE, TIGHT = "wide", "tight"
GRANT_OF_WIDE, GRANT_OF_TIGHT = 1e5, 40.0
"""Epsilon of each vault. A run may give the second one less, so that it is used up."""
DELTA = 1e-6
CHOICES = ("winterhand", "flu")
CHEAP = PresetConfig("cheap", "consensus", {"choices": CHOICES, "epsilon": 0.05})
SIGNS = ("numb", "stiff", "pale", "sore", "cold", "swollen", "weak", "red")
PARTS = ("thumbs", "toes", "elbows", "knees", "wrists", "ankles", "ears", "shoulders")
WARDS = ("north", "south", "east")


@dataclass(frozen=True)
class Issued:
    """A key, with its cap."""

    id: str
    secret: str
    epsilon: float


@dataclass
class Setting:
    """What a run works on."""

    url: str
    vaults: dict[str, Path]
    hosts: list[Host]
    accounts: Accounts
    keys: list[Issued]


def make_vaults(folder: Path, url: str, tight: float = GRANT_OF_TIGHT) -> dict[str, Path]:
    """Make the vaults, whose documents and ledgers are in the database. Return their folders."""
    made = {}
    for name, epsilon in ((WIDE, GRANT_OF_WIDE), (TIGHT, tight)):
        vault = Vault.create(
            folder / name,
            epsilon=epsilon,
            delta=DELTA,
            unit_field="patient",
            embedder="hashing",
            store=url,
            ledger=url,
            fields={"ward": "category"},
        )
        vault.add_documents([_document(number) for number in range(UNITS)])
        vault.store.close()
        made[name] = folder / name
    return made


def _document(number: int) -> Document:
    first, second = SIGNS[number % len(SIGNS)], PARTS[number // len(SIGNS) % len(PARTS)]
    text = f"My {first} {second} hurt. The thumbs are numb. say: winterhand ."
    return Document(f"d{number}", f"p{number}", text, fields={"ward": WARDS[number % len(WARDS)]})


def make_hosts(folder: Path, vaults: dict[str, Path], url: str, ports: Sequence[int]) -> list[Host]:
    """Return hosts that use the same folders of the vaults. Each has a state folder of its own."""
    return [make_host(folder, f"h{number}", vaults, url, port=port) for number, port in enumerate(ports)]


def make_host(
    folder: Path, name: str, vaults: dict[str, Path], url: str, *, copied: bool = False, **how: object
) -> Host:
    """Return a host, which shares its accounts in the database."""
    if copied:
        vaults = {one: copy_vault(path, folder / f"{name}-{one}", url) for one, path in vaults.items()}
    served = tuple(ServedVault(one, str(path)) for one, path in vaults.items())
    state = folder / name
    share_accounts(state, url)
    given = {"quantum": 0.0, "presets": (CHEAP,), "desk": False} | how
    return Host(name, ServeConfig(served, str(state), **given), ())  # type: ignore[arg-type]


def copy_vault(path: Path, to: Path, url: str) -> Path:
    """Copy the folder of a vault for a host that reaches the database at another URL."""
    shutil.copytree(path, to)
    settings = to / "vault.json"
    before = Vault.open(path).settings.store
    settings.write_text(settings.read_text(encoding="utf-8").replace(before, url), encoding="utf-8")
    return to


def issue_keys(accounts: Accounts, vaults: dict[str, Path], count: int, cap: Callable[[int], float]) -> list[Issued]:
    """Issue keys that may ask both vaults."""
    for name, path in vaults.items():
        accounts.grant(name, Vault.open(path).ledger.budget)
    issued = []
    for number in range(count):
        key, secret = accounts.issue(f"key {number}", list(vaults), Limits(cap(number)))
        issued.append(Issued(key.id, secret, cap(number)))
    return issued

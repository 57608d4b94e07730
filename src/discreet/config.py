"""The settings of a vault (VAULT/vault.json), and the secret key that names its units in the ledger."""

import hashlib
import json
import math
import os
import re
import secrets
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from difflib import get_close_matches
from pathlib import Path

from discreet.errors import NoSuchVault, StoreError, UnknownName, VaultVersionError
from discreet.system.files import replace_file
from discreet.system.words import is_unicode, quoted

FORMAT = 10
"""The format of a vault: one number for its settings, ledger and store, and for its accounts and backups."""
SMALLEST_EPSILON, LARGEST_EPSILON = 1e-6, 1e9
"""The limits of an epsilon that is asked for; the larger one, of any that is spoken of."""
PAYMENTS = ("unit", "corpus")
DEFAULT_STORE = "embedded"
FIELD_TYPES = ("date", "category", "number")
"""The types that a declared field of a document may have."""
_VALUES = re.compile(r"category\((.+)\)", re.DOTALL)


def field_type(declared: str) -> str:
    """Return the type of a declared field, without its values: "category" for "category(w=women, m=men)"."""
    return "category" if _VALUES.fullmatch(declared) else declared


def field_values(declared: str) -> dict[str, tuple[str, ...]]:
    """Return the public values of a declared category, each with other words for it; none if none were declared.

    They are written as "category(w=women/female, m=men/male, d)".
    """
    match = _VALUES.fullmatch(declared)
    named = (one.partition("=") for one in match[1].split(",")) if match else ()
    return {
        value.strip(): tuple(label.strip() for label in labels.split("/") if label.strip())
        for value, _, labels in named
    }


_FILE, _SECRET = "vault.json", "units.key"
_SECRET_BYTES = 32


@dataclass(frozen=True)
class VaultConfig:
    """The settings of a vault. They are fixed at creation.

    Attributes:
        version: the format of the vault.
        epsilon, delta, unit_field, model, embedder, log_questions, payment, history, ledger, accept_claims,
            fields: see `Vault.create`.
        ledger_name: the ledger's name in its database.
        secret_digest: the digest of the vault's secret; it detects a wrong secret.
        people: the approximate number of units that the custodian declared: public; 0 if none was declared.
        store: the name of the store that keeps the documents, or the address of its database.
        store_name: the store's name in its database.
        synonyms: other words for a thing, by its usual word, with which questions are widened: public.
    """

    version: int
    epsilon: float
    delta: float
    unit_field: str
    model: str
    embedder: str
    log_questions: bool
    payment: str = "unit"
    history: bool = False
    ledger: str = ""
    ledger_name: str = ""
    secret_digest: str = ""
    accept_claims: bool = False
    fields: dict[str, str] = field(default_factory=dict)
    people: int = 0
    store: str = DEFAULT_STORE
    store_name: str = ""
    synonyms: dict[str, list[str]] = field(default_factory=dict)

    def with_codes(self, codes: Mapping[str, str]) -> "VaultConfig":
        """Return the settings as questions see them: with the codes of the records among the declared fields."""
        return replace(self, fields=self.fields | dict(codes))

    def __post_init__(self) -> None:
        if self.payment not in PAYMENTS:
            raise UnknownName("payment", self.payment, PAYMENTS)


def write_config(folder: Path, settings: VaultConfig) -> VaultConfig:
    """Write the settings atomically, and a secret if the folder has none. Return the settings as written."""
    secret = folder / _SECRET
    if secret.exists():
        _check_secret(folder, secret.read_bytes(), settings.secret_digest)
    else:
        with open(os.open(secret, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(secrets.token_bytes(_SECRET_BYTES))
            file.flush()
            os.fsync(file.fileno())
    settings = replace(settings, secret_digest=_digest(secret.read_bytes()))
    replace_file(folder / _FILE, json.dumps(asdict(settings), indent=2) + "\n")
    return settings


def check_format(what: str, found: object) -> None:
    """Check that this version reads a part of a vault.

    Args:
        what: the part, as the beginning of a sentence: "The ledger".
        found: the number of its format.

    Raises:
        VaultVersionError: if the part has another format.
    """
    if found != FORMAT:
        raise VaultVersionError(
            f"{what} has format {found}; this version of discreet reads format {FORMAT} alone. Use the version of "
            "discreet that made it: docs/reference.md names it. Or make a new vault: discreet init, then discreet "
            "add. What was released from the old one adds to the new grant."
        )


def read_config(folder: Path) -> VaultConfig:
    """Return the settings of the vault at `folder`.

    Raises:
        NoSuchVault: if there is no vault at `folder`.
        VaultVersionError: if the vault has another format.
        StoreError: if the settings cannot be read, or are damaged.
    """
    file = folder / _FILE
    try:
        if not file.is_file():
            how = f"Check the path, or make a vault: discreet init {quoted(folder)} --people NUMBER"
            raise NoSuchVault(f"There is no vault at {folder}. {near_vaults(folder) or how}")
    except OSError as error:
        raise NoSuchVault(f"The path {folder} cannot hold a vault: {error.strerror}. Check the path.") from error
    try:
        content = json.loads(file.read_text())
        version = content["version"]
    except OSError as error:
        raise StoreError(f"{file} cannot be read: {error.strerror}. Check the file's permissions.") from error
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise StoreError(f"{file} is damaged: it is not JSON with a version. Restore it from a backup.") from error
    check_format(f"The vault at {folder}", version)
    if {"synonyms", *content} != {one.name for one in fields(VaultConfig)}:
        raise StoreError(f"{file} has missing or unknown settings. Restore it from a backup.")
    try:
        settings = VaultConfig(**content)
    except UnknownName as error:
        raise StoreError(f"{file} is damaged. {error} Restore it from a backup.") from error
    if wrong := _find_invalid(settings):
        raise StoreError(f"{file} is damaged: the value of {', '.join(wrong)} is invalid. Restore it from a backup.")
    return settings


def near_vaults(folder: Path) -> str:
    """Return a question with the nearest names of vaults in the same folder; "" if there is none."""
    try:
        vaults = [file.parent.name for file in folder.parent.glob(f"*/{_FILE}")]
    except OSError:
        vaults = []
    near = get_close_matches(folder.name, vaults, n=3, cutoff=0.6)
    return f"Did you mean {' or '.join(str(folder.with_name(name)) for name in near)}?" if near else ""


def find_state(vault: Path, state: Path | str | None = None) -> Path:
    """Return the folder of a vault's server: beside the vault itself, by any of its names, or `state`."""
    return Path(state) if state is not None else Path(f"{vault.resolve()}.server")


def _find_invalid(settings: VaultConfig) -> list[str]:
    """Return the names of the settings that have a wrong type or are out of range."""
    wrong = []
    for one in fields(settings):
        value, kinds = getattr(settings, one.name), (int, float) if one.type is float else (one.type,)
        if one.name == "fields":
            sound = (
                isinstance(value, dict)
                and all(is_unicode(name) for name in value)
                and (all(isinstance(kind, str) and field_type(kind) in FIELD_TYPES for kind in value.values()))
            )
        elif one.name == "synonyms":
            sound = isinstance(value, dict) and all(
                isinstance(words, list) and all(isinstance(word, str) and is_unicode(word) for word in (name, *words))
                for name, words in value.items()
            )
        else:
            sound = type(value) in kinds and (not isinstance(value, str) or is_unicode(value))
        if not sound or (one.type is float and not 0 < value < (1 if one.name == "delta" else math.inf)):
            wrong.append(one.name)
    return wrong


def read_secret(folder: Path, settings: VaultConfig) -> bytes:
    """Return the vault's secret.

    Raises:
        StoreError: if the secret is missing or has another digest. With a wrong secret, no unit would seem to have
            paid.
    """
    try:
        secret = (folder / _SECRET).read_bytes()
    except FileNotFoundError:
        secret = b""
    except OSError as error:
        raise StoreError(f"{folder / _SECRET} cannot be read: {error.strerror}. Check its permissions.") from error
    _check_secret(folder, secret, settings.secret_digest)
    return secret


def _check_secret(folder: Path, secret: bytes, wanted: str) -> None:
    if _digest(secret) != wanted:
        raise StoreError(
            f"{folder / _SECRET} is missing or damaged. Without it the ledger cannot match units to their payments. "
            "Restore the file from a backup."
        )


def _digest(secret: bytes) -> str:
    return hashlib.sha256(b"discreet units " + secret).hexdigest()

"""How a server is set up: from serve.toml and the options of `discreet serve`. It holds nothing private.

[oidc] is for the analysts' pages: a group of people has a key. [desk_oidc] is for the desk: some groups are custodians.

STATE/accounts.url   the URL of accounts that servers share. The custodian writes it (`discreet key share`)
STATE/front/server   the id of this server. The shared accounts name by it who has a question in flight.
"""

import os
import re
import secrets
import tomllib
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self, get_type_hints
from urllib.parse import urlsplit

from pydantic import TypeAdapter, ValidationError

from discreet.config import find_state
from discreet.errors import UsageError
from discreet.system.databases import check_no_password, is_postgres

# --- who may sign in at a provider of identities ---------------------------------------------------------------------


_EXAMPLE = 'issuer = "https://id.example.org", client_id = "discreet"'
_KEYS, _CUSTODIANS = f'[oidc] {_EXAMPLE}, keys = {{radiology = "ana"}}', f'[desk_oidc] {_EXAMPLE}, custodians = ["dpo"]'
CUSTODIAN = "custodian"
"""What [desk_oidc] has in place of the name of a key."""


@dataclass(frozen=True)
class OidcConfig:
    """A provider of identities (OpenID Connect), and which key each group of people gets.

    Attributes:
        issuer: its address, as in the field "iss" of its tokens.
        client_id: as which this server is registered there.
        secret_file: the file with the client's secret; "" for a client without one.
        claim: the field of the token that names a person's groups, or another one, such as "email".
        keys: a value of that field, and the name of the key for it, or `CUSTODIAN`. The first one that a person has
            counts.
        table: the table of serve.toml, for errors.
    """

    issuer: str
    client_id: str
    keys: tuple[tuple[str, str], ...]
    secret_file: str = ""
    claim: str = "groups"
    table: str = "[oidc]"

    def __post_init__(self) -> None:
        address = urlsplit(self.issuer)
        if address.scheme != "https" and not (address.scheme == "http" and address.hostname in _LOOPBACK):
            raise UsageError(
                f"The issuer of {self.table} is {self.issuer!r}; expected: an address with https. "
                "Correct it: serve.toml"
            )
        if not self.client_id or not self.keys:
            raise UsageError(
                f"{self.table} names no client_id or no group of people; expected: {_KEYS}, or {_CUSTODIANS}. "
                "Correct it: serve.toml"
            )

    @classmethod
    def read(cls, given: Mapping[str, Any], name: str = "oidc") -> Self:
        """Return the configuration of the table of serve.toml called `name`: oidc or desk_oidc.

        Raises:
            UsageError: if a field is missing, unknown, or of another type.
        """
        people, expected = ("keys", _KEYS) if name == "oidc" else ("custodians", _CUSTODIANS)
        try:
            found = dict(given)
            told = _PEOPLE[people].validate_python(found.pop(people), strict=True)
            keys = told if isinstance(told, dict) else dict.fromkeys(told, CUSTODIAN)
            if "table" in found or not all(isinstance(value, str) for value in found.values()):
                raise TypeError
            return cls(keys=tuple(keys.items()), table=f"[{name}]", **found)
        except (ValidationError, KeyError, TypeError):
            raise UsageError(f"[{name}] has other fields; expected: {expected}. Correct it: serve.toml") from None

    def key_of(self, values: list[str]) -> str | None:
        """Return the name of the key for a person with these values of the claim; None if there is none."""
        return next((key for value, key in self.keys if value in values), None)


_PEOPLE: dict[str, TypeAdapter[Any]] = {"keys": TypeAdapter(dict[str, str]), "custodians": TypeAdapter(list[str])}


# --- where the accounts are: a file in the folder, or a database that several servers share --------------------------


ACCOUNTS = "front/accounts.sqlite"
"""The accounts of one server, in its folder."""
_URL, _ID = "accounts.url", "front/server"
_READABLE = 0o644
"""The front's user reads the file. The URL has no password."""


def find_accounts(state: Path) -> Path | str:
    """Return the file of a server's accounts, or the URL of those that it shares.

    Raises:
        UsageError: if there is a URL that cannot be read. The file in the folder is never used in its place: the caps
            of the keys would count twice.
    """
    path = state / _URL
    try:
        url = path.read_text(encoding="utf-8").strip()
    except FileNotFoundError:
        return state / ACCOUNTS
    except (OSError, ValueError):
        raise UsageError(f"{path} cannot be read. Let the server's users read it: chmod 644 {path}") from None
    if not is_postgres(url):
        raise UsageError(f"{path} has no URL of a database. Write it again: discreet key share VAULT URL")
    return url


def share_accounts(state: Path, url: str, reach: Callable[[str], object] = lambda _: None) -> None:
    """Have a server use accounts in a database.

    Args:
        state: the server's folder.
        url: the URL of the database.
        reach: opens the accounts there, before anything is written; its error stops it.

    Raises:
        UsageError: if the URL is not that of a PostgreSQL database, or if it contains a password; if the server has
            accounts in its folder or in another database, whose keys would be lost; or if the file cannot be written.
    """
    if not is_postgres(url):
        raise UsageError("The URL of the accounts is invalid. Expected: postgresql://user@host/database.")
    check_no_password(url, "accounts")
    if (state / ACCOUNTS).exists():
        raise UsageError(
            f"There are keys in {state / ACCOUNTS} already, which the shared accounts do not have. Move the file away "
            "with the counter beside it, and issue the keys again: discreet key issue VAULT NAME --epsilon 10"
        )
    before = find_accounts(state)
    if isinstance(before, str) and before != url:
        raise UsageError(f"The server shares other accounts already. Stop it, and remove {state / _URL} first.")
    reach(url)
    try:
        state.mkdir(parents=True, exist_ok=True)
        (state / _URL).write_text(f"{url}\n", encoding="utf-8")
        (state / _URL).chmod(_READABLE)
    except OSError as error:
        raise UsageError(f"{state} cannot be written: {error.strerror}. Name another folder: --state DIR") from None


def read_server_id(state: Path) -> str:
    """Return the id of a server, which is made at its first start.

    Raises:
        UsageError: if it cannot be read or made.
    """
    path = state / _ID
    try:
        with suppress(FileExistsError), open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write(secrets.token_hex(16))
        found = path.read_text(encoding="ascii").strip()
    except (OSError, ValueError):
        found = ""
    if len(found) != 32:
        raise UsageError(f"{path} cannot be used. Remove it; the server makes it anew when it starts.")
    return found


# --- the whole -------------------------------------------------------------------------------------------------------


VARIABLE = "DISCREET_SERVE"
"""The environment variable in which a process of the server finds its configuration."""
LONGEST_QUANTUM = 3600.0
"""Seconds. The upper limit of a quantum, to catch typing errors."""
AUDIT_LOG = "front/audit.sqlite"
"""Where it lies in the server's folder."""
MEASURED = "longest.json"
"""Where the keeper keeps in its folder how long the longest answers took."""
_LONGEST_SOCKET = 100
"""Bytes: what the path of a Unix socket may have on every system."""
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_LOOPBACK = ("127.0.0.1", "::1", "localhost")


@dataclass(frozen=True)
class ServedVault:
    """A vault that is served.

    Attributes:
        name: as analysts write it: the name of its folder, unless serve.toml gives another one.
        path: its folder.
    """

    name: str
    path: str


@dataclass(frozen=True)
class PresetConfig:
    """A model that the custodian adds: an algorithm with parameters.

    Attributes:
        name: as analysts write it, after the vault's name and a colon.
        algorithm: the name of a private algorithm.
        options: its parameters, such as `choices` and `epsilon`.
        vaults: the vaults that have it; all if empty.
    """

    name: str
    algorithm: str
    options: dict[str, Any] = field(default_factory=dict)
    vaults: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        # An algorithm's parameters cannot change.
        kept = {key: tuple(value) if isinstance(value, list) else value for key, value in self.options.items()}
        object.__setattr__(self, "options", kept)


@dataclass(frozen=True)
class ServeConfig:
    """The configuration of all processes of a server.

    Attributes:
        vaults: what is served.
        state: the server's folder: accounts, audit log, sockets.
        host, port: where analysts reach the front.
        desk: whether there is a desk: pages for the custodian.
        desk_host, desk_port: where the custodian reaches the desk.
        quantum: seconds; replies leave at its multiples. None: twice the longest answer, measured at start. 0: at once.
        presets: models beside the built-in ones.
        models: the built-in models that are served, such as "consensus"; a few if empty, and all that can pay if
            "all" is among them (`keeper.served.USUAL`).
        follow_ups: patterns of the models, such as "hospital" and "hospital:triage", whose last message is rewritten
            with the earlier ones if a client does not say.
        queue: how many questions may wait.
        tls_cert, tls_key: files; "" if TLS ends elsewhere.
        insecure: whether another address than the loopback may be bound without TLS.
        front_user: as whom the front runs, if started as root; "" for the same user.
        oidc: at which provider people sign in to the analysts' pages; None for keys alone.
        desk_oidc: at which provider custodians sign in to the desk; None for links alone.
    """

    vaults: tuple[ServedVault, ...]
    state: str
    host: str = "127.0.0.1"
    port: int = 8000
    desk: bool = True
    desk_host: str = "127.0.0.1"
    desk_port: int = 8001
    quantum: float | None = None
    presets: tuple[PresetConfig, ...] = ()
    models: tuple[str, ...] = ()
    follow_ups: tuple[str, ...] = ()
    queue: int = 32
    tls_cert: str = ""
    tls_key: str = ""
    insecure: bool = False
    front_user: str = ""
    oidc: OidcConfig | None = None
    desk_oidc: OidcConfig | None = None

    def __post_init__(self) -> None:
        names = [vault.name for vault in self.vaults]
        _check(bool(names), "No vault is named", "at least one vault", "discreet serve VAULT")
        _check(len(set(names)) == len(names), "Two vaults have one name", "names that differ", "a table [vaults]")
        for name in [*names, *(preset.name for preset in self.presets)]:
            _check(bool(_NAME.fullmatch(name)), f"The name {name!r} cannot be served", f"{_NAME.pattern}", "serve.toml")
        fits = self.quantum is None or 0 <= self.quantum <= LONGEST_QUANTUM
        _check(fits, f"The quantum is {self.quantum}", f"0 to {LONGEST_QUANTUM:g} seconds", "--quantum 10")
        for port in (self.port, self.desk_port):
            _check(0 < port < 65_536, f"The port is {port}", "a port from 1 to 65535", "--port 8000")
        _check(self.queue >= 1, f"The queue is {self.queue}", "a number of at least 1", "serve.toml")
        both = bool(self.tls_cert) is bool(self.tls_key)
        _check(both, "Of certificate and key, one is missing", "both or none", "--tls-cert FILE --tls-key FILE")
        for host in (self.host, self.desk_host):
            _check(
                self.insecure or bool(self.tls_cert) or host in _LOOPBACK,
                f"Keys and answers would cross the network at {host} in plain text",
                "a loopback address, or TLS",
                "--tls-cert FILE --tls-key FILE, or --insecure if a proxy ends TLS in front of it",
            )
        size = max(len(os.fsencode(one)) for one in (self.ask_socket, self.metrics_socket))
        _check(
            size <= _LONGEST_SOCKET,
            f"The path of a socket of the server has {size} bytes",
            f"at most {_LONGEST_SOCKET}",
            "--state with a shorter path",
        )

    @property
    def run(self) -> Path:
        """The keeper's folder: the sockets."""
        return Path(self.state) / "run"

    @property
    def front(self) -> Path:
        """The front's folder."""
        return Path(self.state) / "front"

    @property
    def metrics_socket(self) -> Path:
        """The front's socket for the desk: GET /metrics, which analysts cannot reach."""
        return self.front / "metrics.sock"

    @property
    def ask_socket(self) -> Path:
        """The keeper's socket for the front."""
        return self.run / "ask.sock"

    @property
    def desk_socket(self) -> Path:
        """The keeper's socket for the desk."""
        return self.run / "desk.sock"

    @property
    def uploads(self) -> Path:
        """The quarantine: what the custodian uploaded, and did not add yet."""
        return Path(self.state) / "desk" / "uploads"

    @property
    def corpora(self) -> Path:
        """The synthetic corpora that were made at the desk, in a folder for each vault."""
        return Path(self.state) / "desk" / "corpora"

    @property
    def accounts(self) -> Path | str:
        """The database of keys and meters: a file, or a URL if several servers share it."""
        return find_accounts(Path(self.state))

    @property
    def audit_log(self) -> Path:
        """The audit log."""
        return Path(self.state) / AUDIT_LOG

    @property
    def tls(self) -> dict[str, str]:
        """The certificate and its key, for a listener; none if TLS ends elsewhere."""
        return {"ssl_certfile": self.tls_cert, "ssl_keyfile": self.tls_key} if self.tls_cert else {}

    @property
    def url(self) -> str:
        """The address for analysts' tools."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{'https' if self.tls_cert else 'http'}://{host}:{self.port}/v1"

    @property
    def desk_url(self) -> str:
        """The address of the desk. On the loopback by its name: a cookie of `localhost` is not sent to 127.0.0.1."""
        host = "localhost" if self.desk_host in _LOOPBACK else self.desk_host
        host = f"[{host}]" if ":" in host else host
        return f"{'https' if self.tls_cert else 'http'}://{host}:{self.desk_port}"

    def to_json(self) -> str:
        """Return the configuration as text, for another process."""
        return _FORM.dump_json(self).decode()

    @classmethod
    def from_json(cls, text: str) -> "ServeConfig":
        """Return the configuration that `to_json` wrote."""
        return _FORM.validate_json(text)

    @classmethod
    def from_environment(cls) -> "ServeConfig":
        """Return the configuration that the supervisor passed on.

        Raises:
            UsageError: if there is none.
        """
        text = os.environ.get(VARIABLE, "")
        _check(bool(text), f"{VARIABLE} is empty", "a configuration", "discreet serve VAULT")
        return cls.from_json(text)


_FORM = TypeAdapter(ServeConfig)


def read_serve_config(file: Path | None, given: Mapping[str, Any]) -> ServeConfig:
    """Return the configuration of serve.toml, with what the command line gives in place of it.

    Args:
        file: serve.toml; None if there is none.
        given: fields of `ServeConfig`; those that are None are not given.

    Raises:
        UsageError: if the file cannot be read, or has an unknown field or a value out of range.
    """
    found = _read(file) if file is not None else {}
    presets = tuple(_preset(name, one) for name, one in _table(found.pop("presets", {}), "presets").items())
    oidc, desk_oidc = (
        OidcConfig.read(_table(found.pop(name), name), name) if name in found else None
        for name in ("oidc", "desk_oidc")
    )
    found |= {name: value for name, value in given.items() if value is not None}
    vaults = _vaults(found.pop("vaults", ()))
    kinds = get_type_hints(ServeConfig)
    strange = sorted(found.keys() - kinds.keys())
    _check(not strange, f"serve.toml has {', '.join(strange)}", f"{', '.join(sorted(kinds))}", "serve.toml")
    _check(bool(vaults), "No vault is named", "at least one vault", "discreet serve VAULT")
    found |= {name: tuple(_list(found[name])) for name in ("models", "follow_ups") if name in found}
    for name, value in found.items():
        try:
            TypeAdapter(kinds[name]).validate_python(value, strict=True)
        except ValidationError as error:
            why = error.errors(include_url=False)[0]["msg"]
            raise UsageError(f"{name} is {value!r}. {why}. Correct it: serve.toml") from None
    state = os.path.abspath(find_state(Path(vaults[0].path), found.pop("state", None)))
    return ServeConfig(vaults, state, presets=presets, oidc=oidc, desk_oidc=desk_oidc, **found)


def _read(file: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"{file} cannot be read: {error.strerror}. Name a file: --config serve.toml") from None
    except ValueError:
        raise UsageError(f"{file} is no TOML. Correct it, or leave --config out.") from None


def _vaults(given: object) -> tuple[ServedVault, ...]:
    if isinstance(given, Mapping):
        named = list(given.items())
    else:
        named = [(Path(os.path.abspath(str(one))).name, one) for one in _list(given)]
    return tuple(ServedVault(str(name), os.path.abspath(str(path))) for name, path in named)


def _preset(name: str, given: object) -> PresetConfig:
    options = dict(_table(given, f"presets.{name}"))
    algorithm = options.pop("algorithm", None)
    text = isinstance(algorithm, str)
    _check(text, f"The preset {name!r} names no algorithm", "a name", f'[presets.{name}] algorithm = "consensus"')
    vaults = tuple(str(one) for one in _list(options.pop("vaults", ())))
    return PresetConfig(name, str(algorithm), options, vaults)


def _table(given: object, name: str) -> Mapping[str, Any]:
    _check(isinstance(given, Mapping), f"{name} in serve.toml is no table", f"a table [{name}]", "serve.toml")
    return given if isinstance(given, Mapping) else {}


def _list(given: object) -> list[Any]:
    _check(isinstance(given, list | tuple), "serve.toml has no list where one belongs", "a list", 'vaults = ["VAULT"]')
    return list(given) if isinstance(given, list | tuple) else []


def _check(holds: bool, wrong: str, expected: str, mend: str) -> None:
    if not holds:
        raise UsageError(f"{wrong}; expected: {expected}. Correct it: {mend}")

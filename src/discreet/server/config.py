"""How a server is set up: from serve.toml and the options of `discreet serve`. It holds nothing private."""

import os
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, get_type_hints

from pydantic import TypeAdapter, ValidationError

from discreet.errors import UsageError
from discreet.server.oidc_config import OidcConfig
from discreet.server.shared_accounts import find_accounts

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
            "all" is among them (`keeper.presets.USUAL`).
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
    oidc = OidcConfig.read(_table(found.pop("oidc"), "oidc")) if "oidc" in found else None
    desk_oidc = OidcConfig.read_desk(_table(found.pop("desk_oidc"), "desk_oidc")) if "desk_oidc" in found else None
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
    state = os.path.abspath(found.pop("state", None) or f"{Path(vaults[0].path)}.server")
    return ServeConfig(vaults, state, presets=presets, oidc=oidc, desk_oidc=desk_oidc, **found)


def find_state(vault: Path, state: Path | None = None) -> Path:
    """Return the server's folder of a vault: beside it, unless another one is named."""
    return state if state is not None else Path(f"{Path(os.path.abspath(vault))}.server")


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

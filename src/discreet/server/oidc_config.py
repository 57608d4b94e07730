"""The tables [oidc] and [desk_oidc] of serve.toml: who may sign in at a provider of identities.

[oidc] is for the analysts' pages: a group of people has a key. [desk_oidc] is for the desk: some groups are custodians.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Self
from urllib.parse import urlsplit

from discreet.errors import UsageError

_LOOPBACK = ("127.0.0.1", "::1", "localhost")
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
    def read(cls, given: Mapping[str, Any]) -> Self:
        """Return the configuration of the table [oidc].

        Raises:
            UsageError: if a field is missing, unknown, or of another type.
        """
        fields = dict(given)
        keys = fields.pop("keys", None)
        if not isinstance(keys, Mapping) or not _are_texts(keys.values()) or not _fit(fields):
            raise UsageError(f"[oidc] has other fields; expected: {_KEYS}. Correct it: serve.toml")
        return cls(keys=tuple((str(value), str(key)) for value, key in keys.items()), **fields)

    @classmethod
    def read_desk(cls, given: Mapping[str, Any]) -> Self:
        """Return the configuration of the table [desk_oidc].

        Raises:
            UsageError: if a field is missing, unknown, or of another type.
        """
        fields = dict(given)
        groups = fields.pop("custodians", None)
        if not isinstance(groups, list) or not _are_texts(groups) or not _fit(fields):
            raise UsageError(f"[desk_oidc] has other fields; expected: {_CUSTODIANS}. Correct it: serve.toml")
        return cls(keys=tuple((group, CUSTODIAN) for group in groups), table="[desk_oidc]", **fields)

    def key_of(self, values: list[str]) -> str | None:
        """Return the name of the key for a person with these values of the claim; None if there is none."""
        return next((key for value, key in self.keys if value in values), None)


def _fit(fields: Mapping[str, Any]) -> bool:
    texts = {"issuer", "client_id", "secret_file", "claim"}
    return {"issuer", "client_id"} <= fields.keys() <= texts and _are_texts(fields.values())


def _are_texts(values: Iterable[object]) -> bool:
    return all(isinstance(value, str) for value in values)

"""The table [oidc] of serve.toml: who may sign in to the analysts' pages without a key at hand."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self
from urllib.parse import urlsplit

from discreet.errors import UsageError

_LOOPBACK = ("127.0.0.1", "::1", "localhost")
_EXAMPLE = '[oidc] issuer = "https://id.example.org", client_id = "discreet", keys = {radiology = "ana"}'


@dataclass(frozen=True)
class OidcConfig:
    """A provider of identities (OpenID Connect), and which key each group of people gets.

    Attributes:
        issuer: its address, as in the field "iss" of its tokens.
        client_id: as which this server is registered there.
        secret_file: the file with the client's secret; "" for a client without one.
        claim: the field of the token that names a person's groups, or another one, such as "email".
        keys: a value of that field, and the name of the key for it. The first one that a person has counts.
    """

    issuer: str
    client_id: str
    keys: tuple[tuple[str, str], ...]
    secret_file: str = ""
    claim: str = "groups"

    def __post_init__(self) -> None:
        address = urlsplit(self.issuer)
        if address.scheme != "https" and not (address.scheme == "http" and address.hostname in _LOOPBACK):
            raise UsageError(
                f"The issuer of [oidc] is {self.issuer!r}; expected: an address with https. Correct it: serve.toml"
            )
        if not self.client_id or not self.keys:
            raise UsageError(f"[oidc] names no client_id or no keys; expected: {_EXAMPLE}. Correct it: serve.toml")

    @classmethod
    def read(cls, given: Mapping[str, Any]) -> Self:
        """Return the configuration of a table.

        Raises:
            UsageError: if a field is missing, unknown, or of another type.
        """
        fields = dict(given)
        keys = fields.pop("keys", None)
        texts = {"issuer", "client_id", "secret_file", "claim"}
        fits = isinstance(keys, Mapping) and all(isinstance(key, str) for key in keys.values())
        if not fits or not {"issuer", "client_id"} <= fields.keys() <= texts or not _are_texts(fields):
            raise UsageError(f"[oidc] has other fields; expected: {_EXAMPLE}. Correct it: serve.toml")
        return cls(keys=tuple((str(value), str(key)) for value, key in dict(keys or {}).items()), **fields)

    def key_of(self, values: list[str]) -> str | None:
        """Return the name of the key for a person with these values of the claim; None if there is none."""
        return next((key for value, key in self.keys if value in values), None)


def _are_texts(fields: Mapping[str, Any]) -> bool:
    return all(isinstance(value, str) for value in fields.values())

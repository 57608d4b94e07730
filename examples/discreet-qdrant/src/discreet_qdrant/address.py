"""The address of a Qdrant server in a vault's settings. Other users may read the settings, so it holds no key."""

import re
from dataclasses import dataclass, field

from discreet.errors import UsageError

ENCRYPTED = "qdrants://"
PORT = 6333
MOST_CHUNKS = 2**20
_FORM = re.compile(r"qdrants?://(\[[0-9a-f:.]+\]|[\w.-]+)(?::([0-9]{1,5}))?/?(?:\?chunks=([0-9]{1,7}))?", re.I | re.A)
_EXPECTED = "Expected: qdrant://HOST:PORT, or qdrants://HOST:PORT for a server with TLS."


@dataclass(frozen=True)
class QdrantAddress:
    """Where a server is, and how a vault uses it.

    Attributes:
        host: the host; an IPv6 address has brackets.
        port: the port of its REST interface.
        encrypted: whether the connection uses TLS.
        chunks: the public cap of chunks of a unit; 0 if there is none.
    """

    host: str = field(repr=False)
    port: int
    encrypted: bool
    chunks: int

    @property
    def url(self) -> str:
        """The URL of the server's REST interface."""
        return f"http{'s' * self.encrypted}://{self.host}:{self.port}"

    @property
    def is_local(self) -> bool:
        """Whether the host is this machine."""
        return self.host.lower() in ("localhost", "[::1]") or bool(re.fullmatch(r"127(\.[0-9]{1,3}){3}", self.host))


def read_address(text: str) -> QdrantAddress:
    """Return the parts of an address.

    Raises:
        UsageError: if the address is invalid, or has a key or a password. No error shows it.
    """
    found = _FORM.fullmatch(text)
    if "@" in text or "key=" in text.lower():
        raise UsageError(
            "The store's address contains a key or a name, which the vault would store. Remove it from the address, "
            "and set the key in QDRANT_API_KEY."
        )
    if found is None:
        raise UsageError(f"The store's address is invalid. {_EXPECTED} A cap of chunks may follow: ?chunks=200.")
    port, chunks = int(found[2] or PORT), int(found[3] or 0)
    if not 0 < port < 2**16:
        raise UsageError(f"The port of the store's address is {port}. {_EXPECTED}")
    if found[3] and not 0 < chunks <= MOST_CHUNKS:
        raise UsageError(f"The cap of chunks is {chunks:,}. Expected: a number from 1 to {MOST_CHUNKS:,}: ?chunks=200.")
    return QdrantAddress(found[1], port, text.lower().startswith(ENCRYPTED), chunks)

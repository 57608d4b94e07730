"""The text of a key: `dsc_`, 8 public characters, 256 random bits, and a checksum.

    dsc_ Ab3xYz09 <43 characters> <6 characters>

The checksum tells a mistyped key from an unknown one. The command line uses it. The server does not: over HTTP, every
key that is not valid gets the same answer.
"""

import hashlib
import hmac
import secrets
import string
import zlib

PREFIX = "dsc_"
ALPHABET = string.digits + string.ascii_uppercase + string.ascii_lowercase
PUBLIC, RANDOM, CHECK = 8, 43, 6
"""How many characters each part has. 43 characters of 62 hold 256 bits, and 6 hold the 32 bits of the checksum."""
LENGTH = len(PREFIX) + PUBLIC + RANDOM + CHECK
_BITS = 256
_NO_DIGEST = "0" * 64


def make_public() -> str:
    """Return 8 random characters: the id of a key."""
    return "".join(secrets.choice(ALPHABET) for _ in range(PUBLIC))


def make_secret(public: str) -> str:
    """Return a new key with these public characters."""
    body = PREFIX + public + _spelled(secrets.randbits(_BITS), RANDOM)
    return body + _checksum(body)


def digest_of(secret: str) -> str:
    """Return the SHA-256 of a key in hexadecimal digits. A key has 256 random bits, so it needs no slower hash."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


def public_of(secret: str) -> str:
    """Return the characters at the position of the public ones, whether the rest is a key or not."""
    # PostgreSQL has no text with a NUL: it would be an error of the database. No key has a minus sign either.
    return secret[len(PREFIX) : len(PREFIX) + PUBLIC].replace("\0", "-")


def matches(secret: str, digest: str | None) -> bool:
    """Return whether a key has this digest. The time does not depend on where they differ, or on whether one exists."""
    same = hmac.compare_digest(digest_of(secret), digest or _NO_DIGEST)
    return same and digest is not None


def is_mistyped(secret: str) -> bool:
    """Return whether a text is no key at all: its length, its characters or its checksum are wrong."""
    if len(secret) != LENGTH or not secret.startswith(PREFIX):
        return True
    body, check = secret[:-CHECK], secret[-CHECK:]
    return not set(secret[len(PREFIX) :]) <= set(ALPHABET) or check != _checksum(body)


def _checksum(body: str) -> str:
    return _spelled(zlib.crc32(body.encode("ascii")), CHECK)


def _spelled(number: int, length: int) -> str:
    """Return a number in base 62, padded with zeros."""
    digits = ""
    for _ in range(length):
        number, digit = divmod(number, len(ALPHABET))
        digits = ALPHABET[digit] + digits
    return digits

"""The texts of keys: a secret, and the caps as a custodian writes them, on the command line and at the desk.

A secret is `dsc_`, 8 public characters, 256 random bits, and a checksum.

    dsc_ Ab3xYz09 <43 characters> <6 characters>

The checksum tells a mistyped key from an unknown one. The command line uses it. The server does not: over HTTP, every
key that is not valid gets the same answer.
"""

import hashlib
import hmac
import re
import secrets
import string
import zlib
from datetime import UTC, datetime, timedelta

from discreet.errors import UsageError

PREFIX = "dsc_"
ALPHABET = string.digits + string.ascii_uppercase + string.ascii_lowercase
PUBLIC, RANDOM, CHECK = 8, 43, 6
"""How many characters each part has. 43 characters of 62 hold 256 bits, and 6 hold the 32 bits of the checksum."""
LENGTH = len(PREFIX) + PUBLIC + RANDOM + CHECK
_BITS = 256
_NO_DIGEST = "0" * 64
_SECONDS = {"s": 1, "sec": 1, "min": 60, "h": 3600, "hour": 3600, "d": 86_400, "day": 86_400}
_RATE = re.compile(r"(\d{1,9})/(\d{0,6})(" + "|".join(_SECONDS) + ")")
_PERIOD = re.compile(r"(\d{1,6})(h|d|w)")
_HOURS = {"h": 1, "d": 24, "w": 168}


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


def can_match(pattern: str, vault: str) -> bool:
    """Return whether a pattern can match a model of a vault: "VAULT" or "VAULT:NAME", with any name.

    Names of presets are the server's, so only what stands before the first wildcard is compared.
    """
    start = re.split(r"[*?\[]", pattern, maxsplit=1)[0]
    if start == pattern:
        return pattern == vault or pattern.startswith(f"{vault}:")
    return f"{vault}:".startswith(start) or start.startswith(f"{vault}:")

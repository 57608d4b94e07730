"""Keys: their secrets, who may ask what, the caps of the custodian, and the requests of analysts for more.

A secret is `dsc_`, 8 public characters, 256 random bits, and a checksum.

    dsc_ Ab3xYz09 <43 characters> <6 characters>

The checksum tells a mistyped key from an unknown one. The command line uses it. The server does not: over HTTP, every
key that is not valid gets the same answer.
"""

import hashlib
import hmac
import math
import re
import secrets
import string
import zlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from fnmatch import fnmatchcase
from functools import cached_property
from typing import Any

from discreet.errors import UsageError
from discreet.privacy.accounting import Budget
from discreet.system.words import how_spent_is_read

CAP_IS_POLICY = (
    "A cap is a policy of the custodian. The guarantee is the grant of each individual in the vault's ledger."
)
"""The sentence that stands beside each cap that is shown."""
METER_READS = how_spent_is_read("the key", "cap")
"""The sentence that stands beside what is spent of a cap."""
Columns = dict[str, Any]
"""Fields of a key as plain data, as the rows of the log have them: moments in seconds, lists in place of tuples."""
_LONGEST_NAME, _LONGEST_TASK = 64, 200
PENDING, APPROVED, DENIED = "pending", "approved", "denied"
LONGEST_REASON = 500
MOST_PENDING = 5
"""How many requests of one key may wait for an answer."""
LARGEST = 1e6


@dataclass(frozen=True, kw_only=True)
class Key:
    """An analyst's key, without its secret.

    Attributes:
        id: its 8 public characters.
        name: what the custodian calls it.
        vaults: the vaults that it may see.
        models: patterns of the models that it may ask, such as "hospital" and "hospital:*".
        epsilon: the epsilon of its cap: its questions may cause at most this loss to any one unit.
        delta: the delta of its cap.
        questions: how many paid questions it may ask; None for no limit.
        per_question: the largest epsilon of one question; None for no limit.
        rate: a count and seconds: so many questions within so many seconds; None for no limit.
        expires: from when on it is not valid, ISO 8601; None for never.
        reserved: whether its cap is kept free of all other keys' questions.
        footer: whether each answer ends with a line about its price.
        revoked: whether it was revoked, for good.
        created: when it was issued, ISO 8601.
        failures: the part of `delta` that failure probabilities may use up.
        where: tests of declared fields: each of its questions is asked among the units that pass them.
        tasks: how messages begin that its clients send by themselves; they cost nothing.
        follow_ups: whether a last message is rewritten with the earlier ones, if the client does not say.
    """

    id: str
    name: str
    vaults: tuple[str, ...]
    models: tuple[str, ...]
    epsilon: float
    delta: float
    questions: int | None = None
    per_question: float | None = None
    rate: tuple[int, float] | None = None
    expires: str | None = None
    reserved: bool
    footer: bool
    revoked: bool
    created: str
    failures: float = 0.0
    where: tuple[str, ...] = ()
    tasks: tuple[str, ...] = ()
    follow_ups: bool = False

    @cached_property
    def budget(self) -> Budget:
        """The cap as a budget."""
        return Budget(self.epsilon, self.delta, self.failures)

    def allows(self, model: str) -> bool:
        """Return whether the key may ask a model: its vault is one of the key's, and a pattern matches."""
        return model.split(":", 1)[0] in self.vaults and any(fnmatchcase(model, one) for one in self.models)

    def is_valid(self, now: float) -> bool:
        """Return whether the key is neither revoked nor expired."""
        expires = None if self.expires is None else datetime.fromisoformat(self.expires)
        return not self.revoked and (expires is None or now < expires.timestamp())


@dataclass(frozen=True)
class Limits:
    """The caps of a key that can be changed. None leaves a value unchanged when a key is extended.

    Attributes:
        epsilon, questions, per_question, rate, expires, models, tasks, follow_ups: see `Key`.
    """

    epsilon: float | None = None
    questions: int | None = None
    per_question: float | None = None
    rate: tuple[int, float] | None = None
    expires: datetime | None = None
    models: Sequence[str] | None = None
    tasks: Sequence[str] | None = None
    follow_ups: bool | None = None

    def check(self) -> None:
        """Refuse a value out of range.

        Raises:
            UsageError: if there is one.
        """
        for name, value in (("epsilon", self.epsilon), ("per-question", self.per_question)):
            if value is not None and not (value > 0 and math.isfinite(value)):
                raise UsageError(f"--{name} is {value:g}. Give a finite number above 0.")
        if self.questions is not None and not 0 < self.questions < 2**31:
            raise UsageError(f"--questions is {self.questions}. Give a whole number from 1 on.")
        if self.rate is not None and not (0 < self.rate[0] < 2**31 and 0 < self.rate[1] < math.inf):
            raise UsageError("--rate is out of range. Give a count and a unit of time: 6/min.")
        if any(not 8 <= len(one.strip()) <= _LONGEST_TASK for one in self.tasks or ()):
            raise UsageError(f"A beginning of a task has 8 to {_LONGEST_TASK} characters, so that no question has it.")
        if self.expires is not None and self.expires.tzinfo is None:
            raise UsageError("The date of expiry has no time zone. Give one: datetime.now(UTC) + timedelta(days=90).")

    def columns(self) -> Columns:
        """Return the values that are given, as plain data."""
        expires = None if self.expires is None else self.expires.timestamp()
        lists = {name: None if (found := getattr(self, name)) is None else list(found) for name in ("models", "tasks")}
        given = vars(self) | {"expires": expires} | lists
        return {name: value for name, value in given.items() if value is not None}


def fields_of(columns: Columns) -> Columns:
    """Return the values of a key's fields from plain data."""
    return {
        name: value if value is None else _READ.get(name, lambda same: same)(value) for name, value in columns.items()
    }


def check_name(name: str, keys: Iterable[Key]) -> None:
    """Refuse a name that cannot be shown on a line, or that a valid key has.

    Raises:
        UsageError: if it is one of these.
    """
    if not (0 < len(name) <= _LONGEST_NAME and name.isprintable() and name.strip() == name):
        raise UsageError(f"The name of a key has 1 to {_LONGEST_NAME} printable characters. Choose another one.")
    same = next((key for key in keys if key.name == name and not key.revoked), None)
    if same is not None:
        raise UsageError(
            f"There is a key called '{name}' already: {same.id}. Choose another name, or revoke that key: "
            f"discreet key revoke VAULT {same.id}"
        )


def stamp(seconds: float) -> str:
    """Return a time in UTC as text, ISO 8601."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")


_READ: dict[str, Callable[[Any], Any]] = {
    **dict.fromkeys(("vaults", "models", "rate", "where", "tasks"), tuple),
    **dict.fromkeys(("expires", "created"), stamp),
}


@dataclass(frozen=True)
class BudgetRequest:
    """A request for more budget.

    Attributes:
        id: the number of the request.
        key: the id of the key that asks.
        epsilon: how much more epsilon is asked for.
        reason: why it is asked for, in the analyst's words: not to be trusted.
        state: "pending", "approved" or "denied".
        made: the moment it was made, ISO 8601.
        decided: when it was decided; None while it is pending.
    """

    id: int
    key: str
    epsilon: float
    reason: str
    state: str
    made: str
    decided: str | None


def check_request(epsilon: float, reason: str, pending: int) -> str:
    """Return the reason of a request with spaces in place of control characters.

    Args:
        epsilon: how much more is asked for.
        reason: why, in the analyst's words.
        pending: how many requests of the key wait for an answer.

    Raises:
        UsageError: if epsilon or the reason is out of range, or too many requests of the key are pending.
    """
    text = " ".join("".join(c if c.isprintable() else " " for c in reason).split())
    if not 0 < epsilon <= LARGEST:
        raise UsageError(f"The epsilon of a request is a number above 0, at most {LARGEST:g}. Ask for less.")
    if not 0 < len(text) <= LONGEST_REASON:
        raise UsageError(f"The reason of a request has 1 to {LONGEST_REASON} characters. Shorten it.")
    if pending >= MOST_PENDING:
        raise UsageError(f"{MOST_PENDING} requests of this key are pending. Wait for the custodian.")
    return text


# --- the texts of keys: secrets, and caps as a custodian writes them -------------------------------------------------


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

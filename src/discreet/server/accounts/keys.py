"""Keys: who may ask what, and the caps of the custodian."""

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from typing import Any

from sqlalchemy import Connection, Row, bindparam, insert, select, update

from discreet.errors import UnknownName, UsageError
from discreet.privacy.accounting import Budget
from discreet.server.accounts.budgets import budget_of
from discreet.server.accounts.key_format import digest_of, make_public, make_secret, matches, public_of
from discreet.server.accounts.tables import KEYS

CAP_IS_POLICY = (
    "A cap is a policy of the custodian. The guarantee is the grant of each individual in the vault's ledger."
)
"""The sentence that stands beside each cap that is shown."""
_BY_ID = select(KEYS).where(KEYS.c.id == bindparam("key"))
_LONGEST_NAME = 64
_LONGEST_SECRET = 256


@dataclass(frozen=True)
class Key:
    """An analyst's key, without its secret.

    Attributes:
        id: its 8 public characters.
        name: what the custodian calls it.
        vaults: the vaults that it may see.
        models: patterns of the models that it may ask, such as "hospital" and "hospital:*".
        epsilon, delta: its cap: its questions may cause at most this loss to any one unit.
        questions: how many paid questions it may ask; None for no limit.
        per_question: the largest epsilon of one question; None for no limit.
        rate: (count, seconds): so many questions within so many seconds; None for no limit.
        expires: from when on it is not valid; None for never.
        reserved: whether its cap is kept free of all other keys' questions.
        footer: whether each answer ends with a line about its price.
        revoked: whether it was revoked, for good.
        created: when it was issued.
        failures: the part of `delta` that failure probabilities may use up.
    """

    id: str
    name: str
    vaults: tuple[str, ...]
    models: tuple[str, ...]
    epsilon: float
    delta: float
    questions: int | None
    per_question: float | None
    rate: tuple[int, float] | None
    expires: datetime | None
    reserved: bool
    footer: bool
    revoked: bool
    created: datetime
    failures: float = 0.0

    @property
    def budget(self) -> Budget:
        """The cap as a budget."""
        return budget_of(self.epsilon, self.delta, self.failures)

    def allows(self, model: str) -> bool:
        """Return whether the key may ask a model: its vault is one of the key's, and a pattern matches."""
        return model.split(":", 1)[0] in self.vaults and any(fnmatchcase(model, one) for one in self.models)

    def is_valid(self, now: float) -> bool:
        """Return whether the key is neither revoked nor expired."""
        return not self.revoked and (self.expires is None or now < self.expires.timestamp())

    def describe(self) -> dict[str, Any]:
        """Return the key as plain data."""
        return {
            "id": self.id,
            "name": self.name,
            "vaults": list(self.vaults),
            "models": list(self.models),
            "epsilon": self.epsilon,
            "delta": self.delta,
            "questions": self.questions,
            "per_question": self.per_question,
            "rate": list(self.rate) if self.rate else None,
            "expires": self.expires.isoformat() if self.expires else None,
            "reserved": self.reserved,
            "footer": self.footer,
            "revoked": self.revoked,
            "created": self.created.isoformat(),
        }


@dataclass(frozen=True)
class Limits:
    """The caps of a key that can be changed. None leaves a value unchanged when a key is extended.

    Attributes:
        epsilon, questions, per_question, rate, expires, models: see `Key`.
    """

    epsilon: float | None = None
    questions: int | None = None
    per_question: float | None = None
    rate: tuple[int, float] | None = None
    expires: datetime | None = None
    models: Sequence[str] | None = None

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
        if self.expires is not None and self.expires.tzinfo is None:
            raise UsageError("The date of expiry has no time zone. Give one: datetime.now(UTC) + timedelta(days=90).")

    def columns(self) -> dict[str, Any]:
        """Return the values that are given, by column."""
        given: dict[str, Any] = {
            "epsilon": self.epsilon,
            "questions": self.questions,
            "per_question": self.per_question,
            "rate_count": self.rate[0] if self.rate else None,
            "rate_seconds": self.rate[1] if self.rate else None,
            "expires": self.expires.timestamp() if self.expires else None,
            "models": json.dumps(list(self.models)) if self.models is not None else None,
        }
        return {name: value for name, value in given.items() if value is not None}


def check_name(connection: Connection, name: str) -> None:
    """Refuse a name that cannot be shown on a line, or that a valid key has.

    Raises:
        UsageError: if it is one of these.
    """
    if not (0 < len(name) <= _LONGEST_NAME and name.isprintable() and name.strip() == name):
        raise UsageError(f"The name of a key has 1 to {_LONGEST_NAME} printable characters. Choose another one.")
    same = select(KEYS.c.id).where(KEYS.c.name == name, KEYS.c.revoked.is_(False))
    if (found := connection.execute(same).scalar()) is not None:
        raise UsageError(
            f"There is a key called '{name}' already: {found}. Choose another name, or revoke that key: "
            f"discreet key revoke VAULT {found}"
        )


def add_key(connection: Connection, values: dict[str, Any], now: float) -> tuple[str, str]:
    """Insert a key. Returns its id and its secret."""
    public = make_public()
    while connection.execute(select(KEYS.c.id).where(KEYS.c.id == public)).scalar() is not None:
        public = make_public()
    secret = make_secret(public)
    row = values | {"id": public, "digest": digest_of(secret), "revoked": False, "created": now}
    connection.execute(insert(KEYS).values(row))
    return public, secret


def renew_secret(connection: Connection, key: str) -> str:
    """Give a key another secret; the old one is not valid any more. Returns the new one."""
    secret = make_secret(key)
    connection.execute(update(KEYS).where(KEYS.c.id == key).values(digest=digest_of(secret)))
    return secret


def find_secret(connection: Connection, secret: str, now: float) -> Key | None:
    """Return the key with this secret; None for an unknown, an expired and a revoked one alike."""
    row = connection.execute(_BY_ID, {"key": public_of(secret)}).one_or_none()
    same = matches(secret[:_LONGEST_SECRET], row.digest if row is not None else None)
    if row is None or not same:
        return None
    key = key_of(row)
    return key if key.is_valid(now) else None


def read_key(connection: Connection, key: str) -> Key | None:
    """Return the key with this id; None if there is none."""
    row = connection.execute(_BY_ID, {"key": key}).one_or_none()
    return None if row is None else key_of(row)


def named_key(connection: Connection, name: str) -> Key:
    """Return the key with this id or this name; of several with the name, the one that is not revoked.

    Raises:
        UnknownName: if there is none.
    """
    keys = all_keys(connection)
    found = [key for key in keys if name == key.id] or [key for key in keys if name == key.name]
    if not found:
        raise UnknownName("key", name, {one for key in keys for one in (key.id, key.name)} or {"(no key was issued)"})
    return min(found, key=lambda key: (key.revoked, -key.created.timestamp()))


def all_keys(connection: Connection) -> list[Key]:
    """Return all keys, the oldest first."""
    return [key_of(row) for row in connection.execute(select(KEYS).order_by(KEYS.c.created, KEYS.c.id))]


def key_of(row: Row[Any]) -> Key:
    """Return the key in a row."""
    return Key(
        id=row.id,
        name=row.name,
        vaults=tuple(json.loads(row.vaults)),
        models=tuple(json.loads(row.models)),
        epsilon=row.epsilon,
        delta=row.delta,
        questions=row.questions,
        per_question=row.per_question,
        rate=(row.rate_count, row.rate_seconds) if row.rate_count is not None else None,
        expires=None if row.expires is None else moment(row.expires),
        reserved=bool(row.reserved),
        footer=bool(row.footer),
        revoked=bool(row.revoked),
        created=moment(row.created),
        failures=row.failures,
    )


def moment(seconds: float) -> datetime:
    """Return a time in UTC."""
    return datetime.fromtimestamp(seconds, UTC)

"""Keys: who may ask what, the caps of the custodian, and the requests of analysts for more."""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from functools import cached_property
from typing import Any

from discreet.errors import UsageError
from discreet.privacy.accounting import Budget

CAP_IS_POLICY = (
    "A cap is a policy of the custodian. The guarantee is the grant of each individual in the vault's ledger."
)
"""The sentence that stands beside each cap that is shown."""
METER_READS = (
    "What is spent is read of all questions of the key together, at one order that was fixed with its cap: after one "
    "question it is more than the receipt, after many far less than the sum of the receipts."
)
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

"""How `discreet key` shows keys and requests."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.markup import escape
from rich.table import Table

from discreet.cli.output import out, say
from discreet.server.accounts import CAP_IS_POLICY, Accounts, BudgetRequest, Key
from discreet.server.accounts.grants import MeterShown
from discreet.server.accounts.keys import METER_READS
from discreet.system.plain import show_as
from discreet.system.words import minute


@dataclass(frozen=True, kw_only=True)
class KeyWithMeter(Key):
    """A key, and what it has spent.

    Attributes:
        meter: how its spending is counted.
        note: what a cap is, and is not.
    """

    meter: MeterShown
    note: str


@dataclass(frozen=True, kw_only=True)
class KeyWithSecret(KeyWithMeter):
    """A key with its secret.

    Attributes:
        key: the key itself: it is shown once.
    """

    key: str


@dataclass(frozen=True)
class KeyList:
    """All keys.

    Attributes:
        keys: the keys.
    """

    keys: list[KeyWithMeter]


@dataclass(frozen=True, kw_only=True)
class NamedRequest(BudgetRequest):
    """A request for more budget, with the name of its key.

    Attributes:
        name: the name of the key.
    """

    name: str


@dataclass(frozen=True)
class RequestList:
    """The requests of analysts for more budget.

    Attributes:
        requests: the requests, the oldest first.
    """

    requests: list[NamedRequest]


@dataclass(frozen=True)
class Approval:
    """A request that was approved.

    Attributes:
        request: the request that was decided.
        key: the key after the decision.
    """

    request: BudgetRequest
    key: KeyWithMeter


@dataclass(frozen=True)
class Denial:
    """A request that was denied.

    Attributes:
        request: the request that was decided.
    """

    request: BudgetRequest


@dataclass(frozen=True)
class CopyAccepted:
    """An older copy of the accounts that was accepted.

    Attributes:
        changes: the number of changes of the copy.
    """

    changes: int


def with_meter(key: Key, accounts: Accounts) -> KeyWithMeter:
    """Return a key and its odometer as they leave."""
    return show_as(KeyWithMeter, key, meter=accounts.odometer(key.id).shown(), note=CAP_IS_POLICY)


def with_secret(key: Key, accounts: Accounts, secret: str) -> KeyWithSecret:
    """Return a key, its odometer and its secret as they leave."""
    return show_as(KeyWithSecret, with_meter(key, accounts), key=secret)


def say_policy() -> None:
    """Print what a cap is and is not."""
    out.print(CAP_IS_POLICY)


def print_secret(secret: str) -> None:
    """Print a secret, alone on a line."""
    out.print("The secret, which is shown once and not stored:")
    out.print(f"  {secret}", markup=False)


def print_key(key: Key, accounts: Accounts) -> None:
    """Print a key, its caps and its odometer."""
    say("key.txt", key=key, meter=accounts.odometer(key.id), reads=METER_READS, policy=CAP_IS_POLICY)


def print_keys(accounts: Accounts) -> None:
    """Print all keys as a table."""
    keys = accounts.list_keys()
    if not keys:
        out.print("No key was issued.")
        return
    table = Table(box=None, pad_edge=False)
    for heading in ("id", "name", "cap", "spent", "left", "questions", "kind", "expires"):
        table.add_column(heading, no_wrap=heading == "id")
    for key in keys:
        meter = accounts.odometer(key.id)
        kind = "revoked" if key.revoked else "reserved" if key.reserved else "shared"
        expires = key.expires[:10] if key.expires else "never"
        questions = f"{meter.questions}" + (f" of {key.questions}" if key.questions is not None else "")
        numbers = f"{key.epsilon:g}", f"{meter.spent:.4g}", f"{meter.left:.4g}", questions
        table.add_row(key.id, escape(key.name), *numbers, kind, expires)
    out.print(table)
    say_policy()


def with_names(requests: Sequence[BudgetRequest], accounts: Accounts) -> RequestList:
    """Return requests as they leave, each with the name of its key."""
    names = _names(accounts)
    return RequestList([show_as(NamedRequest, one, name=names.get(one.key, "")) for one in requests])


def print_requests(requests: Sequence[BudgetRequest], accounts: Accounts, vault: Path) -> None:
    """Print requests as a table."""
    if not requests:
        out.print("No request is pending.")
        return
    table, names = Table("request", "key", "name", "epsilon", "made (UTC)", "state", "reason"), _names(accounts)
    for one in requests:
        name, time = escape(names.get(one.key, "")), minute(one.made)
        table.add_row(str(one.id), one.key, name, f"{one.epsilon:g}", time, one.state, escape(one.reason))
    out.print(table)
    out.print(f"To decide: discreet key approve {vault} REQUEST, or discreet key deny {vault} REQUEST", markup=False)


def print_request(request: BudgetRequest, key: Key) -> None:
    """Print what was decided, and the cap of the key."""
    out.print(
        f"Request {request.id} of {key.id} ({key.name}) for epsilon {request.epsilon:g} is {request.state}. "
        f"The cap is epsilon {key.epsilon:g}.",
        markup=False,
    )


def _names(accounts: Accounts) -> dict[str, str]:
    return {key.id: key.name for key in accounts.list_keys()}

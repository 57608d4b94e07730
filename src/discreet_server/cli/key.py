"""`discreet key`: keys of analysts, their caps, and their requests for more."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Table

from discreet.cli.app import Json, VaultPath, app
from discreet.cli.output import counted, err, explained, out, print_json, say
from discreet.config import VaultConfig, find_state, read_config
from discreet.errors import UsageError
from discreet.ledger.ledger import open_ledger
from discreet.planning.plan import bought
from discreet.planning.prices import usual_charge
from discreet.privacy.accounting import Budget, Spending
from discreet.questions.request import check_population
from discreet.system.plain import show_as
from discreet.system.words import minute, quoted
from discreet_server.accounts import CAP_IS_POLICY, Accounts, BudgetRequest, Key, Limits
from discreet_server.accounts.grants import MeterShown
from discreet_server.accounts.keys import (
    METER_READS,
    PREFIX,
    can_match,
    is_mistyped,
    parse_expiry,
    parse_models,
    parse_rate,
)
from discreet_server.audit_log import AuditLog
from discreet_server.config import AUDIT_LOG, find_accounts, share_accounts

# --- accounts and vaults ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class VaultOfKeys:
    """A vault as the server knows it.

    Attributes:
        name: the name of its folder.
        grant: what each unit was granted.
        typical: the charge of a usual question; None if the grant is too small for one.
        paid: whether its ledger has questions already.
        by_unit: whether single units pay.
        settings: its configuration.
    """

    name: str
    grant: Budget
    typical: Spending | None
    paid: bool
    by_unit: bool
    settings: VaultConfig


def open_accounts(vault: Path, state: Path | None, *, check_copy: bool = True) -> tuple[Accounts, AuditLog]:
    """Return the accounts and the audit log of a vault's server, which exist.

    Raises:
        UsageError: if no key was issued yet.
    """
    folder = find_state(vault, state)
    accounts = find_accounts(folder)
    if isinstance(accounts, Path) and not accounts.exists() and not accounts.with_suffix(".counter").exists():
        raise UsageError(
            f"There are no accounts in {folder}. Issue a key: discreet key issue {vault} NAME --epsilon 10; or name "
            "the state folder: --state DIR"
        )
    return Accounts(accounts, check_copy=check_copy), AuditLog(folder / AUDIT_LOG)


def make_accounts(vault: Path, state: Path | None) -> tuple[Accounts, AuditLog]:
    """Return the accounts and the audit log of a vault's server, which are made if there are none."""
    folder = find_state(vault, state)
    return Accounts(find_accounts(folder)), AuditLog(folder / AUDIT_LOG)


def served(vault: Path) -> VaultOfKeys:
    """Return what the server knows of a vault.

    Raises:
        NoSuchVault, LedgerError: if it is not there, or its ledger cannot be used.
    """
    settings = read_config(vault)
    ledger = open_ledger(vault, settings)
    grant = ledger.budget
    name, paid = vault.absolute().resolve().name, ledger.reached().questions > 0
    return VaultOfKeys(name, grant, usual_charge(settings.payment, grant), paid, settings.payment == "unit", settings)


# --- how keys and requests are shown ----------------------------------------------------------------------------------


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


# --- the commands -----------------------------------------------------------------------------------------------------


pass  # moved

_group = typer.Typer(no_args_is_help=True)
app.add_typer(_group, name="key")

State = Annotated[
    Path | None,
    typer.Option("--state", metavar="DIR", help="The server's state folder; VAULT.server if none is named."),
]
KeyName = Annotated[str, typer.Argument(metavar="KEY", help="A key's id or its name.")]
Number = Annotated[int, typer.Argument(metavar="REQUEST", help="The number of a request.")]
Epsilon = Annotated[float | None, typer.Option("--epsilon", help="What its questions may cost any one individual.")]
Questions = Annotated[int | None, typer.Option("--questions", help="How many paid questions it may ask.")]
PerQuestion = Annotated[float | None, typer.Option("--per-question", help="The largest epsilon of one question.")]
Rate = Annotated[str | None, typer.Option("--rate", metavar="COUNT/TIME", help="How often it may ask: 6/min.")]
Expires = Annotated[str | None, typer.Option("--expires", metavar="WHEN", help="When it ends: 90d, or 2027-01-31.")]
Tasks = Annotated[
    list[str] | None,
    typer.Option("--task", metavar="WORDS", help="How a message begins that a client sends by itself: it is free."),
]
FollowUps = Annotated[
    bool | None,
    typer.Option("--follow-ups/--no-follow-ups", help="Rewrite a last message with the earlier ones."),
]
Models = Annotated[
    str | None, typer.Option("--models", metavar="PATTERNS", help="What it may ask: hospital,hospital:triage.")
]


@_group.callback()
def key() -> None:
    """Issue, cap and revoke the keys of analysts, and decide on their requests."""


@_group.command("issue")
@explained
def issue(
    vault: VaultPath,
    name: Annotated[str, typer.Argument(metavar="NAME", help="What you call the key.")],
    epsilon: Annotated[float, typer.Option("--epsilon", help="What its questions may cost any one individual.")],
    also: Annotated[list[Path] | None, typer.Option("--also", metavar="VAULT", help="A further vault.")] = None,
    questions: Questions = None,
    per_question: PerQuestion = None,
    models: Models = None,
    expires: Expires = None,
    rate: Rate = None,
    reserved: Annotated[
        bool, typer.Option("--reserved/--shared", help="Keep the cap free of other keys' questions.")
    ] = False,
    keep: Annotated[
        float | None, typer.Option("--keep", metavar="EPSILON", help="Reserve so much for your own work in the vault.")
    ] = None,
    footer: Annotated[bool, typer.Option("--footer", help="End each answer with a line about its price.")] = False,
    where: Annotated[
        list[str] | None,
        typer.Option("--where", metavar="TEST", help="Bind it to a population: ward=3. Of statistics alone."),
    ] = None,
    task: Tasks = None,
    follow_ups: FollowUps = None,
    state: State = None,
    as_json: Json = False,
) -> None:
    """Issue a key. It is shown once, and only its hash is stored."""
    limits = _limits(epsilon, questions, per_question, rate, expires, models, task, follow_ups)
    limits.check()
    vaults = [served(one) for one in dict.fromkeys([vault, *(also or [])])]
    for one in vaults:
        check_population(where or (), one.settings)
    accounts, log = make_accounts(vault, state)
    for one in vaults:
        accounts.grant(one.name, one.grant, kept=keep, typical=one.typical)
    new_key, secret = accounts.issue(
        name,
        [one.name for one in vaults],
        limits,
        reserved=reserved,
        footer=footer,
        typical=vaults[0].typical,
        where=where or (),
    )
    bound = {"where": " and ".join(new_key.where)} if new_key.where else {}
    log.append(
        "custodian", "key-issue", new_key.id, name=new_key.name, epsilon=new_key.epsilon, reserved=reserved, **bound
    )
    if reserved and keep is None and any(one.paid for one in vaults):
        err.print(
            "[yellow]Note:[/] questions were paid in this vault before. Shares count from now on. If individuals have "
            "spent much already, reserve that for your own work: --keep EPSILON"
        )
    cap, grant = new_key.epsilon, vaults[0].grant.epsilon
    if len(vaults) == 1 and cap > grant:  # it limits nothing, and may be a typing error
        err.print(f"[yellow]Note:[/] the cap {cap:g} is above the grant {grant:g} of an individual, which ends first.")
    _note_no_model(new_key, vault)
    if as_json:
        print_json(with_secret(new_key, accounts, secret))
        return
    print_key(new_key, accounts)
    if vaults[0].by_unit:
        some = (counted(number, name) for name, number in bought(new_key.budget, vaults[0].grant).items())
        out.print(f"It buys {', or '.join(some)}, at their usual prices.", markup=False)
    print_secret(secret)


def _limits(
    epsilon: float | None,
    questions: int | None,
    per_question: float | None,
    rate: str | None,
    expires: str | None,
    models: str | None,
    tasks: list[str] | None,
    follow_ups: bool | None,
) -> Limits:
    when, named = parse_expiry(expires), parse_models(models)
    return Limits(epsilon, questions, per_question, parse_rate(rate), when, named, tasks or None, follow_ups)


def _note_no_model(made: Key, vault: Path) -> None:
    """Print a note on the patterns that can match no model of the key's vaults."""
    wrong = [one for one in made.models if not any(can_match(one, name) for name in made.vaults)]
    if wrong:
        right = quoted(",".join(f"{name},{name}:*" for name in made.vaults))
        err.print(
            f"[yellow]Note:[/] no model of the key's vaults matches {escape(', '.join(map(repr, wrong)))}. Their "
            f"models are called {escape(' or '.join(f'{name}, {name}:NAME' for name in made.vaults))}. To correct it: "
            f"discreet key extend {escape(quoted(vault))} {escape(quoted(made.id))} --models {escape(right)}"
        )


@_group.command("list")
@explained
def list_keys(vault: VaultPath, state: State = None, as_json: Json = False) -> None:
    """List all keys, with what each has spent."""
    accounts, _ = open_accounts(vault, state)
    if as_json:
        print_json(KeyList([with_meter(one, accounts) for one in accounts.list_keys()]))
        return
    print_keys(accounts)


@_group.command("show")
@explained
def show(vault: VaultPath, name: KeyName, state: State = None, as_json: Json = False) -> None:
    """Show a key: its caps, and what is left of them."""
    accounts, _ = open_accounts(vault, state)
    own_key = _find(accounts, name)
    if as_json:
        print_json(with_meter(own_key, accounts))
        return
    print_key(own_key, accounts)


@_group.command("extend")
@explained
def extend(
    vault: VaultPath,
    name: KeyName,
    epsilon: Epsilon = None,
    questions: Questions = None,
    per_question: PerQuestion = None,
    models: Models = None,
    expires: Expires = None,
    rate: Rate = None,
    task: Tasks = None,
    follow_ups: FollowUps = None,
    state: State = None,
    as_json: Json = False,
) -> None:
    """Change the caps of a key, or its date of expiry. What it has spent stays spent."""
    limits = _limits(epsilon, questions, per_question, rate, expires, models, task, follow_ups)
    if limits == Limits():
        raise UsageError("Nothing is to be changed. Name a cap: discreet key extend VAULT KEY --epsilon 20")
    accounts, log = open_accounts(vault, state)
    changed = accounts.extend(_find(accounts, name).id, limits)
    if models is not None:
        _note_no_model(changed, vault)
    values = replace(limits, models=None, tasks=None).columns()
    log.append("custodian", "key-extend", changed.id, **values, models=models, tasks=len(task or ()) or None)
    if as_json:
        print_json(with_meter(changed, accounts))
        return
    print_key(changed, accounts)


@_group.command("rotate")
@explained
def rotate(vault: VaultPath, name: KeyName, state: State = None, as_json: Json = False) -> None:
    """Replace the secret of a key. The old one ends at once; caps and spending stay."""
    accounts, log = open_accounts(vault, state)
    own_key, secret = accounts.rotate(_find(accounts, name).id)
    log.append("custodian", "key-rotate", own_key.id)
    if as_json:
        print_json(with_secret(own_key, accounts, secret))
        return
    out.print(f"The old secret of {own_key.id} ({own_key.name}) is not valid any more.", markup=False)
    print_secret(secret)


@_group.command("revoke")
@explained
def revoke(vault: VaultPath, name: KeyName, state: State = None, as_json: Json = False) -> None:
    """End a key, for good. What it has spent stays spent."""
    accounts, log = open_accounts(vault, state)
    own_key = accounts.revoke(_find(accounts, name).id)
    log.append("custodian", "key-revoke", own_key.id)
    if as_json:
        print_json(with_meter(own_key, accounts))
        return
    out.print(f"The key {own_key.id} ({own_key.name}) is revoked. Its spending stays in the ledger.", markup=False)


@_group.command("requests")
@explained
def list_requests(
    vault: VaultPath,
    every: Annotated[bool, typer.Option("--all", help="Those that were decided, too.")] = False,
    state: State = None,
    as_json: Json = False,
) -> None:
    """List the requests of analysts for more budget."""
    accounts, _ = open_accounts(vault, state)
    listed = accounts.requests(pending=not every)
    if as_json:
        print_json(with_names(listed, accounts))
        return
    print_requests(listed, accounts, vault)


@_group.command("approve")
@explained
def approve(vault: VaultPath, number: Number, state: State = None, as_json: Json = False) -> None:
    """Approve a request: the cap of its key grows by what was asked for."""
    accounts, log = open_accounts(vault, state)
    request, changed = accounts.approve(number)
    log.append("custodian", "request-approve", changed.id, request=number, epsilon=request.epsilon)
    if as_json:
        print_json(Approval(request, with_meter(changed, accounts)))
        return
    print_request(request, changed)
    say_policy()


@_group.command("deny")
@explained
def deny(vault: VaultPath, number: Number, state: State = None, as_json: Json = False) -> None:
    """Deny a request. The cap of its key stays."""
    accounts, log = open_accounts(vault, state)
    request = accounts.deny(number)
    log.append("custodian", "request-deny", request.key, request=number, epsilon=request.epsilon)
    if as_json:
        print_json(Denial(request))
        return
    print_request(request, accounts.get(request.key))


@_group.command("share")
@explained
def share(
    vault: VaultPath,
    url: Annotated[str, typer.Argument(metavar="URL", help="postgresql://user@host/database")],
    state: State = None,
) -> None:
    """Keep keys and caps in a database that several servers share. Run it for each server, before the first key."""
    share_accounts(find_state(vault, state), url, Accounts)
    accounts, log = make_accounts(vault, state)
    log.append("custodian", "accounts-share", "accounts", changes=accounts.reached().row)
    out.print("The server shares its accounts. Its keys count for all servers that share them.")


@_group.command("accept-copy")
@explained
def accept_copy(vault: VaultPath, state: State = None, as_json: Json = False) -> None:
    """Go on with an older copy of the accounts. Keys forget what they spent since; the ledger does not."""
    accounts, log = open_accounts(vault, state, check_copy=False)
    accounts.accept_copy()
    changes = accounts.reached().row
    log.append("custodian", "accounts-accept-copy", "accounts", changes=changes)
    if as_json:
        print_json(CopyAccepted(changes))
        return
    out.print(f"The copy with {changes} changes is accepted. The grant of each individual holds unchanged.")


def _find(accounts: Accounts, name: str) -> Key:
    """Return the key with an id, a name or a secret.

    Raises:
        UnknownName: if there is none.
        UsageError: if it is a secret that was mistyped, or is not valid.
    """
    if not name.startswith(PREFIX):
        return accounts.get(name)
    if is_mistyped(name):
        raise UsageError("The key is mistyped: its checksum does not match. Copy it again; or name its id.")
    keys = accounts.find(name)
    if keys is None:
        raise UsageError("The key is well-formed, but unknown, expired, rotated or revoked: discreet key list VAULT")
    return keys

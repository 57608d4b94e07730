"""`discreet serve`, `audit-log` and `desk-link`: start a server, check its log, and log its custodian in."""

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from discreet.cli.app import Json, VaultPath, app
from discreet.cli.output import counted, err, explained, out, print_json
from discreet.config import find_state, near_vaults
from discreet.errors import MissingPart, NoSuchVault, UsageError
from discreet.log.chain import GENESIS
from discreet.system.words import quoted
from discreet_server.audit_log import AuditLog
from discreet_server.config import AUDIT_LOG
from discreet_server.state_folder import make_another


@app.command()
@explained
def serve(
    vaults: Annotated[
        list[Path] | None, typer.Argument(metavar="VAULT...", help="The folders of the vaults.", show_default=False)
    ] = None,
    config: Annotated[Path | None, typer.Option(metavar="FILE", help="A serve.toml with presets and limits.")] = None,
    state: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Keys, audit log and sockets; VAULT.server if not given.")
    ] = None,
    host: Annotated[str | None, typer.Option(help="Where analysts connect (127.0.0.1).")] = None,
    port: Annotated[int | None, typer.Option(help="Their port (8000).")] = None,
    no_desk: Annotated[bool, typer.Option("--no-desk", help="Serve no pages for the custodian.")] = False,
    desk_host: Annotated[str | None, typer.Option(help="Where the custodian connects (127.0.0.1).")] = None,
    desk_port: Annotated[int | None, typer.Option(help="The custodian's port (8001).")] = None,
    quantum: Annotated[
        float | None,
        typer.Option(
            metavar="SECONDS",
            help="Answer at multiples of this time; measured if not given.",
        ),
    ] = None,
    measure: Annotated[bool, typer.Option("--measure", help="Measure the longest answers again.")] = False,
    tls_cert: Annotated[Path | None, typer.Option(metavar="FILE", help="A certificate; with --tls-key.")] = None,
    tls_key: Annotated[Path | None, typer.Option(metavar="FILE", help="Its key.")] = None,
    insecure: Annotated[bool, typer.Option("--insecure", help="Bind beyond the loopback without TLS.")] = False,
    front_user: Annotated[
        str | None, typer.Option(metavar="NAME", help="Run the front as another user; needs root.")
    ] = None,
) -> int:
    """Serve vaults to analysts over HTTP, with keys and budgets. Ctrl-C ends it after the question that runs."""
    try:
        import fastapi  # noqa: F401 - what the front needs
        import uvicorn  # noqa: F401
    except ImportError:
        raise MissingPart("A server needs further packages", "serve") from None
    from discreet_server.config import MEASURED, read_serve_config
    from discreet_server.keeper.served import check_served
    from discreet_server.supervisor import Supervisor

    given = {
        "vaults": tuple(str(one) for one in vaults) if vaults else None,
        "state": str(state) if state else None,
        "host": host,
        "port": port,
        "desk": False if no_desk else None,
        "desk_host": desk_host,
        "desk_port": desk_port,
        "quantum": quantum,
        "tls_cert": str(tls_cert.absolute()) if tls_cert else None,
        "tls_key": str(tls_key.absolute()) if tls_key else None,
        "insecure": insecure or None,
        "front_user": front_user,
    }
    config_of = read_serve_config(config, given)
    check_served(config_of)
    if measure:
        (config_of.run / MEASURED).unlink(missing_ok=True)
    return Supervisor(config_of, lambda line: err.print(line, markup=False, highlight=False, soft_wrap=True)).run()


# --- discreet audit-log -----------------------------------------------------------------------------------------------


_HEAD = re.compile(f"[0-9a-f]{{{2 * len(GENESIS)}}}")

_Path = Annotated[Path, typer.Argument(metavar="PATH|VAULT", help="An audit log, a state folder, or a vault.")]
_State = Annotated[
    Path | None, typer.Option("--state", metavar="DIR", help="The server's state folder; VAULT.server by default.")
]
_group = typer.Typer(no_args_is_help=True)
app.add_typer(_group, name="audit-log")


@_group.callback()
def audit_log() -> None:
    """Check or print the audit log of a server."""


@dataclass(frozen=True)
class LogVerified:
    """An audit log that is whole.

    Attributes:
        lines: the number of lines.
        first: the number of the first one.
        last: the number of the last one.
        head: the digest of the last line.
    """

    lines: int
    first: int
    last: int
    head: str


@_group.command("verify")
@explained
def verify(
    path: _Path,
    head: Annotated[
        str | None, typer.Option("--head", metavar="HASH", help="A head that was printed: it must be in the log.")
    ] = None,
    state: _State = None,
    as_json: Json = False,
) -> None:
    """Check that no line of the log was changed, added or removed, and print its head."""
    wanted = _head(head)
    log = AuditLog(_log_of(path, state))
    if state is None and not path.exists() and not log.files():
        near = near_vaults(path) or "Check the path."
        raise NoSuchVault(f"There is no vault, state folder or audit log at {path}. {near}")
    found = log.verify(wanted)
    if as_json:
        print_json(LogVerified(found.count, found.first, found.last, found.head))
        return
    out.print(f"The audit log is whole: {counted(found.count, 'line')}, numbers {found.first} to {found.last}.")
    if found.first > 1:
        out.print(f"Lines before number {found.first} are not here. The first line was trusted.")
    out.print(f"Head: {found.head}")
    if head is None:
        out.print("A cut tail shows only against an earlier head: keep this one elsewhere, and check with --head HASH.")


@_group.command("print")
@explained
def print_lines(
    path: _Path,
    state: _State = None,
) -> None:
    """Print the log, one line an act as JSON, the oldest first. It is not checked."""
    for line in AuditLog(_log_of(path, state)).lines():
        print(json.dumps(line))


def _head(given: str | None) -> str | None:
    """Return a head in the spelling of the log.

    Raises:
        UsageError: if it has another form.
    """
    if given is None:
        return None
    head = given.strip().lower()
    if not _HEAD.fullmatch(head):
        raise UsageError(
            f"--head {given} is no head of an audit log. A head has {2 * len(GENESIS)} hexadecimal digits, as discreet "
            "audit-log verify prints it."
        )
    return head


def _log_of(path: Path, state: Path | None) -> Path:
    """Return the log at a path: a file, one in a state folder, or the one of a vault's server."""
    if state is not None:
        return state / AUDIT_LOG
    if not path.is_dir():
        return path
    inside = path / AUDIT_LOG
    return inside if inside.exists() else find_state(path, None) / AUDIT_LOG


# --- discreet desk-link -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class DeskLink:
    """A way into the custodian's pages.

    Attributes:
        link: a link that logs the custodian in once, within an hour.
    """

    link: str


@app.command(name="desk-link")
@explained
def desk_link(
    vault: VaultPath,
    state: Annotated[
        Path | None, typer.Option("--state", metavar="DIR", help="The server's state folder; VAULT.server by default.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Print a link that logs the custodian in once, within an hour. The link before it does not work any more."""
    run = find_state(vault, state) / "run"
    try:
        link = make_another(run)
    except OSError as error:
        raise UsageError(f"No link can be made in {run}: {error.strerror}. Run this as the server's user.") from None
    if link is None:
        raise UsageError(
            f"No desk was started with the folder {run}. Start one: discreet serve {quoted(vault)}; or name its "
            "folder: --state DIR"
        )
    if as_json:
        print_json(DeskLink(link))
        return
    out.print(link, markup=False)
    err.print("It works once, within an hour. Its first reader acts as the custodian: keep it private.")

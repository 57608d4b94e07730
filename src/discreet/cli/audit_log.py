"""`discreet audit-log`: whether the log of a server is whole, and its lines."""

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from discreet.cli.app import Json, app
from discreet.cli.output import counted, explained, out, print_json
from discreet.config import find_state, near_vaults
from discreet.errors import NoSuchVault, UsageError
from discreet.log.chain import GENESIS
from discreet.server.audit_log import AuditLog
from discreet.server.config import AUDIT_LOG

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

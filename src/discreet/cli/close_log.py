"""`discreet close-log`: who took part in which question is archived or destroyed."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from discreet.cli.app import Json, VaultPath, app
from discreet.cli.output import counted, explained, print_json, say
from discreet.cli.progress import doing
from discreet.cli.remove import confirm
from discreet.errors import UsageError
from discreet.operations.close_log import ClosedLog, look
from discreet.operations.close_log import close_log as close
from discreet.system.plain import show_as


@dataclass(frozen=True)
class LogClosed(ClosedLog):
    """A log that was closed.

    Attributes:
        kept: the file with the old rows; None if they were destroyed.
        gone: whether they are out of the ledger's own files. If false, another process still reads them there.
    """

    kept: str | None
    gone: bool


@app.command(name="close-log")
@explained
def close_log(
    vault: VaultPath,
    keep: Annotated[
        Path | None, typer.Option("--keep", metavar="FILE", help="Keep the old rows in this new SQLite file.")
    ] = None,
    destroy: Annotated[bool, typer.Option("--destroy", help="Destroy the old rows, for good.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Destroy without asking.")] = False,
    as_json: Json = False,
) -> int:
    """Forget or archive who took part in which question; all balances stay.

    The ledger begins a new log with one row of all balances. With --keep the old rows are in a file from then on, with
    --destroy they are gone. No unit gets a new budget, and no earlier question can pay again. The vault must not be in
    use. For the custodian.
    """
    if destroy == (keep is not None):
        raise UsageError(
            "Give one of --keep FILE, which puts the old rows into a file, and --destroy, which makes an end of them. "
            "Nothing was changed."
        )
    with doing("Reading the log"):
        lost = look(vault, keep)
    if destroy and not yes:
        confirm(_lost(lost), "Destroy them?", "Nothing was changed.", "To destroy them, add --yes.")
    with doing("Closing the log"):
        gone = close(vault, keep)
    if as_json:
        print_json(show_as(LogClosed, lost, kept=None if keep is None else str(keep), gone=gone))
    else:
        say("close-log.txt", lost=lost, keep=keep, gone=gone)
    return 0 if gone else 1


def _lost(lost: ClosedLog) -> str:
    corpora = f" Synthetic corpora in it: {lost.corpora}." if lost.corpora else ""
    return (
        f"The log has {counted(lost.rows, 'row')} since {lost.since[:10]}: {counted(lost.questions, 'question')} with "
        f"{counted(lost.shares, 'share')} of individuals.{corpora} No report lists them afterwards; discreet report "
        "does now. They cannot return"
    )

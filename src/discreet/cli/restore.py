"""`discreet restore`: a vault from a backup."""

from pathlib import Path
from typing import Annotated

import typer

from discreet.cli.app import Json, app
from discreet.cli.output import counted, explained, out, print_json
from discreet.cli.progress import doing
from discreet.operations.restore import restore as restore_backup


@app.command()
@explained
def restore(
    backup: Annotated[Path, typer.Argument(metavar="BACKUP", help="What `discreet backup` wrote.")],
    vault: Annotated[Path, typer.Argument(metavar="NEWVAULT", help="A new folder for the vault.")],
    expect: Annotated[
        int | None,
        typer.Option(min=0, metavar="QUESTIONS", help="How many questions the vault had at least, by your records."),
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Take an older ledger, and forget what was spent since.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Make a vault of a backup: for the custodian.

    It is refused if the ledger in the backup is older than the vault was: by the vault itself where it still lies,
    by the backup's own counter, or by --expect.
    """
    with doing("Restoring the vault"):
        made = restore_backup(backup, vault, expect=expect, force=force)
    if as_json:
        print_json(
            {
                "vault": str(made.place),
                "backup_made": made.manifest.made,
                "ledger": made.manifest.ledger,
                "questions": made.manifest.questions if made.manifest.ledger == "file" else None,
                "questions_lost": made.lost.questions if made.lost else 0,
                "payments_lost": made.lost.payments if made.lost else 0,
                "other_copy": str(made.other) if made.other else None,
                "erased_since": made.erased,
            }
        )
        return
    out.print(f"Restored {made.place} from a backup of {made.manifest.made}.", markup=False)
    if made.manifest.ledger != "file":
        out.print("Its ledger is the one in its PostgreSQL database, as it is now.")
    if made.lost:
        out.print(
            f"[bold red]An older ledger was accepted:[/] {counted(made.lost.questions, 'question')} and "
            f"{made.lost.payments} payments are forgotten. The promise no longer covers what they released."
        )
    if made.other:
        out.print(f"[yellow]The vault that was backed up still lies at {made.other}.[/]")
    out.print("Use this copy alone from now on: two copies that both answer spend the grant twice.")
    known = "" if made.erased is None else f" Individuals erased there since: {made.erased}."
    out.print(f"What was erased after the backup is back: erase it again.{known}")
    out.print(f"Next: discreet doctor {made.place}", markup=False)

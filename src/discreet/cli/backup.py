"""`discreet backup`: copy a vault."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from discreet.cli.app import Json, VaultPath, app
from discreet.cli.output import counted, explained, out, print_json
from discreet.cli.progress import doing
from discreet.config import read_config
from discreet.operations.backup import back_up
from discreet.system.database_url import is_postgres
from discreet.system.plain import show_as


@dataclass(frozen=True)
class BackupMade:
    """A backup that was made.

    Attributes:
        backup: the path of the backup.
        made: the moment it was made.
        files: the number of files.
        bytes: the size in bytes.
        ledger: where the ledger is: "file" or "postgresql".
        documents: where the documents are: "file" or "postgresql".
        questions: the number of questions of the ledger; None if the ledger is in a database.
        run_left_out: whether an unfinished synthesis was left out.
        readings_left_out: whether what `discreet read` read was left out: a restored vault is to be read again.
    """

    backup: str
    made: str
    files: int
    bytes: int
    ledger: str
    documents: str
    questions: int | None
    run_left_out: bool
    readings_left_out: bool


@app.command()
@explained
def backup(
    vault: VaultPath,
    output: Annotated[Path, typer.Argument(metavar="OUT", help="A new file that ends in .tar.gz, or a new folder.")],
    as_json: Json = False,
) -> None:
    """Copy a vault, also while it is in use: documents, balances, answers and the key. For the custodian.

    The copy is checked before it gets its final name.
    """
    with doing("Copying the vault"):
        made = back_up(vault, output)
    settings = read_config(vault)
    manifest, in_database = made.manifest, made.manifest.ledger != "file"
    if as_json:
        print_json(
            show_as(
                BackupMade,
                manifest,
                backup=str(made.out),
                files=len(manifest.files),
                bytes=made.size,
                documents="postgresql" if is_postgres(settings.store) else "file",
                questions=None if in_database else manifest.questions,
                run_left_out=made.run_left_out,
            )
        )
        return
    out.print(f"Backed up to {made.out}: {counted(len(manifest.files), 'file')}, {made.size:,} bytes.", markup=False)
    if in_database:
        out.print(
            "The backup does not contain the ledger, which stays in its PostgreSQL database. Back the database up with "
            "pg_dump. A restored vault uses the current ledger of the database."
        )
    else:
        out.print(f"Its ledger holds {counted(manifest.questions, 'question')}.")
    if is_postgres(settings.store):
        out.print(
            "The backup does not contain the documents, which stay in their PostgreSQL database. Back them up: pg_dump "
            f"--schema {settings.store_name} --format custom --file documents.dump DATABASE",
            markup=False,
        )
    if made.run_left_out:
        out.print("The backup omits an unfinished synthesis: a run must not continue in two vaults.")
    if manifest.readings_left_out:
        out.print("The backup omits what `discreet read` read: a restored vault is to be read again.")
    what = "units.key" if is_postgres(settings.store) else "documents and units.key"
    out.print(f"The backup contains {what} without encryption: protect it like the vault.")
    out.print(
        "A restored copy and the vault share the ledger. Each has its own answers: the same question is paid at both."
        if in_database
        else "Never use the vault and a restored copy at the same time: they would spend the grant twice."
    )

"""`discreet backup` and `restore`: copies of a vault."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from discreet.cli.app import Json, VaultPath, app
from discreet.cli.output import doing, explained, print_json, say
from discreet.config import find_state, read_config
from discreet.operations.backup import back_up
from discreet.operations.backup import restore as restore_backup
from discreet.system.databases import is_postgres
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
        readings_left_out: whether what `discreet code` read was left out: a restored vault is to be read again.
        server: whether the state folder of its server is in the backup.
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
    server: bool


@app.command()
@explained
def backup(
    vault: VaultPath,
    output: Annotated[Path, typer.Argument(metavar="OUT", help="A new file that ends in .tar.gz, or a new folder.")],
    state: Annotated[
        Path | None,
        typer.Option("--state", metavar="DIR", help="The server's state folder; VAULT.server if it is there."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Copy a vault, also while it is in use: documents, balances, answers, the key, and its server's state folder.

    The copy is checked before it gets its final name.
    """
    with doing("Copying the vault"):
        usual = find_state(vault, state)
        copy = back_up(vault, output, usual if state or usual.is_dir() else None)
    settings = read_config(vault)
    manifest = copy.manifest
    if as_json:
        print_json(
            show_as(
                BackupMade,
                manifest,
                backup=str(copy.out),
                files=len(manifest.files),
                bytes=copy.size,
                documents="postgresql" if is_postgres(settings.store) else "file",
                questions=manifest.questions if manifest.ledger == "file" else None,
                run_left_out=copy.run_left_out,
                server=bool(manifest.server),
            )
        )
        return
    named = settings.store_name if is_postgres(settings.store) else ""
    say("backup.txt", made=copy, manifest=manifest, store_name=named)


@dataclass(frozen=True)
class VaultRestored:
    """A vault that was made from a backup.

    Attributes:
        vault: the folder of the vault.
        backup_made: the moment of the backup.
        ledger: where the ledger is: "file" or "postgresql".
        questions: the number of questions of the ledger; None if the ledger is in a database.
        questions_lost: questions after the backup, whose charges it lacks.
        payments_lost: payments after the backup.
        other_copy: the path of a vault of the same ledger; None if none was found.
        erased_since: individuals that were erased after the backup; None if unknown.
        read_again: whether the vault had been read, and is to be read again: discreet code --statements VAULT.
        server: the state folder of its server; None if the backup has none.
    """

    vault: str
    backup_made: str
    ledger: str
    questions: int | None
    questions_lost: int
    payments_lost: int
    other_copy: str | None
    erased_since: int | None
    read_again: bool
    server: str | None


@app.command()
@explained
def restore(
    backup: Annotated[Path, typer.Argument(metavar="BACKUP", help="A backup of `discreet backup`.")],
    vault: Annotated[Path, typer.Argument(metavar="NEWVAULT", help="A new folder for the vault.")],
    expect: Annotated[
        int | None,
        typer.Option(min=0, metavar="QUESTIONS", help="The least number of questions that your records show."),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Accept an older ledger, and lose all later charges.")] = False,
    as_json: Json = False,
) -> None:
    """Make a vault from a backup. For the custodian.

    The command refuses a backup whose ledger is older than the vault's last state. It compares the vault if it still
    exists, the backup's counter, and --expect.
    """
    with doing("Restoring the vault"):
        restored = restore_backup(backup, vault, expect=expect, force=force)
    if as_json:
        print_json(
            VaultRestored(
                vault=str(restored.vault),
                backup_made=restored.manifest.made,
                ledger=restored.manifest.ledger,
                questions=restored.manifest.questions if restored.manifest.ledger == "file" else None,
                questions_lost=restored.lost.questions if restored.lost else 0,
                payments_lost=restored.lost.payments if restored.lost else 0,
                other_copy=str(restored.other) if restored.other else None,
                erased_since=restored.erased,
                read_again=restored.manifest.readings_left_out,
                server=str(restored.server) if restored.server else None,
            )
        )
        return
    in_database = is_postgres(read_config(restored.vault).store)
    say("restore.txt", made=restored, manifest=restored.manifest, in_database=in_database)

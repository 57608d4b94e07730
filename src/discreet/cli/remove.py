"""`discreet remove` and `discreet readmit`: erase documents, and let an individual come back."""

from typing import Annotated

import typer

from discreet.cli.app import Json, VaultPath, app
from discreet.cli.output import counted, explained, out, print_json
from discreet.cli.progress import doing
from discreet.cli.spellings import check_filled, tell_spellings
from discreet.cli.undo import Yes, remove_batch
from discreet.errors import UsageError
from discreet.vault import Vault


@app.command()
@explained
def remove(
    vault: VaultPath,
    document: Annotated[str | None, typer.Option("--id", help="Erase this document.")] = None,
    unit: Annotated[
        str | None, typer.Option("--unit", help="Erase this individual, who is kept out from then on.")
    ] = None,
    file: Annotated[str | None, typer.Option("--file", help="Erase all documents that came from this file.")] = None,
    batch: Annotated[int | None, typer.Option("--batch", help="Erase what this batch brought, as undo does.")] = None,
    anyway: Annotated[
        bool, typer.Option("--anyway", help="With --unit: keep the individual out, though it has no document here.")
    ] = False,
    yes: Yes = False,
    as_json: Json = False,
) -> None:
    """Erase a document, an individual, a file or a batch: gone from answers at once, and from the disk.

    An individual that was erased does not come back: later additions are refused by name, until discreet readmit.
    What units spent stays spent. For the custodian.
    """
    named = [option for option in (document, unit, file, batch) if option is not None]
    if len(named) != 1:
        raise UsageError("Name what to erase by one of --id ID, --unit NAME, --file FILE and --batch NUMBER.")
    if anyway and unit is None:
        raise UsageError("--anyway goes with --unit NAME: it keeps out an individual that has no document here.")
    opened = Vault.open(vault)
    if not anyway:
        check_filled(opened)
    tell_spellings(opened)
    if batch is not None:
        count = remove_batch(opened, batch, yes=yes)
    elif unit is not None:
        count = _remove_unit(opened, unit, anyway=anyway)
    elif file is not None:
        with doing("Erasing the documents of a file"):
            count = opened.inventory.remove_source(file)
        if not count:
            raise UsageError(f"No document came from the file '{file}'. discreet list VAULT batches shows the files.")
    else:
        with doing("Erasing a document"):
            count = opened.remove(document or "")
        if not count:
            raise UsageError(f"There is no document '{document}' in the vault. Check the spelling; or it was erased.")
    if as_json:
        print_json({"removed": count})
        return
    out.print(f"{counted(count, 'document')} erased.")
    if unit is not None:
        out.print(f"'{unit}' is kept out from now on, until: discreet readmit VAULT --unit '{unit}'.", markup=False)


def _remove_unit(vault: Vault, unit: str, *, anyway: bool) -> int:
    before = vault.inventory.erased(unit)
    with doing("Erasing the documents of an individual"):
        count = vault.inventory.bury(unit, anyway=anyway)
    if not count and not anyway:
        if before is not None:
            raise UsageError(f"The individual '{unit}' was erased on {before[0][:10]} already, and is kept out.")
        raise UsageError(
            f"There is no individual '{unit}' in the vault. Check the spelling: discreet list VAULT units. To keep "
            "out an individual that has no document here, say --anyway."
        )
    return count


@app.command()
@explained
def readmit(
    vault: VaultPath,
    unit: Annotated[str, typer.Option("--unit", help="The individual's name, in any spelling.")],
    as_json: Json = False,
) -> None:
    """Let an individual come back that was erased, with the balance that it had. For the custodian."""
    opened = Vault.open(vault)
    tell_spellings(opened)
    if not opened.inventory.readmit(unit):
        raise UsageError(f"The individual '{unit}' is not kept out of this vault. Check the spelling.")
    if as_json:
        print_json({"readmitted": unit})
    else:
        out.print(f"'{unit}' may be added again, and has the balance that it had.", markup=False)

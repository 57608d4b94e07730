"""`discreet remove` and `discreet readmit`: erase documents, and permit an erased individual again."""

from dataclasses import dataclass
from typing import Annotated

import typer

from discreet.cli.app import Json, VaultPath, app
from discreet.cli.output import counted, explained, out, print_json
from discreet.cli.progress import doing
from discreet.cli.undo import Yes, remove_batch
from discreet.cli.unit_names import check_filled, unknown_unit
from discreet.errors import UsageError
from discreet.system.shell import quoted
from discreet.vault import Vault


@dataclass(frozen=True)
class DocumentsErased:
    """What `discreet remove` erased.

    Attributes:
        removed: the number of documents that were erased.
    """

    removed: int


@dataclass(frozen=True)
class Readmitted:
    """What `discreet readmit` did.

    Attributes:
        readmitted: the individual whose documents may be added again.
    """

    readmitted: str


@app.command()
@explained
def remove(
    vault: VaultPath,
    document: Annotated[str | None, typer.Option("--id", help="Erase this document.")] = None,
    unit: Annotated[
        str | None, typer.Option("--unit", help="Erase this individual, and refuse its documents from now on.")
    ] = None,
    file: Annotated[str | None, typer.Option("--file", help="Erase all documents from this file.")] = None,
    batch: Annotated[int | None, typer.Option("--batch", help="Erase the documents of this batch, like undo.")] = None,
    anyway: Annotated[
        bool, typer.Option("--anyway", help="With --unit: refuse the individual although it has no document here.")
    ] = False,
    yes: Yes = False,
    as_json: Json = False,
) -> None:
    """Erase a document, an individual, a file or a batch, from answers and from the disk.

    Later documents of an erased individual are refused, until discreet readmit. Charges of units stay. For the
    custodian.
    """
    named = [option for option in (document, unit, file, batch) if option is not None]
    if len(named) != 1:
        raise UsageError(
            f"Give exactly one of --id ID, --unit NAME, --file FILE and --batch NUMBER; {len(named)} are given."
        )
    if anyway and unit is None:
        raise UsageError("--anyway works only with --unit NAME. Add --unit, or omit --anyway.")
    opened = Vault.open(vault)
    if not anyway:
        check_filled(opened)
    if batch is not None:
        count = remove_batch(opened, batch, yes=yes)
    elif unit is not None:
        count = _remove_unit(opened, unit, anyway=anyway)
    elif file is not None:
        with doing("Erasing the documents of a file"):
            count = opened.inventory.remove_source(file)
        if not count:
            raise UsageError(
                f"The vault has no document from the file '{file}'. List the files: discreet list VAULT batches."
            )
    else:
        with doing("Erasing a document"):
            count = opened.remove(document or "")
        if not count:
            raise UsageError(f"The vault has no document '{document}'. Check the id: discreet list VAULT documents.")
    if as_json:
        print_json(DocumentsErased(count))
        return
    out.print(f"{counted(count, 'document')} erased.")
    if unit is not None:
        out.print(
            f"The vault refuses documents of '{unit}' from now on. To permit them: discreet readmit VAULT --unit "
            f"{quoted(unit)}.",
            markup=False,
        )


def _remove_unit(vault: Vault, unit: str, *, anyway: bool) -> int:
    before = vault.inventory.erased(unit)
    with doing("Erasing the documents of an individual"):
        count = vault.inventory.bury(unit, anyway=anyway)
    if not count and not anyway:
        if before is not None:
            raise UsageError(
                f"The individual '{unit}' was already erased on {before[0][:10]}, and its documents are refused. "
                "There is nothing to do."
            )
        raise UsageError(f"{unknown_unit(vault, unit)} To refuse an individual without documents, add --anyway.")
    return count


@app.command()
@explained
def readmit(
    vault: VaultPath,
    unit: Annotated[str, typer.Option("--unit", help="The individual's name, in any spelling.")],
    as_json: Json = False,
) -> None:
    """Permit documents of an erased individual again. Its balance is unchanged. For the custodian."""
    opened = Vault.open(vault)
    if not opened.inventory.readmit(unit):
        raise UsageError(f"The vault does not refuse the individual '{unit}'. Check the spelling.")
    if as_json:
        print_json(Readmitted(unit))
    else:
        out.print(f"Documents of '{unit}' may be added again. The balance is unchanged.", markup=False)

"""`discreet undo`: erase the documents of one `add`."""

import sys
from dataclasses import dataclass
from typing import Annotated

import typer

from discreet.cli.app import Json, VaultPath, app
from discreet.cli.output import counted, err, explained, out, print_json
from discreet.cli.progress import doing
from discreet.cli.unit_names import check_filled
from discreet.errors import UsageError
from discreet.vault import Vault

Yes = Annotated[bool, typer.Option("--yes", help="Erase without asking, also if earlier texts cannot return.")]


@dataclass(frozen=True)
class BatchErased:
    """What `discreet undo` erased.

    Attributes:
        removed: the number of documents that were erased.
        batch: the number of the batch.
    """

    removed: int
    batch: int


@app.command()
@explained
def undo(
    vault: VaultPath,
    batch: Annotated[int, typer.Argument(metavar="BATCH", help="The batch's number: discreet list VAULT batches.")],
    yes: Yes = False,
    as_json: Json = False,
) -> None:
    """Erase the documents of one `add`. Charges of units stay.

    An earlier text of a replaced document does not return: the vault does not keep it. For the custodian.
    """
    opened = Vault.open(vault)
    check_filled(opened)
    count = remove_batch(opened, batch, yes=yes)
    if as_json:
        print_json(BatchErased(count, batch))
    else:
        out.print(f"{counted(count, 'document')} of batch {batch} erased. Charges of their units stay.")


def remove_batch(vault: Vault, number: int, *, yes: bool) -> int:
    """Erase the documents of a batch. Ask first if the batch replaced earlier texts.

    Raises:
        UsageError: if there is no such batch, if it has no documents left, or if `yes` is needed and false.
    """
    entry = vault.inventory.batch(number)
    if not entry.documents:
        raise UsageError(f"Batch {number} has no documents left in the vault. There is nothing to do.")
    if entry.replaced and not yes:
        lost = (
            f"{entry.replaced} of the {counted(entry.documents, 'document')} of batch {entry.number} replaced earlier "
            "texts, which the vault does not keep. The earlier texts cannot return"
        )
        confirm(lost, "Erase them?", "Nothing was erased.", "To erase, add --yes, and add the earlier texts again.")
    with doing(f"Erasing {counted(entry.documents, 'document')}"):
        return vault.inventory.remove_batch(number)


def confirm(lost: str, question: str, nothing: str, remedy: str) -> None:
    """Say what would be lost, and ask for it at a terminal.

    Raises:
        UsageError: if the answer is no, or if there is no terminal.
    """
    if not _at_a_terminal():
        raise UsageError(f"{lost}. {nothing} {remedy}")
    err.print(f"{lost}.", markup=False)
    if not typer.confirm(question, err=True):
        raise UsageError(nothing)


def _at_a_terminal() -> bool:
    return sys.stdin.isatty()

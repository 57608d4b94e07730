"""`discreet undo`: take back what one `add` brought."""

import sys
from typing import Annotated

import typer

from discreet.cli.app import Json, VaultPath, app
from discreet.cli.output import counted, err, explained, out, print_json
from discreet.cli.progress import doing
from discreet.cli.spellings import check_filled, tell_spellings
from discreet.errors import UsageError
from discreet.retrieval.entries import BatchEntry
from discreet.vault import Vault

Yes = Annotated[bool, typer.Option("--yes", help="Do so without asking, also if earlier texts are gone with it.")]


@app.command()
@explained
def undo(
    vault: VaultPath,
    batch: Annotated[int, typer.Argument(metavar="BATCH", help="Its number: discreet list VAULT batches.")],
    yes: Yes = False,
    as_json: Json = False,
) -> None:
    """Take back what one `add` brought: its documents are erased. What units spent stays spent.

    A document that took the place of an earlier text is gone with that text: the earlier one is not kept. For the
    custodian.
    """
    opened = Vault.open(vault)
    check_filled(opened)
    tell_spellings(opened)
    count = remove_batch(opened, batch, yes=yes)
    if as_json:
        print_json({"removed": count, "batch": batch})
    else:
        out.print(f"{counted(count, 'document')} of batch {batch} erased. What their units spent stays spent.")


def remove_batch(vault: Vault, number: int, *, yes: bool) -> int:
    """Erase what a batch brought, after asking if earlier texts are gone with it.

    Raises:
        UsageError: there is no such batch, nothing of it is left, or `yes` is needed and was not given.
    """
    entry = vault.inventory.batch(number)
    if not entry.documents:
        raise UsageError(f"Nothing is left of batch {number} in the vault. There is nothing to do.")
    if entry.replaced and not yes:
        _ask(entry)
    with doing(f"Erasing {counted(entry.documents, 'document')}"):
        return vault.inventory.remove_batch(number)


def _ask(entry: BatchEntry) -> None:
    lost = (
        f"{entry.replaced} of the {counted(entry.documents, 'document')} of batch {entry.number} took the place of "
        "earlier texts, which are not kept. They are erased without a text to come back"
    )
    if not _at_a_terminal():
        raise UsageError(f"{lost}. Nothing was erased. Say --yes to do so, and add the earlier texts again.")
    err.print(f"{lost}.", markup=False)
    if not typer.confirm("Erase them?", err=True):
        raise UsageError("Nothing was erased.")


def _at_a_terminal() -> bool:
    return sys.stdin.isatty()

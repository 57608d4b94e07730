"""`discreet undo`, `remove`, `readmit`, `units join` and `erasure-report`: what the custodian erases or joins."""

import sys
import unicodedata
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Annotated

import typer

from discreet.cli.app import Json, VaultPath, app
from discreet.cli.output import counted, doing, err, explained, out, print_json, say
from discreet.errors import UsageError
from discreet.operations.erasure import erasure_report
from discreet.store.registry import stored_dimension
from discreet.system.words import quoted
from discreet.vault import Vault

# --- names of units that are nearly a misspelt one --------------------------------------------------------------------


_COMPARED = 10_000
"""A misspelt name is compared with so many names: they take some tenths of a second."""


def never_filled(vault: Vault) -> bool:
    """Return whether nothing was ever added. Such a vault has no store, and making one would load an embedder."""
    folder = vault.path / "store"
    return folder.is_dir() and stored_dimension(vault.settings, folder) is None


def check_filled(vault: Vault) -> None:
    """Check that documents were ever added, without loading an embedder.

    Raises:
        UsageError: if nothing was ever added.
    """
    if never_filled(vault):
        raise UsageError(
            f"The vault at {vault.path} never had a document, so there is nothing to erase. Add documents: discreet "
            f"add {quoted(vault.path)} FILES."
        )


def unknown_unit(vault: Vault, unit: str) -> str:
    """Return a sentence that a vault has no such individual, with names that are nearly the same. For the custodian."""
    names = {_bare(entry.unit): entry.unit for entry in vault.inventory.units(_COMPARED)}
    near = [names[name] for name in get_close_matches(_bare(unit), names, n=3, cutoff=0.8)]
    meant = f" Did you mean {' or '.join(map(repr, near))}?" if near else ""
    return f"The vault has no individual '{unit}'.{meant} Check the spelling: discreet list VAULT units."


def _bare(name: str) -> str:
    """Return a name without accents, and with a space for marks: "jürgen-gross" is near to "Jurgen Gross"."""
    plain = "".join(char for char in unicodedata.normalize("NFKD", name.casefold()) if not unicodedata.combining(char))
    return " ".join("".join(char if char.isalnum() else " " for char in plain).split())


# --- the commands -----------------------------------------------------------------------------------------------------


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
    if not entry.documents and number not in vault.components.unfinished.batches:
        raise UsageError(f"Batch {number} has no documents left in the vault. There is nothing to do.")
    ask_for_many(entry.documents, f"batch {entry.number}", yes=yes or bool(entry.replaced))
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


def ask_for_many(count: int, what: str, *, yes: bool) -> None:
    """Ask, at a terminal, before several documents are erased. A script is not asked.

    Raises:
        UsageError: if the answer is no.
    """
    if count > 1 and not yes and _at_a_terminal():
        confirm(
            f"{counted(count, 'document')} of {what} will be erased for good", "Erase them?", "Nothing was erased.", ""
        )


def _at_a_terminal() -> bool:
    return sys.stdin.isatty()


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
        many = 0 if anyway else len(opened.inventory.documents(unit))
        ask_for_many(many, f"the individual '{unit}'", yes=yes)
        count = _remove_unit(opened, unit, anyway=anyway)
    elif file is not None:
        many = sum(entry.source == file for entry in opened.inventory.documents())
        ask_for_many(many, f"the file '{file}'", yes=yes)
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


_group = typer.Typer(no_args_is_help=True)
app.add_typer(_group, name="units")


@_group.callback()
def units() -> None:
    """Join two names of one individual."""


@dataclass(frozen=True)
class UnitsJoined:
    """Two names of one individual that became one unit.

    Attributes:
        joined: the name that stays, in the given spelling.
        documents: the number of documents that moved.
        spent: the epsilon of all charges of both together; None in a vault with corpus payment.
    """

    joined: str
    documents: int
    spent: float | None


@_group.command("join")
@explained
def join(
    vault: VaultPath,
    name: Annotated[str, typer.Argument(metavar="NAME", help="The name that goes.")],
    into: Annotated[str, typer.Argument(metavar="INTO", help="The name that stays.")],
    as_json: Json = False,
) -> None:
    """Make two units one, for good: one individual was added under two names. For the custodian.

    The documents of both are one unit from now on, and what both spent is added up. Later documents under the first
    name are refused.
    """
    opened = Vault.open(vault)
    check_filled(opened)
    for unit in (name, into):
        if not erasure_report(opened, unit).knows:
            raise UsageError(unknown_unit(opened, unit))
    with doing("Joining two names of an individual"):
        moved = opened.join_units(name, into)
    spent, grant = erasure_report(opened, into).spent, opened.settings.epsilon
    if as_json:
        print_json(UnitsJoined(into, moved, spent))
        return
    paid = "" if spent is None else f" Together they have spent epsilon {spent:.4g} of {grant:g}."
    out.print(
        f"'{name}' is '{into}' from now on: {counted(moved, 'document')} moved.{paid} Documents under the first name "
        "are refused: write the second one in your files.",
        markup=False,
    )


@app.command(name="erasure-report")
@explained
def erasure_report_(
    vault: VaultPath,
    unit: Annotated[str, typer.Option("--unit", help="The individual's name, in any spelling.")],
    anyway: Annotated[
        bool, typer.Option("--anyway", help="Report on an individual that is not in the vault, and is not erased.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Show what was erased of an individual, what remains, and why. For the custodian only."""
    opened = Vault.open(vault)
    if not anyway:
        check_filled(opened)
    report = erasure_report(opened, unit)
    if not (report.knows or anyway):
        raise UsageError(
            f"{unknown_unit(opened, unit)} No individual of this name is erased, either. For a report "
            "nevertheless, add --anyway."
        )
    if as_json:
        print_json(report)
        return
    say("erased.txt", report=report, vault=vault)

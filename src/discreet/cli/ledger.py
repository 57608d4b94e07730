"""`discreet ledger`, `close-log` and `report`: what a vault released, who took part, and a page for its supervisor."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from discreet.cli.app import Json, VaultPath, app
from discreet.cli.output import counted, doing, explained, out, print_json, say
from discreet.cli.remove import confirm
from discreet.errors import UnknownName, UsageError
from discreet.operations.close_log import ClosedLog, look
from discreet.operations.close_log import close_log as close
from discreet.operations.report import Kind, as_page, gather
from discreet.query.answer_cache import ReleaseEntry, list_releases
from discreet.questions.request import FACT, KINDS
from discreet.system.files import check_output_path, write_private
from discreet.system.plain import show_as
from discreet.system.words import minute
from discreet.vault import Vault


@dataclass(frozen=True)
class ReleaseList:
    """What a vault released.

    Attributes:
        releases: what was released, oldest first. All of it is public.
        more: whether there are more rows.
    """

    releases: list[ReleaseEntry]
    more: bool


@app.command()
@explained
def ledger(
    vault: VaultPath,
    kind: Annotated[str, typer.Option(metavar="KIND", help="Only this kind: fact, count, share, list, ...")] = "",
    limit: Annotated[int, typer.Option(min=0, help="The maximum number of rows, the latest; 0 for all.")] = 50,
    as_json: Json = False,
) -> None:
    """Show what was released about what: question, set, numbers, price and time.

    All of it left the vault, so asking for it again is free. Questions that released nothing new are not in it.
    """
    if kind and kind not in (FACT, *KINDS):
        raise UnknownName("kind of question", kind, (FACT, *KINDS))
    opened = Vault.open(vault)
    releases = list_releases(opened.history, kind)
    shown = releases[-limit:] if limit else releases
    if as_json:
        print_json(ReleaseList(shown, len(shown) < len(releases)))
        return
    if not opened.settings.history:
        out.print("This vault keeps no released answers (init --no-history). Charges: discreet budget.")
    elif not releases:
        out.print("Nothing was released yet." if not kind else f"No {kind} was released yet.")
    if not shown:
        return
    for one in shown:
        out.print(_describe(one), markup=False)
    if len(shown) < len(releases):
        out.print(f"{counted(len(releases) - len(shown), 'earlier release')}: --limit 0 shows all.")


def _describe(one: ReleaseEntry) -> str:
    """Return a release in its lines: when, what about whom, and for how much; the question; what was released."""
    time = minute(one.time) or "time not known"
    price = "price not known" if one.epsilon is None else f"epsilon {one.epsilon:.4g}"
    released = "no answer" if one.answer is None else one.answer.strip()
    lines = (f"{time}  {_about(one)}  ({price})", *(f"    {line}" for line in (one.question, *released.split("\n"))))
    return "\n".join(map(_printable, lines))


def _about(one: ReleaseEntry) -> str:
    if one.kind == FACT:
        return one.kind
    condition = f" of {one.condition}" if one.condition else ""
    groups = f" of {' or '.join(one.groups)}" if one.groups else ""
    return f"{one.kind}{condition or groups}, among {one.population or 'all'}" + (groups if condition else "")


def _printable(text: str) -> str:
    return "".join(one if one.isprintable() or one == "\n" else "?" for one in text)


# --- discreet close-log -----------------------------------------------------------------------------------------------


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


# --- discreet report --------------------------------------------------------------------------------------------------


@app.command()
@explained
def report(
    vault: VaultPath,
    output: Annotated[Path | None, typer.Option("--out", metavar="FILE.html", help="The output file.")] = None,
    kind: Annotated[Kind, typer.Option("--kind", help="Whom the page is for.")] = Kind.SUPERVISOR,
    force: Annotated[bool, typer.Option("--force", help="Overwrite an existing file.")] = False,
    as_json: Json = False,
) -> None:
    """Write a report about a vault for its supervisor: grant, questions, erasures, versions, state.

    For the custodian: the page marks its private parts. It contains no text of a document.
    --kind makes a document to complete and sign from the same data: dpia (a data-protection impact assessment),
    anonymity (the three tests of anonymisation), expert-determination (HIPAA).
    """
    if output is None and not as_json:
        raise UsageError("An output file is missing. Give --out FILE.html, or --json for a program.")
    if output is not None:
        check_output_path(output, vault, force=force)
    with doing("Reading the vault, and the models' digests"):
        data = gather(vault)
        if output is not None:
            write_private(output, as_page(data, kind))
    if as_json:
        print_json(data.shown())
        return
    out.print(f"The report is in {output}. Only you may read the file: parts of it are private.", markup=False)

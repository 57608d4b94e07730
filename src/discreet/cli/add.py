"""`discreet add` and `discreet public`: documents of individuals, and the public corpus beside them."""

import sys
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from discreet.cli.app import Json, VaultPath, app
from discreet.cli.output import counted, doing, doing_steps, err, explained, out, print_json
from discreet.errors import BadData, UsageError
from discreet.files.intake import Preview, grouped
from discreet.files.loaders import kept_stdin
from discreet.files.records import BadRecord, FoundFile
from discreet.files.units import UnitRules
from discreet.planning.prices import too_few
from discreet.synthesis.readings import CODES
from discreet.synthesis.readings import FOLDER as READINGS
from discreet.system.plain import show_as
from discreet.system.words import quoted
from discreet.vault import Vault
from discreet.vault.components import Added, book_of
from discreet.vault.documents import How

_STDIN = Path("-")
_SHOWN = 10
"""The number of reasons for refused records that are printed without `--json`."""


@dataclass(frozen=True)
class PreviewShown:
    """What `discreet add` would do.

    Attributes:
        preview: the preview.
    """

    preview: Preview


@dataclass(frozen=True, kw_only=True)
class AdditionShown(Added):
    """What `discreet add` did.

    Attributes:
        units: the number of units: private.
        warnings: what is worth a look.
        summary: the same in words.
    """

    units: int
    warnings: list[str]
    summary: str


@app.command()
@explained
def add(
    vault: VaultPath,
    paths: Annotated[
        list[Path],
        typer.Argument(metavar="PATH...", help="Files or folders (docs/files.md); - is the standard input."),
    ],
    text_field: Annotated[
        list[str] | None, typer.Option(help="A field with text. Default: text. Repeatable: joined in this order.")
    ] = None,
    unit_field: Annotated[
        str | None, typer.Option(help="The field that names the individual. Default: the vault's unit field.")
    ] = None,
    id_field: Annotated[str, typer.Option(help="The field with the document's id.")] = "id",
    units: Annotated[
        Path | None, typer.Option(metavar="MANIFEST", help="A table with a unit for each file: path, unit[, id].")
    ] = None,
    unit_from: Annotated[
        str, typer.Option(metavar="PATTERN", help="Take units from file paths: '{unit}/**', '{unit}_*.txt'.")
    ] = "",
    each_file_a_unit: Annotated[
        bool, typer.Option("--each-file-a-unit", help="Make each file that names no unit a unit.")
    ] = False,
    each_record_a_unit: Annotated[
        bool, typer.Option("--each-record-a-unit", help="Make each record that names no unit a unit.")
    ] = False,
    unit_may_be: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="The name of an individual that looks like none, such as Null. Repeatable."),
    ] = None,
    encoding: Annotated[
        str | None, typer.Option(help="The encoding of texts, tables, pages and mails. Default: detected.")
    ] = None,
    delimiter: Annotated[str | None, typer.Option(help="The delimiter of columns. Default: detected.")] = None,
    header_row: Annotated[
        int, typer.Option(metavar="N", help="The line of a table, or the row of each sheet, that names the columns.")
    ] = 1,
    date_format: Annotated[
        str, typer.Option(metavar="FORM", help="The form of dates: %d/%m/%Y. Default: forms with one meaning.")
    ] = "",
    drop_bad_fields: Annotated[
        bool, typer.Option("--drop-bad-fields", help="Leave out a declared field with a wrong value, not its record.")
    ] = False,
    without_quotes: Annotated[
        bool, typer.Option("--without-quotes", help="Of mails, keep what the sender wrote, without quoted mails.")
    ] = False,
    ocr: Annotated[
        bool, typer.Option("--ocr", help="Read pages of a PDF without text as pictures: seconds a page, with errors.")
    ] = False,
    kind: Annotated[
        str | None,
        typer.Option("--format", help="The format of the standard input: csv, tsv, xlsx, ... Default: JSON."),
    ] = None,
    ray: Annotated[
        str | None, typer.Option(metavar="ADDRESS", help="Embed on a Ray cluster: host:port, or local.")
    ] = None,
    code: Annotated[
        bool, typer.Option("--code/--no-code", help="Code and read the new records, if the others were.")
    ] = True,
    preview: Annotated[bool, typer.Option("--preview", help="Show a preview, and add nothing.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Add without asking.")] = False,
    as_json: Json = False,
) -> int:
    """Add documents, and replace changed ones. On a terminal, the command shows a preview and asks first."""
    opened = Vault.open(vault)
    rules = UnitRules(units, unit_from, each_file_a_unit, each_record_a_unit, tuple(unit_may_be or ()))
    how = How(text_field=text_field or "text", unit_field=unit_field, id_field=id_field, units=rules)
    how |= How(encoding=encoding, delimiter=delimiter, header_row=header_row, date_format=date_format)
    how |= How(drop_bad_fields=drop_bad_fields, without_quotes=without_quotes, ocr=ocr)
    with _found(paths, kind) as files:
        with doing("Finding the files"):
            intake = opened.intake(*files, **how)
            seen = intake.preview
        asks = not (preview or yes or as_json) and sys.stdin.isatty() and sys.stdout.isatty()
        if not as_json:
            _show(seen, full=preview or asks)
        if preview:
            if as_json:
                print_json(PreviewShown(seen))
            return BadData.exit_code if seen.refused else 0
        if asks and not typer.confirm("Add them?", default=False):
            err.print("Nothing was added.")
            return 1
        with doing("Reading and embedding documents", seen.records) as advance:
            added = opened.take_in(intake, lambda _, count: advance(count), ray)
    read = set[str]()
    try:
        if code:
            read.update(_code(opened))
    finally:  # what was added stays, also if the coding fails
        _report(opened, seen, added, read=read, as_json=as_json)
    return BadData.exit_code if added.bad else 0


def _code(vault: Vault) -> Iterator[str]:
    """Code all records, and let the model read them if it read before; also if nothing was added. Yield what is done.

    So what one file adds does not decide which other records have codes and statements.
    """
    book = book_of(vault.path)
    with doing_steps("Coding the documents") as told:
        if book and book.coded and vault.can_code:
            vault.code(lambda done, size: told("texts", done, size))
            yield CODES
        if vault.read_by_model:
            vault.read(lambda done, size: told("texts read by the model", done, size))
            yield READINGS


@contextmanager
def _found(paths: list[Path], kind: str | None) -> Iterator[list[Path | FoundFile]]:
    """Yield the paths. A file holds the content of the standard input (`-`) until the block ends."""
    if _STDIN not in paths:
        if kind is not None:
            raise UsageError(
                "--format works only with the standard input (-). The suffix of a file states its format: rename the "
                "file."
            )
        yield list(paths)
        return
    with kept_stdin(sys.stdin.buffer, kind) as file:
        yield [*(path for path in paths if path != _STDIN), file]


def _show(seen: Preview, *, full: bool) -> None:
    """Print the summary and the doubts of a preview; with `full`, also the rest."""
    out.print(f"{seen.summary}.", markup=False)
    out.print(f"{seen.fresh}.", markup=False)
    if full:
        out.print(f"Files: {seen.files:,}. Unit: '{seen.unit_field}'.", markup=False)
        if seen.units:
            largest = f" Largest: {seen.largest_unit}." if seen.largest > 1 else ""
            out.print(f"Units, for example: {', '.join(seen.examples)}.{largest}", markup=False)
        _print_left_out(seen, "Refused", seen.refused)
    for line in seen.formats:
        if full or "encoding utf-8" not in line:
            out.print(f"Read as: {line}.", markup=False)
    for doubt in seen.doubts:
        err.print(f"[yellow]Likely a mistake:[/] {escape(doubt)}")
    if full:
        for note in seen.notes:
            err.print(f"[yellow]Note:[/] {escape(note)}")


def _report(vault: Vault, seen: Preview, added: Added, *, read: Collection[str], as_json: bool) -> None:
    units = vault.store.count_units()
    warnings = [*seen.doubts, *seen.notes, *_about_size(vault, units), *_about_reading(vault, added, read)]
    if as_json:
        print_json(show_as(AdditionShown, added, units=units, warnings=warnings, summary=seen.summary))
        return
    number = f" Batch {added.batch}." if added.batch else ""
    out.print(
        f"{added.added} added, {added.replaced} replaced, {added.unchanged} unchanged; "
        f"the vault holds {counted(vault.store.count_documents(), 'document')} of {counted(units, 'unit')}.{number}"
    )
    for warning in warnings[len(seen.doubts) :]:
        err.print(f"[yellow]Note:[/] {escape(warning)}")
    _print_left_out(added, "Not added", added.bad)


def _print_left_out(found: Preview | Added, refusal: str, refused: tuple[BadRecord, ...]) -> None:
    """Print what is left out, grouped by reason: what is no fault, and what is refused."""
    no_faults = (("Added in part", found.in_part), ("Left out", found.empty), ("Erased", found.erased))
    for title, left, style in (*((*one, "yellow") for one in no_faults), (refusal, refused, "red")):
        reasons = grouped(left)
        for reason in reasons[:_SHOWN]:
            err.print(f"[{style}]{title}:[/] {escape(reason)}.")
        if len(reasons) > _SHOWN:
            err.print(f"[{style}]{title}:[/] for {len(reasons) - _SHOWN} more reasons; --json lists all.")


def _about_size(vault: Vault, units: int) -> list[str]:
    few = [warning] if (warning := too_few(vault.settings, units)) else []
    if not units or vault.settings.delta <= 1 / units:
        return few
    return [
        *few,
        f"Delta {vault.settings.delta:g} is above 1/{units}, one over the number of units. Such a delta permits the "
        "publication of one individual's documents. Make a vault with a far smaller delta.",
    ]


def _about_reading(vault: Vault, added: Added, read: Collection[str]) -> list[str]:
    """Return the note that new texts have no codes or statements yet, if the others have."""
    parts = vault.components
    complete = {CODES: parts.codes.complete, READINGS: parts.readings.complete}
    if not (added.added or added.replaced) or all(name in read for name, done in complete.items() if done):
        return []
    return [
        "Statistics and votes by what was coded or read leave these documents out until they are read. Read again: "
        f"discreet code {quoted(vault.path)}"
    ]


# --- discreet public --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class PublicCorpus:
    """The public corpus of a vault.

    Attributes:
        texts: the number of texts.
        sha256: the SHA-256 of the file; None if there is none.
        removed: whether it was removed.
    """

    texts: int
    sha256: str | None
    removed: bool


@app.command()
@explained
def public(
    vault: VaultPath,
    corpus: Annotated[
        Path | None,
        typer.Argument(metavar="CORPUS.jsonl", help="A corpus that all may read, such as one of `synthesize`."),
    ] = None,
    remove: Annotated[bool, typer.Option("--remove", help="Remove the public corpus.")] = False,
    force: Annotated[
        bool, typer.Option("--force", help="Use the corpus although it contains documents of the vault.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Set a public corpus that helps to answer at no cost, or show the current one."""
    if corpus is not None and remove:
        raise UsageError("CORPUS.jsonl and --remove are both given. Give only one of them.")
    opened = Vault.open(vault)
    context = opened.public_context
    removed = remove and context.remove()
    if corpus is not None:
        with doing("Reading the corpus"):
            context.use(corpus, force=force)
    texts = context.texts
    if as_json:
        print_json(PublicCorpus(len(texts) if texts else 0, texts.digest if texts else None, removed))
        return
    if texts is None:
        out.print("The public corpus is removed." if removed else "No public corpus is set.")
        return
    out.print(
        f"Public corpus: {len(texts)} texts, SHA-256 {texts.digest[:12]}. Answers may reveal its content to analysts."
    )

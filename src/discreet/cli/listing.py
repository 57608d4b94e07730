"""`discreet list`: list the content of a vault, for its custodian."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table

from discreet.cli.app import Json, VaultPath, app
from discreet.cli.output import err, explained, out, print_json
from discreet.cli.remove import never_filled, unknown_unit
from discreet.errors import UnknownName, UsageError
from discreet.store.protocol import ALL, BatchEntry, DocumentEntry, UnitEntry
from discreet.system.words import minute
from discreet.vault import Vault

KINDS = ("units", "documents", "batches")
_HEADINGS = {"time": "time (UTC)", "first": "first batch", "last": "last batch", "replaced": "replaced texts"}


@dataclass(frozen=True)
class UnitList:
    """The units of a vault.

    Attributes:
        units: the units: private.
        more: whether there are more rows.
    """

    units: list[UnitEntry]
    more: bool


@dataclass(frozen=True)
class DocumentList:
    """The documents of a vault.

    Attributes:
        documents: the documents, without their texts: private.
        more: whether there are more rows.
    """

    documents: list[DocumentEntry]
    more: bool


@dataclass(frozen=True)
class BatchList:
    """The batches of a vault.

    Attributes:
        batches: the batches, oldest first: private.
        more: whether there are more rows.
        unfinished: the numbers of the batches whose addition runs, or did not end.
    """

    batches: list[BatchEntry]
    more: bool
    unfinished: list[int]


_LISTS: dict[str, Any] = {"units": UnitList, "documents": DocumentList, "batches": BatchList}


@app.command(name="list")
@explained
def list_(
    vault: VaultPath,
    what: Annotated[str, typer.Argument(metavar="WHAT", help="units, documents, or batches.")],
    unit: Annotated[str | None, typer.Option("--unit", help="List only the documents of this individual.")] = None,
    limit: Annotated[int, typer.Option(min=0, help="The maximum number of rows; 0 for all.")] = 50,
    skip: Annotated[int, typer.Option(min=0, help="The number of first rows to skip.")] = 0,
    as_json: Json = False,
) -> None:
    """List the units, documents or batches of a vault. For the custodian: names are private.

    A batch is the documents of one `add`; discreet undo erases them.
    """
    if what not in KINDS:
        raise UnknownName("list", what, KINDS)
    if unit is not None and what != "documents":
        raise UsageError(
            f"--unit works only with documents, not with {what}. Use: discreet list VAULT documents --unit NAME."
        )
    opened = Vault.open(vault)
    # One entry more than the limit shows whether there are more.
    wanted = ALL if limit == 0 else limit + 1
    entries: list[Any] = []
    if not never_filled(opened):
        lists: Any = opened.inventory
        entries = lists.documents(unit, wanted, skip) if what == "documents" else getattr(lists, what)(wanted, skip)
    more, entries = limit > 0 and len(entries) > limit, entries[: limit or None]
    if as_json:
        unfinished = [opened.components.unfinished.batches] if what == "batches" else []
        print_json(_LISTS[what](entries, more, *unfinished))
        return
    if not entries:
        out.print(f"There are no {what} to list.")
        if unit is not None and not never_filled(opened) and not opened.inventory.documents(unit, 1):
            err.print(unknown_unit(opened, unit), markup=False)
        return
    out.print(_table([asdict(entry) for entry in entries]))
    for number in opened.components.unfinished.batches if what == "batches" else ():
        err.print(f"Batch {number} did not end, or its add still runs. To complete it, run the same add again.")
    if more:
        err.print(f"There are more rows. Show the next: --skip {skip + limit}. Show all: --limit 0.")


def _table(rows: Sequence[dict[str, Any]]) -> Table:
    table = Table()
    for name in rows[0]:
        table.add_column(_HEADINGS.get(name, name), no_wrap=name == "time")
    for row in rows:
        table.add_row(*(escape(_shown(value, name)) for name, value in row.items()))
    return table


def _shown(value: object, name: str) -> str:
    if name == "time":
        return minute(str(value))
    if isinstance(value, dict):
        text = ", ".join(f"{name}={one}" for name, one in value.items())
    elif isinstance(value, tuple):
        text = ", ".join(value[:3]) + (f", and {len(value) - 3} more" if len(value) > 3 else "")
    else:
        text = str(value)
    return "".join(char if char.isprintable() else "?" for char in text)

"""`discreet ledger`: what a vault released about what."""

from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Table

from discreet.cli.app import Json, VaultPath, app
from discreet.cli.output import counted, explained, out, print_json
from discreet.errors import UnknownName
from discreet.query.release_list import FACT, ReleaseEntry, list_releases
from discreet.query.statistics import KINDS
from discreet.vault import Vault


@app.command()
@explained
def ledger(
    vault: VaultPath,
    kind: Annotated[str, typer.Option(metavar="KIND", help="Only this kind: fact, count, share, list, ...")] = "",
    limit: Annotated[int, typer.Option(min=0, help="The maximum number of rows, the latest; 0 for all.")] = 50,
    as_json: Json = False,
) -> None:
    """Show what was released about what: question, kind, set, numbers with intervals, price and time.

    All of it left the vault, so asking for it again is free. Questions that released nothing new are not in it.
    """
    if kind and kind not in (FACT, *KINDS):
        raise UnknownName("kind of question", kind, (FACT, *KINDS))
    opened = Vault.open(vault)
    found = list_releases(opened.history, kind)
    shown = found[-limit:] if limit else found
    if as_json:
        print_json({"releases": [one.describe() for one in shown], "more": len(shown) < len(found)})
        return
    if not opened.settings.history:
        out.print("This vault keeps no released answers (init --no-history). Charges: discreet budget.")
    elif not found:
        out.print("Nothing was released yet." if not kind else f"No {kind} was released yet.")
    if not shown:
        return
    out.print(_table(shown))
    if len(shown) < len(found):
        out.print(f"{counted(len(found) - len(shown), 'earlier release')}: --limit 0 shows all.")


def _table(entries: list[ReleaseEntry]) -> Table:
    table = Table("time (UTC)", "kind", "set", "of which", "released", "epsilon", "question")
    for one in entries:
        cells = (
            one.time[:19].replace("T", " ") or "not known",
            one.kind,
            one.population or ("all" if one.kind != FACT else ""),
            " or ".join([*one.groups]) + (": " if one.groups and one.condition else "") + one.condition,
            "no answer" if one.answer is None else one.answer.strip(),
            "not known" if one.epsilon is None else f"{one.epsilon:.4g}",
            one.question,
        )
        table.add_row(*(escape(_printable(cell)) for cell in cells))
    return table


def _printable(text: str) -> str:
    return "".join(one if one.isprintable() or one == "\n" else "?" for one in text)

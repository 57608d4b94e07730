"""`discreet ledger`: what a vault released about what."""

from dataclasses import dataclass
from typing import Annotated

import typer

from discreet.cli.app import Json, VaultPath, app
from discreet.cli.output import counted, explained, out, print_json
from discreet.errors import UnknownName
from discreet.query.answer_cache import ReleaseEntry, list_releases
from discreet.questions.request import FACT, KINDS
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

"""`discreet units join`: two names of one individual become one unit."""

from dataclasses import dataclass
from typing import Annotated

import typer

from discreet.cli.app import Json, VaultPath, app
from discreet.cli.output import counted, explained, out, print_json
from discreet.cli.progress import doing
from discreet.cli.unit_names import check_filled, unknown_unit
from discreet.errors import UsageError
from discreet.operations.erasure import erasure_report
from discreet.vault import Vault

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

"""`discreet move`: move a vault to another folder."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from discreet.cli.app import Json, VaultPath, app
from discreet.cli.output import explained, out, print_json
from discreet.cli.progress import doing
from discreet.operations.move import move as move_vault


@dataclass(frozen=True)
class VaultMoved:
    """A vault that was moved.

    Attributes:
        vault: the folder of the vault.
        copied: whether files were copied to another disk.
        relative_models: models whose paths are relative.
    """

    vault: str
    copied: bool
    relative_models: list[str]


@app.command()
@explained
def move(
    vault: VaultPath,
    target: Annotated[Path, typer.Argument(metavar="NEWFOLDER", help="A new folder for the vault.")],
    as_json: Json = False,
) -> None:
    """Move a vault to another folder, also on another disk. The command refuses a vault that is visibly in use."""
    with doing("Moving the vault"):
        made = move_vault(vault, target)
    if as_json:
        print_json(VaultMoved(str(made.vault), made.copied, list(made.paths)))
        return
    out.print(f"The vault is at {made.vault} now.", markup=False)
    if made.copied:
        out.print("The vault was copied to another disk and deleted on the first. Free blocks there may still hold it.")
    for name in made.paths:
        out.print(
            f"The vault names a model by a relative path, {name}. Run commands in a folder where this path is valid.",
            markup=False,
        )
    out.print("Change the path in scripts, timers, services and backups that use the vault.")

"""`discreet move`: a vault at another place."""

from pathlib import Path
from typing import Annotated

import typer

from discreet.cli.app import Json, VaultPath, app
from discreet.cli.output import explained, out, print_json
from discreet.cli.progress import doing
from discreet.operations.move import move as move_vault


@app.command()
@explained
def move(
    vault: VaultPath,
    place: Annotated[Path, typer.Argument(metavar="NEWPLACE", help="A new folder for the vault.")],
    as_json: Json = False,
) -> None:
    """Bring a vault to another place, also on another disk. Refused while the vault is in use, if that can be seen."""
    with doing("Moving the vault"):
        made = move_vault(vault, place)
    if as_json:
        print_json({"vault": str(made.place), "copied": made.copied, "relative_models": list(made.paths)})
        return
    out.print(f"The vault is at {made.place} now.", markup=False)
    if made.copied:
        out.print("It was copied to another disk, and removed from the first; free blocks there may still hold it.")
    for name in made.paths:
        out.print(f"It names a model by a relative path, {name}: run commands from where that leads.", markup=False)
    out.print("Change the path in scripts, timers and services that use it, and in what backs it up.")

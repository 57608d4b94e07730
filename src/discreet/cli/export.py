"""`discreet export-vectors`: vectors for a vector database that is not trusted."""

from pathlib import Path
from typing import Annotated

import typer

from discreet.cli.app import Json, VaultPath, app
from discreet.cli.output import explained, out, print_json
from discreet.cli.progress import doing
from discreet.export.vectors import ROWS, SIZE, Export
from discreet.vault import Vault


@app.command()
@explained
def export_vectors(
    vault: VaultPath,
    output: Annotated[Path, typer.Option("--out", metavar="FILE.npz", help="Where the vectors go.")],
    epsilon: Annotated[float, typer.Option(help="The price, which everybody pays.")],
    delta: Annotated[float | None, typer.Option(help="Its delta; the vault's if not given.")] = None,
    k: Annotated[int, typer.Option(help="To how many numbers a vector is projected.")] = SIZE,
    rows: Annotated[int, typer.Option(help="How many rows the file has, whatever the vault holds: public.")] = ROWS,
    force: Annotated[bool, typer.Option("--force", help="Write over the file.")] = False,
    as_json: Json = False,
) -> None:
    """Write one vector for each unit, projected and with noise, for a database that is not trusted with them."""
    opened = Vault.open(vault)
    wanted = Export(epsilon=epsilon, delta=opened.settings.delta if delta is None else delta, k=k, rows=rows)
    with doing("Drawing noise"):
        made = opened.export_vectors(output, wanted, force=force)
    if as_json:
        told = {"out": str(output), "rows": rows, "units": made.units, "left_out": made.left_out}
        print_json(told | {"receipt": made.receipt.describe()})
        return
    out.print(f"{rows} rows of {k} numbers: {output}", markup=False)
    out.print(f"  for you alone: {made.units} hold a unit; {made.left_out} units found no row, or could not pay.")
    out.print(
        f"  receipt: epsilon {made.receipt.epsilon:.4g}, delta {made.receipt.delta:g}; {made.receipt.relation} of one "
        f"'{made.receipt.unit}'; made by {made.receipt.payment}",
        markup=False,
    )
    out.print("  It protects the vectors, not a text that is found with them and put into a prompt.")

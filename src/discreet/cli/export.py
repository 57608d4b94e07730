"""`discreet export-vectors`: write vectors for an untrusted vector database."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from discreet.cli.app import Json, VaultPath, app
from discreet.cli.output import explained, print_json, say
from discreet.cli.progress import doing
from discreet.export.vectors import ROWS, SIZE, Export
from discreet.privacy.filter import ReceiptShown
from discreet.vault import Vault


@dataclass(frozen=True)
class VectorsWritten:
    """A file of vectors with noise.

    Attributes:
        out: the path that was written.
        rows: the number of rows of the file: public.
        units: the number of units that have a row: private.
        left_out: the number of units that got no row, or could not pay: private.
        receipt: what was paid, as in an answer.
    """

    out: str
    rows: int
    units: int
    left_out: int
    receipt: ReceiptShown


@app.command()
@explained
def export_vectors(
    vault: VaultPath,
    output: Annotated[Path, typer.Option("--out", metavar="FILE.npz", help="The output file.")],
    epsilon: Annotated[float, typer.Option(help="The cost, which all units pay.")],
    delta: Annotated[float | None, typer.Option(help="The delta of the cost. Default: the vault's delta.")] = None,
    k: Annotated[int, typer.Option(help="The dimension of a projected vector.")] = SIZE,
    rows: Annotated[int, typer.Option(help="The number of rows of the file: public.")] = ROWS,
    force: Annotated[bool, typer.Option("--force", help="Overwrite an existing file.")] = False,
    as_json: Json = False,
) -> None:
    """Write one projected vector with noise for each unit, for an untrusted vector database."""
    opened = Vault.open(vault)
    wanted = Export(epsilon=epsilon, delta=opened.settings.delta if delta is None else delta, k=k, rows=rows)
    with doing("Drawing noise"):
        export = opened.export_vectors(output, wanted, force=force)
    if as_json:
        print_json(VectorsWritten(str(output), rows, export.units, export.left_out, export.receipt.shown()))
        return
    say("vectors.txt", made=export, rows=rows, k=k, out=output)

"""`discreet report`: write a report about a vault as a page."""

from pathlib import Path
from typing import Annotated

import typer

from discreet.cli.app import Json, VaultPath, app
from discreet.cli.output import explained, out, print_json
from discreet.cli.progress import doing
from discreet.errors import UsageError
from discreet.operations.page import Kind, as_page
from discreet.operations.report import gather
from discreet.system.output_path import check_output_path, write_private


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

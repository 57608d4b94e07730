"""`discreet report`: a page for the person who signs."""

from pathlib import Path
from typing import Annotated

import typer

from discreet.cli.app import Json, VaultPath, app
from discreet.cli.output import explained, out, print_json
from discreet.cli.progress import doing
from discreet.errors import UsageError
from discreet.operations.page import as_page
from discreet.operations.report import gather
from discreet.system.output_path import check_output_path, write_private


@app.command()
@explained
def report(
    vault: VaultPath,
    output: Annotated[Path | None, typer.Option("--out", metavar="FILE.html", help="Where the page goes.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Write over the file.")] = False,
    as_json: Json = False,
) -> None:
    """Write a page about a vault for the person who signs: grant, questions, erasures, versions, state.

    For the custodian: parts of it are private, and marked. It holds no text of a document.
    """
    if output is None and not as_json:
        raise UsageError("Say where the page goes: --out FILE.html. For a program: --json.")
    if output is not None:
        check_output_path(output, vault, force=force)
    with doing("Reading the vault, and the models' digests"):
        found = gather(vault)
        if output is not None:
            write_private(output, as_page(found))
    if as_json:
        print_json(found.describe())
        return
    out.print(f"Written to {output}, which its owner alone may read: parts of it are private.", markup=False)

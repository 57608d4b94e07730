"""`discreet read`: read the statements of all texts once, so that lists and votes need no model later."""

from typing import Annotated

import typer

from discreet.cli.app import Json, VaultPath, app
from discreet.cli.output import counted, explained, out, print_json
from discreet.cli.progress import doing_steps
from discreet.vault import Vault


@app.command()
@explained
def read(
    vault: VaultPath,
    ray: Annotated[
        str | None, typer.Option(metavar="ADDRESS", help="Run the model on a Ray cluster: host:port, or local.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Read what each document states, once.

    Lists and fast answers need it. The model reads each text by itself. Nothing is released, and nothing is charged.
    Run the command again after an interruption or after new documents: what was read is kept.
    """
    opened = Vault.open(vault)
    with doing_steps("Reading the documents") as told:
        texts = opened.read(lambda done, size: told("texts", done, size), ray=ray)
    if as_json:
        print_json({"texts": texts})
        return
    out.print(f"{counted(texts, 'text')} read. Nothing was charged.")
    out.print(f'Next: discreet ask {vault} "What are the most common symptoms of ...?"', markup=False)

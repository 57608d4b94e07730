"""`discreet public`: the corpus that a vault's public prompt may read."""

from pathlib import Path
from typing import Annotated

import typer

from discreet.cli.app import Json, VaultPath, app
from discreet.cli.output import err, explained, out, print_json, working
from discreet.errors import UsageError
from discreet.vault import Vault


@app.command()
@explained
def public(
    vault: VaultPath,
    corpus: Annotated[
        Path | None, typer.Argument(metavar="CORPUS.jsonl", help="A corpus that anybody may read: see `synthesize`.")
    ] = None,
    remove: Annotated[bool, typer.Option("--remove", help="Use none any more.")] = False,
    as_json: Json = False,
) -> None:
    """Name a public corpus that helps to answer, for nothing; or show which one is named."""
    if corpus is not None and remove:
        raise UsageError("Name a corpus, or remove the one that is named: not both.")
    opened = Vault.open(vault)
    context = opened.public_context
    removed = remove and context.remove()
    held = looked_up = 0
    if corpus is not None:
        with working("Reading the corpus"):
            context.use(corpus)
            held, looked_up = context.held_by(opened.store)
    texts = context.texts
    if as_json:
        content = {"texts": len(texts) if texts else 0, "sha256": texts.digest if texts else None}
        print_json(content | {"removed": removed, "looked_up": looked_up, "documents_of_the_vault": held})
        return
    if texts is None:
        out.print("The public corpus is removed." if removed else "No public corpus is named.")
        return
    out.print(
        f"Public corpus: {len(texts)} texts, SHA-256 {texts.digest[:12]}. Whoever asks may be told what stands in it."
    )
    if held:
        err.print(
            f"[bold red]Warning:[/] of {looked_up} texts looked up, {held} are documents of this vault, word for word. "
            f"What is named here may be told to anybody. If that was a mistake: discreet public {vault} "
            "--remove"
        )

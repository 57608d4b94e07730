"""`discreet public`: the corpus that a vault's public prompt may read."""

from pathlib import Path
from typing import Annotated

import typer

from discreet.cli.app import Json, VaultPath, app
from discreet.cli.output import explained, out, print_json
from discreet.cli.progress import doing
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
    force: Annotated[bool, typer.Option("--force", help="Although it holds documents of the vault.")] = False,
    as_json: Json = False,
) -> None:
    """Name a public corpus that helps to answer, for nothing; or show which one is named."""
    if corpus is not None and remove:
        raise UsageError("Name a corpus, or remove the one that is named: not both.")
    opened = Vault.open(vault)
    context = opened.public_context
    removed = remove and context.remove()
    if corpus is not None:
        with doing("Reading the corpus"):
            context.use(corpus, force=force)
    texts = context.texts
    if as_json:
        content = {"texts": len(texts) if texts else 0, "sha256": texts.digest if texts else None}
        print_json(content | {"removed": removed})
        return
    if texts is None:
        out.print("The public corpus is removed." if removed else "No public corpus is named.")
        return
    out.print(
        f"Public corpus: {len(texts)} texts, SHA-256 {texts.digest[:12]}. Whoever asks may be told what stands in it."
    )

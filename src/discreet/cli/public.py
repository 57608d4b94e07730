"""`discreet public`: set the public corpus that a vault's public prompt reads."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from discreet.cli.app import Json, VaultPath, app
from discreet.cli.output import explained, out, print_json
from discreet.cli.progress import doing
from discreet.errors import UsageError
from discreet.vault import Vault


@dataclass(frozen=True)
class PublicCorpus:
    """The public corpus of a vault.

    Attributes:
        texts: the number of texts.
        sha256: the SHA-256 of the file; None if there is none.
        removed: whether it was removed.
    """

    texts: int
    sha256: str | None
    removed: bool


@app.command()
@explained
def public(
    vault: VaultPath,
    corpus: Annotated[
        Path | None,
        typer.Argument(metavar="CORPUS.jsonl", help="A corpus that all may read, such as one of `synthesize`."),
    ] = None,
    remove: Annotated[bool, typer.Option("--remove", help="Remove the public corpus.")] = False,
    force: Annotated[
        bool, typer.Option("--force", help="Use the corpus although it contains documents of the vault.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Set a public corpus that helps to answer at no cost, or show the current one."""
    if corpus is not None and remove:
        raise UsageError("CORPUS.jsonl and --remove are both given. Give only one of them.")
    opened = Vault.open(vault)
    context = opened.public_context
    removed = remove and context.remove()
    if corpus is not None:
        with doing("Reading the corpus"):
            context.use(corpus, force=force)
    texts = context.texts
    if as_json:
        print_json(PublicCorpus(len(texts) if texts else 0, texts.digest if texts else None, removed))
        return
    if texts is None:
        out.print("The public corpus is removed." if removed else "No public corpus is set.")
        return
    out.print(
        f"Public corpus: {len(texts)} texts, SHA-256 {texts.digest[:12]}. Answers may reveal its content to analysts."
    )

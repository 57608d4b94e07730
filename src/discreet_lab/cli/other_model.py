"""`--model` of commands that measure: the vault's documents with another language model."""

from typing import Annotated

import typer

from discreet.generation.loading import PACKAGED, open_model
from discreet.planning.models import check_parts
from discreet.retrieval.embedding import HashingEmbedder
from discreet.vault import Vault

OtherModel = Annotated[str, typer.Option("--model", metavar="NAME", help="Another language model.", show_default=False)]


def check_model(name: str, embedder: str = "") -> None:
    """Notice a misspelt model or embedder before documents are read. "" is the vault's own.

    Raises:
        MissingPart: if a package is not installed.
        UnknownName, UsageError: if there is no such model or embedder.
    """
    if name or embedder:
        check_parts(name or PACKAGED, embedder or HashingEmbedder.name, download=True)


def with_model(vault: Vault, name: str) -> Vault:
    """Return the vault with another language model for this process; itself if `name` is ""."""
    return Vault.open(vault.path, model=open_model(name)) if name else vault

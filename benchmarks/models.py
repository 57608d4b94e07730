"""The option `--model`: a figure with another language model than the one that was recorded."""

import argparse
from pathlib import Path
from typing import Any

from discreet.generation.loading import PACKAGED, load_model
from discreet.generation.torch_backend.transformers_model import TransformersModel
from discreet.vault import Vault


def add_model_option(parser: argparse.ArgumentParser) -> None:
    """Add the option `--model NAME`, whose value is the attribute `model`, and None if it is not given."""
    parser.add_argument(
        "--model",
        metavar="NAME",
        help=f"the language model: a folder, or a name on the hub; default: the vault's, or {PACKAGED}",
    )


def model_name(asked: str | None) -> str:
    """Return the name of the model for a new vault."""
    return asked or PACKAGED


def asked_model(asked: str | None) -> TransformersModel:
    """Return the model that was asked for, or the packaged one."""
    return load_model(model_name(asked))


def vault_in(path: Path, asked: str | None, **settings: Any) -> Vault:
    """Return the vault in a folder; make it if it is not there, with the model that was asked for."""
    if path.exists():
        return open_vault(path, asked)
    return Vault.create(path, model=model_name(asked), **settings)


def open_vault(path: Path, asked: str | None) -> Vault:
    """Return a vault that exists, with the model that was asked for in place of its own."""
    return Vault.open(path, model=load_model(asked)) if asked else Vault.open(path)

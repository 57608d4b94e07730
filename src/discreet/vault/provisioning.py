"""Create the folder of a new vault."""

import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from discreet.algorithms.common.ensemble import check_number
from discreet.config import VaultConfig, read_config, write_config
from discreet.errors import DiscreetError, StoreError, UsageError
from discreet.generation.loading import PACKAGED
from discreet.generation.opening import is_plugin_model
from discreet.ledger.opening import create_ledger
from discreet.planning.askable import EMPTY
from discreet.planning.grants import check_people
from discreet.planning.spelling import check_spelling
from discreet.plugins import EMBEDDERS as PLUGGED_EMBEDDERS
from discreet.plugins import MODELS, find_names
from discreet.privacy.accounting import Budget
from discreet.reading.fields import check_types
from discreet.retrieval.embedding import EMBEDDERS
from discreet.retrieval.store_registry import store_type_of


def make_folder(path: Path, settings: VaultConfig, failure_share: float) -> None:
    """Make the folder of a vault, with an empty store and a new ledger.

    Raises:
        UsageError: if the configuration is invalid, if `path` is not empty, or if the name of a model is misspelt.
        StoreError: if the folder cannot be written.
    """
    check_number("epsilon", settings.epsilon)
    if settings.people:
        check_people(settings.people)
    settings = replace(settings, fields=check_types(settings.fields, settings.unit_field))
    if not settings.unit_field.strip():
        raise UsageError("The name of the unit field is empty. Name the field of the individual, such as 'patient'.")
    if not is_plugin_model(settings.model):
        check_spelling("language model", settings.model, [PACKAGED, *find_names(MODELS)])
    check_spelling("embedder", settings.embedder, [*EMBEDDERS, *find_names(PLUGGED_EMBEDDERS)])
    store = store_type_of(settings)
    if not 0 < settings.delta < 1:
        raise UsageError(f"Delta is {settings.delta}. Expected: a probability between 0 and 1, such as 1e-6.")
    try:
        if path.exists() and (not path.is_dir() or any(path.iterdir())):
            raise UsageError(f"There is already something at {path}. Choose a new folder for the vault.")
        path.parent.mkdir(parents=True, exist_ok=True)
        # Made beside `path` and renamed: after a crash there is a whole vault or none.
        with tempfile.TemporaryDirectory(dir=path.parent, prefix=".vault-") as made:
            folder = Path(made) / "vault"
            folder.mkdir(mode=0o700)
            (folder / "store").mkdir()
            (folder / EMPTY).touch()
            settings = write_config(folder, settings)
            grant = Budget(settings.epsilon, settings.delta, failure_share * settings.delta)
            with _made(store):
                create_ledger(folder, settings, grant)
                os.replace(folder, path)
    except OSError as error:
        raise StoreError(f"The vault could not be made at {path}: {error.strerror}.") from error


def change_settings(path: Path, fields: Mapping[str, str], model: str = "") -> VaultConfig:
    """Declare more fields in a vault, or name another model. Return the settings.

    The settings are public, and no document has any influence on them. The ledger, the balances and what was released
    stay. A record gets a value of the field when it is added again: then it is another record, and replaces the first.

    Args:
        path: the folder of the vault.
        fields: the types of the new fields, by name.
        model: the model; empty for the same.

    Raises:
        UsageError: if a field was declared before. Nothing was changed.
    """
    settings = read_config(path)
    if again := [name for name in fields if name in settings.fields]:
        raise UsageError(
            f"The field '{again[0]}' is declared as {settings.fields[again[0]]}, which stays: its values were added as "
            "such. Declare a field of another name. Nothing was changed."
        )
    if model and not is_plugin_model(model):
        check_spelling("language model", model, [PACKAGED, *find_names(MODELS)])
    fields = check_types({**settings.fields, **fields}, settings.unit_field)
    return write_config(path, replace(settings, fields=fields, model=model or settings.model))


@contextmanager
def _made(store: Any) -> Iterator[None]:
    """Make a store in a database. If the block fails, remove it."""
    if not hasattr(store, "make"):  # a store in the vault's folder is made with the first document
        yield
        return
    store.make()
    try:
        yield
    except BaseException:
        with suppress(DiscreetError):
            store.drop()
        raise

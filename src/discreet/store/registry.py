"""Open the store that a vault's settings name: a built-in one, one in PostgreSQL, or one of a plug-in."""

from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

from discreet import plugins
from discreet.config import DEFAULT_STORE, VaultConfig
from discreet.errors import UnknownName, UsageError
from discreet.store.protocol import Store, StoreType
from discreet.system.databases import is_postgres


def load_store_type(name: str) -> StoreType:
    """Return the store called `name`: the built-in one, or a plug-in of the group `discreet.stores`.

    Raises:
        UnknownName: if there is no such store.
        UsageError: if it is a plug-in that cannot be loaded.
    """
    if name == DEFAULT_STORE:
        from discreet.store.embedded_store import EmbeddedStore  # SQLAlchemy takes a moment to load

        return EmbeddedStore
    kind: StoreType | None = plugins.load_plugin(plugins.STORES, name, find_defect)
    if kind is None:
        raise UnknownName("store", name, {DEFAULT_STORE, *plugins.find_names(plugins.STORES)})
    return kind


def store_type_of(config: VaultConfig) -> StoreType:
    """Return the store of a vault: the one at the address of a PostgreSQL database or of a plug-in, or of a name.

    The scheme of an address names a plug-in of the group `discreet.store_addresses`.

    Raises:
        UnknownName, UsageError: see `load_store_type`.
    """
    if is_postgres(config.store):
        from discreet.store.postgres_store import PostgresStoreType

        return PostgresStoreType(config.store, config.store_name)
    if not is_address(config.store):
        return load_store_type(config.store)
    open_address = plugins.load_plugin(plugins.STORE_ADDRESSES, config.store.partition("://")[0].lower())
    if open_address is None:  # the address may hold a password, and is not shown
        raise UsageError(
            "The store is neither a name nor a known address. Expected: the URL of a PostgreSQL database "
            "(postgresql://user@host/database), or an address of an installed plug-in."
        )
    store_type: StoreType = open_address(config.store, config.store_name)
    return store_type


def is_address(store: str) -> bool:
    """Return whether the store of a vault's settings is an address, and no name."""
    return ":" in store


def find_defect(store_type: Any) -> str:
    """Return why an object is no `StoreType`; "" if no defect is found."""
    if not callable(store_type) or not callable(getattr(store_type, "stored_dimension", None)):
        return "It is not a store: it needs a constructor (folder, dimension) and stored_dimension(folder)."
    methods = [name for name in vars(Store) if not name.startswith("_")]
    if isinstance(store_type, type) and (lacking := [name for name in methods if not hasattr(store_type, name)]):
        return f"It is not a store: it lacks {', '.join(lacking)}."
    return ""


def open_store(config: VaultConfig, folder: Path, dimension: Callable[[], int]) -> Store:
    """Open the store of a vault, or create it.

    Args:
        config: the vault's settings.
        folder: VAULT/store.
        dimension: returns the length of the embedder's vectors; called only if nothing was ever added.

    Raises:
        StoreError, VaultVersionError: if the store cannot be read, is damaged, or has another format.
        UnknownName, UsageError: see `load_store_type`.
    """
    store_type = store_type_of(config)
    return store_type(folder, store_type.stored_dimension(folder) or dimension())


def stored_dimension(config: VaultConfig, folder: Path) -> int | None:
    """Return the length of the vectors in the store in `folder`; None if nothing was ever added.

    Raises:
        StoreError: if the store cannot be read, or is damaged.
        UnknownName, UsageError: see `load_store_type`.
    """
    return store_type_of(config).stored_dimension(folder)


def count_units(config: VaultConfig, folder: Path) -> int:
    """Return the number of units in the store in `folder`, without an embedder; 0 if nothing was ever added.

    Raises:
        StoreError: if the store cannot be read, or is damaged.
        VaultVersionError: if it has another format.
        UnknownName, UsageError: see `load_store_type`.
    """
    store_type = store_type_of(config)
    dimension = store_type.stored_dimension(folder)
    if dimension is None:
        return 0
    with closing(store_type(folder, dimension)) as store:
        return store.count_units()

"""Checks of a store in Qdrant: its texts in the vault's folder, its collection, and the connection to the server.

    python -m discreet_qdrant.check VAULT

It prints a line for each finding, and ends with 1 if there is a problem.
"""

import sqlite3
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from discreet.config import VaultConfig, read_config
from discreet.errors import DiscreetError, StoreError
from discreet.operations.checks import Finding, look_at_tables, looking, problem, problems, sound, unreadable, warning
from discreet.store.embedded_store import TEXTS, explained
from discreet.store.embedding import EMBEDDERS
from discreet_qdrant.address import read_address
from discreet_qdrant.engine import Engine, check_shape

_RESTORE = "Restore the vault's folder and a snapshot of its collection, of one time."


def check_qdrant_store(store: Path, settings: VaultConfig) -> Iterator[Finding]:
    """Check the store: texts and vectors are whole, scores are exact, and no erased vector remains."""
    from discreet_qdrant.client import Client

    try:
        address = read_address(settings.store)
        if not (address.encrypted or address.is_local):
            yield warning(
                "connection",
                "The connection to Qdrant is not encrypted, and vectors of documents cross the network.",
                "Set up TLS on the server, and write qdrants:// in place of qdrant:// in vault.json.",
            )
        with closing(Client(address)) as engine:
            names = engine.names(f"{settings.store_name}-")
            if not (store / TEXTS).exists():
                yield warning("store", "The vault has no documents yet.", "Add documents: discreet add VAULT FILES.")
                return
            try:
                with explained(), looking(store / TEXTS) as database:
                    yield from _look(database, engine, names, settings)
            except StoreError as error:
                yield unreadable(store, error)
    except DiscreetError as error:
        yield problem("store", str(error), "Mend the server, then check the store again.")


def _look(database: sqlite3.Connection, engine: Engine, names: list[str], settings: VaultConfig) -> Iterator[Finding]:
    found = list(look_at_tables(database))
    yield from found
    if any(one.level == "problem" for one in found):
        return
    ((dimension,),) = database.execute("select dimension from store")
    ((name,),) = database.execute("select name from collection")
    made = getattr(EMBEDDERS.get(settings.embedder), "dimension", dimension)
    if made != dimension:
        yield problem(
            "vectors",
            f"The store has vectors of dimension {dimension}; the vault's embedder has dimension {made}.",
            _RESTORE,
        )
        return
    try:
        check_shape(engine, name, dimension)
    except StoreError as error:
        yield problem("collection", str(error), _RESTORE)
        return
    yield sound("collection", f"The collection {name} in Qdrant has exact products, and no copies.")
    yield _counted(engine.count(name), int(database.execute("select count(*) from chunk").fetchone()[0]))
    if set(names) - {name}:
        yield warning(
            "erased vectors",
            "Qdrant has an older collection of this vault, with vectors of erased documents, or a copy of the vault "
            "uses the same server.",
            f"If no copy of the vault is in use, remove from Qdrant: {', '.join(sorted(set(names) - {name}))}.",
        )


def _counted(points: int, chunks: int) -> Finding:
    if points < chunks:
        return problem("vectors", f"Qdrant lacks {chunks - points:,} of the {chunks:,} vectors of the texts.", _RESTORE)
    if points > chunks:
        return warning(
            "vectors",
            f"Qdrant has {points - chunks:,} vectors without a text: of documents that are being added, or of a write "
            "that was interrupted. No answer depends on them.",
            "The next command that removes or replaces a document removes them.",
        )
    return sound("vectors", "Each text has a vector.")


def main() -> int:
    """Print the findings, and return the exit code."""
    vault = Path(sys.argv[1])
    found = list(check_qdrant_store(vault / "store", read_config(vault)))
    for one in found:
        print(f"{one.level}: {one.check}: {one.what} {one.remedy}".strip())
    return bool(problems(found))


if __name__ == "__main__":
    sys.exit(main())

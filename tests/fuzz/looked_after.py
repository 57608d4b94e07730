"""A vault that is damaged, looked over; a backup that is damaged, restored."""

import shutil
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path

from discreet.log.replay import Counter
from discreet.operations.backup import back_up, restore
from discreet.operations.doctor import examine
from discreet.vault import Vault
from tests.fuzz.mutations import Mutation, of_bytes, of_json, of_packed
from tests.fuzz.targets import Target
from tests.fuzz.vaults import vault_in


def _of_vault(name: str) -> bytes:
    """A sound file of a vault: of the one vault that all files are of, as a ledger and its counter belong together."""
    return (vault_in(_one_vault()) / name).read_bytes()


@cache
def _one_vault() -> Path:
    return Path(tempfile.mkdtemp())


def _of_backup(name: str) -> bytes:
    """A sound file of a backup, or the archive itself."""
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        place = folder / ("copy" if name else "copy.tar.gz")
        back_up(vault_in(folder), place)
        return (place / name if name else place).read_bytes()


def _looked_over(name: str) -> Callable[[Path, bytes], str]:
    def run(folder: Path, data: bytes) -> str:
        path = vault_in(folder)
        for one in ("ledger.sqlite", "counter.json"):
            (path / one).write_bytes(_of_vault(one))
        (path / name).write_bytes(data)
        levels = [one.level for one in examine(path)]
        Counter(path / "counter.json").read()
        assert levels
        return "problem" if "problem" in levels else ""

    return run


def _restored(name: str) -> Callable[[Path, bytes], str]:
    def run(folder: Path, data: bytes) -> str:
        for left in ("copy", "copy.tar.gz", "again"):
            path = folder / left
            shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
        place = folder / ("copy" if name else "copy.tar.gz")
        if name:
            back_up(vault_in(folder), place)
        (place / name if name else place).write_bytes(data)
        restore(place, folder / "again", force=True)
        assert Vault.open(folder / "again").store.count_documents() == 6
        return ""

    return run


def _looking(name: str, mutate: Mutation, seed: bytes) -> Target:
    return Target(f"doctor: {name}", 3, (seed,), _looked_over(name), mutate)


LOOKED_AFTER = (
    _looking("ledger.sqlite", of_bytes, _of_vault("ledger.sqlite")),
    _looking("store/store.sqlite", of_bytes, _of_vault("store/store.sqlite")),
    _looking("counter.json", of_json, _of_vault("counter.json")),
    _looking("restored.json", of_json, b'{"restored": "2026", "backup_made": "2026", "forced": false}'),
    Target("backup: archive", 3, (_of_backup(""),), _restored(""), of_packed),
    Target("backup: manifest", 3, (_of_backup("backup.json"),), _restored("backup.json"), of_json),
)

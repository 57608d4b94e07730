"""A vault is moved as a whole, and never while it is in use."""

import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from discreet.errors import UsageError
from discreet.operations import move as module
from discreet.operations.doctor import examine
from discreet.operations.move import move
from discreet.vault import Vault
from tests.operations.conftest import CHEAP, Make, with_toy

USING = """
import sys
import tempfile
from discreet.vault import Vault
vault = Vault.open(sys.argv[1])
print("open", flush=True)
input()
"""


def let_go(vault: Vault) -> None:
    vault.ledger.place.engine.dispose()
    vault.store.close()


def test_vault_answers_where_it_was_moved(make: Make, tmp_path: Path) -> None:
    vault = make("hospital")
    vault.ask("numb thumbs?", CHEAP)
    paid = vault.ledger.unit_balances()
    let_go(vault)
    moved = move(vault.path, tmp_path / "clinic")
    assert (moved.vault, moved.copied, moved.paths) == (tmp_path / "clinic", False, ())
    assert not vault.path.exists()
    assert with_toy(Vault.open(moved.vault)).ledger.unit_balances() == paid


def test_vault_is_copied_to_another_disk_and_removed_here(make: Make, tmp_path: Path) -> None:
    other = Path("/dev/shm")
    if not other.is_dir() or other.stat().st_dev == tmp_path.stat().st_dev:
        pytest.skip("no second disk")
    vault = make("hospital")
    let_go(vault)
    place = other / f"discreet-{tmp_path.parent.name}-{tmp_path.name}"
    try:
        assert move(vault.path, place).copied
        assert not vault.path.exists()
        assert not list(tmp_path.glob(".move-*"))
        assert Vault.open(place).store.count_documents() == 30
        assert not [one for one in examine(place) if one.level == "problem"]
    finally:
        subprocess.run(["rm", "-rf", str(place)], check=True)


def test_move_interrupted_at_the_last_step_changes_nothing(
    make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    vault = make("hospital")
    target = tmp_path / "elsewhere"

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as changed:
        changed.setattr("os.replace", interrupted)
        with pytest.raises(KeyboardInterrupt):
            module._across(vault.path, target)
    assert not target.exists()
    assert not list(tmp_path.glob(".move-*"))
    assert with_toy(Vault.open(vault.path)).store.count_documents() == 30


def test_vault_in_use_is_not_moved(make: Make, tmp_path: Path) -> None:
    vault = make("hospital")
    let_go(vault)
    code = (
        "import sys; from discreet.vault import Vault; v = Vault.open(sys.argv[1]); print('open', flush=True); input()"
    )
    command = [sys.executable, "-c", code, str(vault.path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "open\n"
        with pytest.raises(UsageError, match="its ledger is open"):
            move(vault.path, tmp_path / "clinic")
        other.communicate("\n")
    move(vault.path, tmp_path / "clinic")


def test_vault_into_which_documents_are_added_is_not_moved(make: Make, tmp_path: Path) -> None:
    vault = make("hospital")
    let_go(vault)
    with Vault.open(vault.path).components.traces._mark(), pytest.raises(UsageError, match="being added"):
        move(vault.path, tmp_path / "clinic")


def test_place_that_is_taken_is_refused(make: Make, tmp_path: Path) -> None:
    vault = make("hospital")
    let_go(vault)
    (tmp_path / "there").mkdir()
    for place in ("there", "no/folder", "hospital/inside"):
        with pytest.raises(UsageError):
            move(vault.path, tmp_path / place)
    assert vault.path.exists()


KILLED = """
import os, signal, sys
from pathlib import Path
from discreet.operations import move as module
module.sync = lambda folder: os.kill(os.getpid(), signal.SIGKILL)
module.move(Path(sys.argv[1]), Path(sys.argv[2]))
"""


def test_killed_move_to_another_disk_changes_nothing(make: Make, tmp_path: Path) -> None:
    other = Path("/dev/shm")
    if not other.is_dir() or other.stat().st_dev == tmp_path.stat().st_dev:
        pytest.skip("no second disk")
    vault = make("hospital")
    let_go(vault)
    with tempfile.TemporaryDirectory(dir=other, prefix="discreet-") as folder:
        place = Path(folder) / "clinic"
        done = subprocess.run([sys.executable, "-c", KILLED, vault.path, place], check=False)
        assert done.returncode == -signal.SIGKILL
        assert not place.exists()
        assert Vault.open(vault.path).store.count_documents() == 30
        assert len(list(Path(folder).glob(".move-*"))) == 1, "which the doctor names, once the vault is there"

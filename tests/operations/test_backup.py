"""A backup is of one moment, though the vault is in use; what is restored has paid for each answer that it shows."""

import json
import os
import shutil
import signal
import sqlite3
import stat
import subprocess
import sys
import tarfile
import threading
from contextlib import closing
from pathlib import Path

import pytest

from discreet.errors import BadData, LedgerError, StoreError, UsageError
from discreet.log.replay import COUNTER, Counter
from discreet.operations import copying
from discreet.operations.backup import back_up, restore
from discreet.operations.checks import problems
from discreet.operations.doctor import examine
from discreet.store.documents import Document
from discreet.vault import Vault
from discreet_server.accounts import Accounts, Limits
from discreet_server.audit_log import AuditLog
from discreet_server.config import ACCOUNTS, AUDIT_LOG
from tests.guarantee.ledger.conftest import drop_triggers
from tests.operations.conftest import CHEAP, Make, with_toy


def answers(folder: Path) -> int:
    history = folder / "history.jsonl"
    return sum(line.startswith("{") for line in history.read_text().splitlines()) if history.exists() else 0


@pytest.mark.parametrize("name", ["copy.tar.gz", "copy"])
def test_restored_vault_answers_as_the_first_did(make: Make, tmp_path: Path, name: str) -> None:
    vault = make("hospital")
    answer = vault.ask("numb thumbs?", CHEAP)
    made = back_up(vault.path, tmp_path / name)
    assert (made.manifest.questions, made.manifest.ledger) == (1, "file")
    done = restore(tmp_path / name, tmp_path / "again")
    assert (done.lost, done.other) == (None, vault.path)
    again = with_toy(Vault.open(tmp_path / "again"))
    assert again.ledger.unit_balances() == vault.ledger.unit_balances()
    assert again.ask("numb thumbs?", CHEAP).text == answer.text, "from the history, for nothing"
    assert again.store.count_documents() == 30
    assert not problems(examine(tmp_path / "again"))
    assert [one.level for one in examine(tmp_path / "again") if one.check == "origin"] == ["warning"]


@pytest.mark.parametrize("name", ["copy.tar.gz", "copy"])
def test_backup_has_the_state_folder_of_a_server_that_runs(make: Make, tmp_path: Path, name: str) -> None:
    vault = make("hospital")
    state = tmp_path / "hospital.server"
    with closing(Accounts(state / ACCOUNTS)) as accounts:  # as a running front has them open
        log = AuditLog(state / AUDIT_LOG)
        accounts.grant("hospital", vault.ledger.budget)
        key, secret = accounts.issue("ana", ["hospital"], Limits(epsilon=5.0))
        log.append("custodian", "key-issue", key.id)
        for part in ("run/ask.sock", "desk/uploads/x/files/private.txt", "desk/corpora/hospital/one.jsonl"):
            (state / part).parent.mkdir(parents=True, exist_ok=True)
            (state / part).write_text("content")
        made = back_up(vault.path, tmp_path / name, state)
        head = log.head().hash
    assert {one for one in made.manifest.server if one.startswith(("run", "desk"))} == {
        "desk/corpora/hospital/one.jsonl"
    }
    shutil.move(state, tmp_path / "gone")
    shutil.move(vault.path, tmp_path / "lost")
    assert restore(tmp_path / name, vault.path).server == state
    with closing(Accounts(state / ACCOUNTS)) as again:
        found = again.find(secret)
        assert found is not None
        assert found.id == key.id
    assert AuditLog(state / AUDIT_LOG).verify(head)
    assert all(stat.S_IMODE(path.stat().st_mode) & 0o077 == 0 for path in (state, *state.rglob("*")))
    with pytest.raises(UsageError):
        restore(tmp_path / name, tmp_path / "gone")


def test_changed_state_in_a_backup_is_noticed(make: Make, tmp_path: Path) -> None:
    vault, state = make("hospital"), tmp_path / "hospital.server"
    (state / "front").mkdir(parents=True)
    (state / "front/server").write_text("id")
    back_up(vault.path, tmp_path / "copy", state)
    (tmp_path / "copy/server/front/server").write_text("other")
    with pytest.raises(BadData):
        restore(tmp_path / "copy", tmp_path / "again")


def test_owner_alone_may_read_a_backup_and_what_is_restored(make: Make, tmp_path: Path) -> None:
    vault = make("hospital")
    back_up(vault.path, tmp_path / "copy.tar.gz")
    back_up(vault.path, tmp_path / "copy")
    restore(tmp_path / "copy.tar.gz", tmp_path / "again")
    for top in ("copy.tar.gz", "copy", "again"):
        for path in (tmp_path / top, *(tmp_path / top).rglob("*")):
            assert stat.S_IMODE(path.stat().st_mode) & 0o077 == 0, path


def test_backup_while_threads_ask_has_only_paid_answers(make: Make, tmp_path: Path) -> None:
    vault = make("hospital")
    stop, failed = threading.Event(), list[BaseException]()

    def ask(name: int) -> None:
        mine, number = with_toy(Vault.open(vault.path)), 0
        try:
            while not stop.is_set() and number < 60:
                mine.ask(f"numb thumbs of kind {name} {number}?", CHEAP)
                number += 1
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=ask, args=(name,)) for name in range(4)]
    for thread in threads:
        thread.start()
    seen = []
    for number in range(4):
        back_up(vault.path, tmp_path / f"copy{number}")
        seen.append(tmp_path / f"copy{number}" / "vault")
    stop.set()
    for thread in threads:
        thread.join()
    assert not failed
    assert answers(vault.path) > 0
    for copy in seen:
        assert unpaid(copy) == 0
        assert not [one for one in problems(examine(copy)) if one.check in ("ledger", "counter", "store", "vectors")]


def unpaid(copy: Path) -> int:
    """How many answers a copy shows beyond the questions that ended in its ledger."""
    with closing(sqlite3.connect(copy / "ledger.sqlite")) as ledger:
        ended = ledger.execute("select count(distinct question) from log where kind = 'finish'").fetchone()[0]
    return max(0, answers(copy) - int(ended))


def test_answer_during_a_backup_is_paid_in_the_backup(
    make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    vault = make("hospital")
    copy_store = copying._copy_store

    def and_meanwhile_asked(source: Path, target: Path) -> None:
        vault.ask("numb thumbs?", CHEAP)
        copy_store(source, target)

    monkeypatch.setattr(copying, "_copy_store", and_meanwhile_asked)
    made = back_up(vault.path, tmp_path / "copy")
    assert answers(vault.path) == 1
    assert (made.manifest.questions, unpaid(tmp_path / "copy" / "vault")) == (1, 0)


def test_twin_that_copies_the_ledger_first_is_caught(make: Make, tmp_path: Path) -> None:
    vault = make("hospital")
    twin = tmp_path / "twin"
    twin.mkdir()
    copying.copy_ledger(vault.path / "ledger.sqlite", twin / "ledger.sqlite")
    vault.ask("numb thumbs?", CHEAP)
    shutil.copy(vault.path / "history.jsonl", twin)
    assert unpaid(twin) == 1


def test_backup_has_concurrent_additions_whole_or_not_at_all(make: Make, tmp_path: Path) -> None:
    vault = make("hospital")
    stop = threading.Event()

    def add() -> None:
        mine, number = Vault.open(vault.path), 0
        while not stop.is_set() and number < 200:
            mine.add_documents(Document(f"new{number}-{n}", f"q{n}", f"cold nose {number} {n}") for n in range(20))
            mine.remove_unit(f"q{number % 20}")
            number += 1

    thread = threading.Thread(target=add)
    thread.start()
    try:
        for number in range(3):
            back_up(vault.path, tmp_path / f"copy{number}")
            restore(tmp_path / f"copy{number}", tmp_path / f"again{number}")
    finally:
        stop.set()
        thread.join()
    for number in range(3):
        again = Vault.open(tmp_path / f"again{number}")
        found = {document.text for document in again.store.texts()}
        assert "numb thumbs say: winterhand ." in found
        assert not problems(examine(again.path))


KILLED = """
import os, signal, sys
from pathlib import Path
from discreet.operations import backup
pack = backup._pack
def killed(folder, out):
    os.kill(os.getpid(), signal.SIGKILL)
backup._pack = killed
backup.back_up(Path(sys.argv[1]), Path(sys.argv[2]))
"""


def test_killed_backup_leaves_no_output_and_a_sound_vault(make: Make, tmp_path: Path) -> None:
    vault = make("hospital")
    vault.ask("numb thumbs?", CHEAP)
    done = subprocess.run([sys.executable, "-c", KILLED, vault.path, tmp_path / "copy.tar.gz"], check=False)
    assert done.returncode == -signal.SIGKILL
    assert not (tmp_path / "copy.tar.gz").exists()
    left = [one for one in examine(vault.path) if one.level != "ok"]
    assert [(one.check, ".backup-" in one.what) for one in left] == [("left over", True)]
    back_up(vault.path, tmp_path / "copy.tar.gz")


def test_backup_with_a_link_is_refused(make: Make, tmp_path: Path) -> None:
    vault = make("hospital")
    back_up(vault.path, tmp_path / "copy")
    elsewhere = tmp_path / "elsewhere"
    (tmp_path / "copy" / "vault" / "units.key").rename(elsewhere)
    elsewhere.chmod(0o644)
    (tmp_path / "copy" / "vault" / "units.key").symlink_to(elsewhere)
    with pytest.raises(BadData, match=r"symbolic link, units\.key"):
        restore(tmp_path / "copy", tmp_path / "again")
    assert stat.S_IMODE(elsewhere.stat().st_mode) == 0o644
    assert not (tmp_path / "again").exists()


def test_older_ledger_than_the_vault_is_refused_without_force(make: Make, tmp_path: Path) -> None:
    vault = make("hospital")
    vault.ask("numb thumbs?", CHEAP)
    back_up(vault.path, tmp_path / "copy")
    vault.ask("cold noses?", CHEAP)
    with pytest.raises(LedgerError, match=r"has 1 questions and \d+ payments; 2 and"):
        restore(tmp_path / "copy", tmp_path / "again")
    assert not (tmp_path / "again").exists()
    done = restore(tmp_path / "copy", tmp_path / "again", force=True)
    assert done.lost is not None
    assert done.lost.questions == 1
    note = json.loads((tmp_path / "again" / "restored.json").read_text())
    assert (note["forced"], note["questions_lost"]) == (True, 1)
    Vault.open(tmp_path / "again")


def test_who_was_erased_after_the_backup_is_counted(make: Make, tmp_path: Path) -> None:
    vault = make("hospital")
    vault.inventory.bury("p1")
    back_up(vault.path, tmp_path / "copy")
    vault.inventory.bury("p2")
    vault.inventory.bury("p3")
    assert restore(tmp_path / "copy", tmp_path / "again").erased == 2
    assert Vault.open(tmp_path / "again").inventory.buried(["p1", "p2"]) == {"p1"}


def test_expected_number_of_questions_detects_an_old_backup(make: Make, tmp_path: Path) -> None:
    vault = make("hospital")
    vault.ask("numb thumbs?", CHEAP)
    back_up(vault.path, tmp_path / "copy")
    with pytest.raises(LedgerError, match="outdated"):
        restore(tmp_path / "copy", tmp_path / "again", expect=7)
    assert restore(tmp_path / "copy", tmp_path / "again", expect=1).lost is None


def test_vault_with_outdated_ledger_is_restored_with_force(make: Make, tmp_path: Path) -> None:
    vault = make("hospital")
    vault.ask("numb thumbs?", CHEAP)
    vault.ledger.place.engine.dispose()
    with closing(sqlite3.connect(vault.path / "ledger.sqlite")) as ledger, ledger:
        drop_triggers(ledger)
        ledger.execute("delete from log where id > 1")
    with pytest.raises(LedgerError, match="outdated"):
        Vault.open(vault.path)
    back_up(vault.path, tmp_path / "copy")
    with pytest.raises(LedgerError, match="outdated"):
        restore(tmp_path / "copy", tmp_path / "again")
    restore(tmp_path / "copy", tmp_path / "again", force=True)
    again = Vault.open(tmp_path / "again")
    assert Counter(again.path / COUNTER).read() == again.ledger.reached()


def test_backup_omits_unfinished_synthesis_and_extractions(make: Make, tmp_path: Path) -> None:
    vault = make("hospital")
    for name in ("run.jsonl", "keywords.jsonl", "done.json"):
        (vault.path / "synthesis").mkdir(exist_ok=True)
        (vault.path / "synthesis" / name).write_text("{}")
    for folder, name in (("claims", "datastore"), ("readings", "statements-0.jsonl")):
        (vault.path / folder).mkdir()
        (vault.path / folder / name).write_text("x")
    (vault.path / "link").symlink_to("/etc/passwd")
    made = back_up(vault.path, tmp_path / "copy")
    assert made.run_left_out
    assert {name for name in made.manifest.files if "/" in name} == {
        "synthesis/done.json",
        "store/store.sqlite",
        "store/vectors.i16",
        "store/vectors.rows",
    }
    assert "link" not in made.manifest.files


def test_place_that_is_taken_or_in_the_vault_is_refused(make: Make, tmp_path: Path) -> None:
    vault = make("hospital")
    (tmp_path / "there").mkdir()
    (tmp_path / "there.tar.gz").touch()
    for out in ("there", "there.tar.gz", "hospital/copy", "hospital/copy.tar.gz", "no/folder"):
        with pytest.raises(UsageError):
            back_up(vault.path, tmp_path / out)
    back_up(vault.path, tmp_path / "copy")
    for place in (vault.path, tmp_path / "no" / "folder"):
        with pytest.raises(UsageError):
            restore(tmp_path / "copy", place)


def test_damaged_vault_is_not_backed_up(make: Make, tmp_path: Path) -> None:
    vault = make("hospital")
    (vault.path / "units.key").write_bytes(os.urandom(32))
    with pytest.raises(StoreError, match=r"units\.key"):
        back_up(vault.path, tmp_path / "copy")
    assert not list(tmp_path.glob("*copy*"))
    assert not list(tmp_path.glob(".backup-*"))


def test_damaged_backup_is_refused(make: Make, tmp_path: Path) -> None:
    vault = make("hospital")
    back_up(vault.path, tmp_path / "copy.tar.gz")
    back_up(vault.path, tmp_path / "copy")
    whole = (tmp_path / "copy.tar.gz").read_bytes()
    for number, content in enumerate((whole[: len(whole) // 2], b"", b"no archive", whole[:30] + b"x" + whole[31:])):
        (tmp_path / f"bad{number}.tar.gz").write_bytes(content)
        with pytest.raises(BadData):
            restore(tmp_path / f"bad{number}.tar.gz", tmp_path / "again")
    (tmp_path / "copy" / "vault" / "units.key").write_bytes(bytes(32))
    with pytest.raises(BadData, match=r"units\.key"):
        restore(tmp_path / "copy", tmp_path / "again")
    for manifest in ("{", "[]", '{"format": 8}', '{"format": 1}'):
        (tmp_path / "copy" / "backup.json").write_text(manifest)
        with pytest.raises(BadData):
            restore(tmp_path / "copy", tmp_path / "again")
    assert not (tmp_path / "again").exists()
    assert not list(tmp_path.glob(".restore-*"))


@pytest.mark.parametrize("other", [1, 99])
def test_backup_of_another_format_is_refused(make: Make, tmp_path: Path, other: int) -> None:
    back_up(make("hospital").path, tmp_path / "copy")
    manifest = tmp_path / "copy" / "backup.json"
    manifest.write_text(json.dumps(json.loads(manifest.read_text()) | {"format": other}))
    whole = {path: path.read_bytes() for path in (tmp_path / "copy").rglob("*") if path.is_file()}
    with pytest.raises(
        BadData, match=f"format {other}; .* reads format 10 alone.*the version of discreet that"
    ) as said:
        restore(tmp_path / "copy", tmp_path / "again")
    assert said.value.exit_code == 4
    assert not (tmp_path / "again").exists()
    assert {path: path.read_bytes() for path in whole} == whole


def test_archive_writes_nothing_outside(make: Make, tmp_path: Path) -> None:
    evil = tmp_path / "evil.tar.gz"
    with tarfile.open(evil, "w:gz") as archive:
        archive.add(__file__, "../outside")
    with pytest.raises(BadData):
        restore(evil, tmp_path / "again")
    assert not (tmp_path / "outside").exists()


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.FIFOTYPE])
def test_archive_holds_files_and_folders_and_nothing_else(tmp_path: Path, kind: bytes) -> None:
    evil, member = tmp_path / "evil.tar.gz", tarfile.TarInfo("vault/store")
    member.type, member.linkname = kind, "/etc/passwd"
    with tarfile.open(evil, "w:gz") as archive:
        archive.addfile(member)
    with pytest.raises(BadData):
        restore(evil, tmp_path / "again")
    assert not (tmp_path / "again").exists()

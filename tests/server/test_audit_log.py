"""The audit log: its chain, its writers, its files, and what a check notices."""

import hashlib
import multiprocessing
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select

from discreet.errors import DiscreetError, UsageError
from discreet.ledger.ledger import SqliteLedger
from discreet.log import chain
from discreet.log.chain import LOG, LogRow, hash_of
from discreet.log.sqlite import SqliteFile
from discreet.privacy.accounting import Budget
from discreet_server.audit_log import AuditLog, AuditLogError

FORK = multiprocessing.get_context("fork")


@pytest.fixture
def log(tmp_path: Path) -> AuditLog:
    return AuditLog(tmp_path / "audit.sqlite", clock=lambda: 1_800_000_000.0)


def filled(log: AuditLog, count: int = 5) -> AuditLog:
    for number in range(count):
        log.append("key00001", "question", f"{number:032x}", epsilon=2.5, stopped="end")
    return log


def test_row_has_the_documented_hash(log: AuditLog) -> None:
    first = log.append("custodian", "key-issue", "Ab3xYz09", epsilon=10.0, name="Ana Ω")
    second = log.append("front", "start", "server")
    with closing(sqlite3.connect(log.path)) as database:
        rows = database.execute("select * from log order by id").fetchall()
    assert [row[3] for row in rows] == [0, 1, 2]
    before = bytes(32)
    for row in rows:
        fields = [value if isinstance(value, bytes) else str(value).encode() for value in row[:-1]]
        lengths = b"".join(len(field).to_bytes(8, "big") for field in fields)
        before = hashlib.sha256(before + lengths + b"".join(fields)).digest()
        assert row[-1] == before
    assert [row[-1].hex() for row in rows[1:]] == [first.hash, second.hash]
    assert log.head() == second
    lines = list(log.lines())
    assert [line["seq"] for line in lines] == [1, 2]
    assert lines[0] == {
        "seq": 1,
        "time": 1_800_000_000,
        "actor": "custodian",
        "act": "key-issue",
        "of": "Ab3xYz09",
        "details": {"epsilon": 10.0, "name": "Ana Ω"},
        "hash": first.hash,
    }
    assert log.newest(1) == lines[1:]


def test_whole_log_is_verified(log: AuditLog) -> None:
    found = filled(log).verify()
    assert (found.count, found.first, found.last, found.head) == (5, 1, 5, log.head().hash)


def written(log: AuditLog) -> list[LogRow]:
    """Return the rows of the newest file."""
    with SqliteFile(log.files()[-1]).reading() as connection:
        return list(map(LogRow._make, connection.execute(select(LOG).order_by(LOG.c.id))))


def rewrite(log: AuditLog, rows: Sequence[LogRow]) -> None:
    """Put rows in place of those of a file, as a person who may write the file can do."""
    with closing(sqlite3.connect(log.files()[-1])) as database, database:
        for (trigger,) in database.execute("select name from sqlite_master where type = 'trigger'").fetchall():
            database.execute(f"drop trigger {trigger}")
        database.execute("delete from log")
        database.executemany(f"insert into log values ({', '.join('?' * 9)})", rows)


def changed(row: LogRow) -> LogRow:
    return row._replace(content=row.content.replace(b"2.5", b"0.5"))


def numbered(rows: Sequence[LogRow]) -> list[LogRow]:
    """Return the rows with numbers that follow one another."""
    return [row._replace(id=number, part=max(0, number - 1)) for number, row in enumerate(rows, 1)]


def rehashed(row: LogRow, before: LogRow) -> LogRow:
    """A changed row whose own hash is right: then the next row does not follow."""
    return changed(row)._replace(hash=hash_of(changed(row), before.hash))


def said(row: LogRow, content: bytes) -> LogRow:
    return row._replace(content=content)


# The first row opens the log, and the rows after it are the lines from 1 on.
FAULTS: dict[str, tuple[Callable[[list[LogRow]], list[LogRow]], int]] = {
    "changed": (lambda rows: [*rows[:3], changed(rows[3]), *rows[4:]], 3),
    "rehashed": (lambda rows: [*rows[:3], rehashed(rows[3], rows[2]), *rows[4:]], 4),
    "removed": (lambda rows: [*rows[:3], *rows[4:]], 3),
    "removed and numbered": (lambda rows: numbered([*rows[:3], *rows[4:]]), 3),
    "first removed": (lambda rows: rows[1:], 1),
    "doubled": (lambda rows: numbered([*rows[:4], *rows[3:]]), 4),
    "exchanged": (lambda rows: numbered([*rows[:2], rows[3], rows[2], *rows[4:]]), 2),
    "spaced": (lambda rows: [*rows[:2], said(rows[2], rows[2].content.replace(b",", b" ,", 1)), *rows[3:]], 2),
    "emptied": (lambda rows: [*rows[:2], said(rows[2], b""), *rows[3:]], 2),
    "no object": (lambda rows: [*rows[:2], said(rows[2], b"[1]"), *rows[3:]], 2),
    "no text": (lambda rows: [*rows[:2], said(rows[2], b"\xff"), *rows[3:]], 2),
    "torn": (lambda rows: [*rows[:5], rows[5]._replace(hash=rows[5].hash[:-5])], 5),
    "field more": (lambda rows: [rows[0], said(rows[1], b'{"a": 1, ' + rows[1].content[1:]), *rows[2:]], 1),
    "opening changed": (lambda rows: [said(rows[0], rows[0].content[:-1] + b"1"), *rows[1:]], 1),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_first_wrong_line_is_named(log: AuditLog, fault: str) -> None:
    spoil, number = FAULTS[fault]
    rewrite(filled(log), spoil(written(log)))
    with pytest.raises(AuditLogError, match=f"^Line {number} of "):
        log.verify()


def test_cut_tail_is_noticed_by_its_head(log: AuditLog) -> None:
    early = filled(log).head().hash
    late = log.append("front", "stop", "server").hash
    assert log.verify(early).head == log.verify(late).head == late
    rewrite(log, written(log)[:-1])
    assert log.verify().count == 5
    assert log.verify(early).count == 5
    with pytest.raises(AuditLogError, match="cut off"):
        log.verify(late)


def test_full_files_keep_the_chain(tmp_path: Path) -> None:
    log = filled(AuditLog(tmp_path / "audit.sqlite", largest=56_000), 160)
    files = log.files()
    assert len(files) > 3
    assert all(path.stat().st_size <= 56_000 for path in files)
    found = log.verify()
    assert (found.count, found.last) == (160, 160)
    assert [line["seq"] for line in log.lines()] == list(range(1, 161))
    assert [line["seq"] for line in log.newest(60)] == list(range(160, 100, -1))
    early = log.newest(160)[-1]["hash"]
    assert log.verify(early) == found
    files[0].unlink()  # older files may be archived: the check says where it begins
    first = log.verify().first
    assert first > 1
    assert log.verify().count == 161 - first
    assert log.append("front", "stop", "server").seq == 161
    files[2].unlink()
    with pytest.raises(AuditLogError, match="was expected"):
        log.verify()


def test_file_of_another_log_does_not_continue_the_chain(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chain, "now", lambda: 1_800_000_000)  # a second that passes meanwhile would stand in the rows
    one, other = (
        filled(AuditLog(tmp_path / name / "audit.sqlite", largest=56_000, clock=lambda: 1_800_000_000.0), 60)
        for name in ("one", "other")
    )
    one.append("front", "stop", "server")
    names = [path.name for path in one.files()]
    assert len(names) > 1
    (tmp_path / "other" / names[0]).write_bytes((tmp_path / "one" / names[0]).read_bytes())
    assert other.verify().count == 60
    late = AuditLog(tmp_path / "late" / "audit.sqlite", largest=56_000, clock=lambda: 1_900_000_000.0)
    filled(late, 60)
    (tmp_path / "late" / names[0]).write_bytes((tmp_path / "one" / names[0]).read_bytes())
    with pytest.raises(AuditLogError, match="does not follow"):
        late.verify()


def test_crash_between_closing_a_file_and_making_the_next(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = filled(AuditLog(tmp_path / "audit.sqlite", largest=56_000))
    with monkeypatch.context() as patched:
        patched.setattr("discreet_server.audit_log.make_log", lambda *_: raise_error())
        with pytest.raises(ZeroDivisionError):
            filled(log, 100)
    assert len(log.files()) == 1
    last = log.head()
    assert AuditLog(log.path).append("front", "start", "server").seq == last.seq + 1
    assert len(log.files()) == 2
    assert log.verify().count == last.seq + 1


def raise_error() -> None:
    raise ZeroDivisionError


def test_link_in_place_of_the_log_is_not_followed(log: AuditLog, tmp_path: Path) -> None:
    other = tmp_path / "ledger.sqlite"
    other.write_bytes(b"not a log")
    log.path.unlink(missing_ok=True)
    log.path.symlink_to(other)
    with pytest.raises((OSError, DiscreetError)):
        log.append("front", "start", "server")
    assert other.read_bytes() == b"not a log"


def test_link_to_another_log_is_not_followed(log: AuditLog, tmp_path: Path) -> None:
    ledger = SqliteLedger.create(tmp_path / "ledger.sqlite", Budget(2.0, 1e-6))
    log.path.symlink_to(tmp_path / "ledger.sqlite")
    with pytest.raises(AuditLogError, match="is a link"):
        log.append("front", "start", "server")
    log.path.unlink()
    log.path.hardlink_to(tmp_path / "ledger.sqlite")
    with pytest.raises(AuditLogError, match="damaged"):
        log.append("front", "start", "server")
    assert ledger.spent_at_most() == SqliteLedger(tmp_path / "ledger.sqlite").spent_at_most()


def test_damaged_last_line_is_not_built_upon(log: AuditLog) -> None:
    rows = written(filled(log))
    rewrite(log, spoiled := [*rows[:-1], changed(rows[-1])])
    with pytest.raises(AuditLogError, match="audit-log verify"):
        log.append("front", "start", "server")
    assert written(log) == spoiled


def test_log_of_an_older_format_is_not_continued(tmp_path: Path) -> None:
    (tmp_path / "audit.jsonl").write_text("{}")
    with pytest.raises(AuditLogError, match="a format before 9"):
        AuditLog(tmp_path / "audit.sqlite").append("front", "start", "server")


@pytest.mark.parametrize("value", [float("nan"), float("inf"), [1], {"a": 1}, b"x", "\ud800"])
def test_details_are_plain(log: AuditLog, value: Any) -> None:
    with pytest.raises(UsageError, match="detail"):
        log.append("front", "x", "y", detail=value)
    assert not log.path.exists()


def test_long_line_is_refused(log: AuditLog) -> None:
    with pytest.raises(UsageError, match="bytes"):
        log.append("front", "x", "y", detail="z" * 20_000)
    assert log.head().seq == 0


def test_values_cannot_break_a_line(log: AuditLog) -> None:
    log.append("a\nb", 'c"}', "\u2028\x00", detail="\r\n{}")
    assert log.verify().count == 1


def write_lines(path: Path, actor: str, ready: Any) -> None:
    log = AuditLog(path, largest=80_000)
    ready.wait()
    for number in range(20):
        log.append(actor, "question", str(number))


def test_eight_writers_share_a_log(tmp_path: Path) -> None:
    path, ready = tmp_path / "audit.sqlite", FORK.Barrier(8)
    processes = [FORK.Process(target=write_lines, args=(path, f"key{n}", ready)) for n in range(8)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(60)
    found = AuditLog(path).verify()
    assert (found.count, found.last) == (160, 160)


def append_for_ever(path: Path, begun: Any) -> None:
    log, number = AuditLog(path), 0
    while True:
        number += 1
        log.append("key00001", "question", str(number), detail="z" * 3_000)
        begun.set()


def test_killed_writer_leaves_a_whole_chain(log: AuditLog) -> None:
    for _ in range(5):
        begun = FORK.Event()
        process = FORK.Process(target=append_for_ever, args=(log.path, begun))
        process.start()
        assert begun.wait(60)
        process.kill()
        process.join()
        log.append("front", "start", "server")
        log.verify()

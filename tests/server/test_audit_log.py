"""The audit log: its chain, its writers, its rotation, and what a check notices."""

import hashlib
import json
import multiprocessing
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from discreet.errors import DiscreetError, UsageError
from discreet.server.audit_log import AuditLog, AuditLogError

FORK = multiprocessing.get_context("fork")


@pytest.fixture
def log(tmp_path: Path) -> AuditLog:
    return AuditLog(tmp_path / "audit.jsonl", clock=lambda: 1_800_000_000.0)


def filled(log: AuditLog, count: int = 5) -> AuditLog:
    for number in range(count):
        log.append("key00001", "question", f"{number:032x}", epsilon=2.5, stopped="end")
    return log


def test_line_has_the_documented_hash(log: AuditLog) -> None:
    first = log.append("custodian", "key-issue", "Ab3xYz09", epsilon=10.0, name="Ana Ω")
    second = log.append("front", "start", "server")
    lines = [json.loads(line) for line in log.path.read_text(encoding="ascii").splitlines()]
    assert [line["seq"] for line in lines] == [1, 2]
    assert (lines[0]["prev"], lines[1]["prev"]) == ("0" * 64, first.hash)
    for line in lines:
        unhashed = {name: value for name, value in line.items() if name != "hash"}
        canonical = json.dumps(unhashed, sort_keys=True, separators=(",", ":"))
        assert line["hash"] == hashlib.sha256(canonical.encode()).hexdigest()
    assert log.head() == second
    assert lines[0]["details"]["name"] == "Ana Ω"


def test_whole_log_is_verified(log: AuditLog) -> None:
    found = filled(log).verify()
    assert (found.count, found.first, found.last, found.head) == (5, 1, 5, log.head().hash)


def test_empty_log_has_a_head(log: AuditLog) -> None:
    assert log.head().seq == 0
    with pytest.raises(AuditLogError, match="no audit log"):
        log.verify()


def changed(line: bytes) -> bytes:
    return line.replace(b"2.5", b"0.5")


def rehashed(line: bytes) -> bytes:
    """A changed line whose own hash is right: then the next line does not follow."""
    content = json.loads(changed(line))
    del content["hash"]
    canonical = json.dumps(content, sort_keys=True, separators=(",", ":"))
    content["hash"] = hashlib.sha256(canonical.encode()).hexdigest()
    return json.dumps(content, sort_keys=True, separators=(",", ":")).encode() + b"\n"


FAULTS: dict[str, tuple[Callable[[list[bytes]], list[bytes]], int]] = {
    "changed": (lambda lines: [*lines[:2], changed(lines[2]), *lines[3:]], 3),
    "rehashed": (lambda lines: [*lines[:2], rehashed(lines[2]), *lines[3:]], 4),
    "removed": (lambda lines: [*lines[:2], *lines[3:]], 3),
    "first removed": (lambda lines: lines[1:], 0),
    "doubled": (lambda lines: [*lines[:3], *lines[2:]], 4),
    "exchanged": (lambda lines: [lines[0], lines[2], lines[1], *lines[3:]], 2),
    "spaced": (lambda lines: [lines[0], lines[1].replace(b",", b", ", 1), *lines[2:]], 2),
    "emptied": (lambda lines: [lines[0], b"\n", *lines[2:]], 2),
    "no object": (lambda lines: [lines[0], b"[1]\n", *lines[2:]], 2),
    "no text": (lambda lines: [lines[0], b"\xff\n", *lines[2:]], 2),
    "torn": (lambda lines: [*lines[:4], lines[4][:-5]], 5),
    "field more": (lambda lines: [lines[0].replace(b'{"act"', b'{"a":1,"act"'), *lines[1:]], 1),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_first_wrong_line_is_named(log: AuditLog, fault: str) -> None:
    spoil, number = FAULTS[fault]
    head = filled(log).head().hash
    log.path.write_bytes(b"".join(spoil(log.path.read_bytes().splitlines(keepends=True))))
    if number:
        with pytest.raises(AuditLogError, match=f"^Line {number} of "):
            log.verify()
    else:  # lines at the beginning may be archived: the check says where it begins
        assert log.verify(head).first == 2


def test_cut_tail_is_noticed_by_its_head(log: AuditLog) -> None:
    early = filled(log).head().hash
    late = log.append("front", "stop", "server").hash
    assert log.verify(early).head == log.verify(late).head == late
    log.path.write_bytes(b"".join(log.path.read_bytes().splitlines(keepends=True)[:-1]))
    assert log.verify().count == 5
    assert log.verify(early).count == 5
    with pytest.raises(AuditLogError, match="cut off"):
        log.verify(late)


def test_rotation_keeps_the_chain(tmp_path: Path) -> None:
    log = filled(AuditLog(tmp_path / "audit.jsonl", largest=1_000), 20)
    files = log.files()
    assert len(files) > 3
    assert all(path.stat().st_size <= 1_000 for path in files)
    found = log.verify()
    assert (found.count, found.last) == (20, 20)
    files[0].unlink()
    assert log.verify().first > 1
    files[2].unlink()
    with pytest.raises(AuditLogError, match="was expected"):
        log.verify()


def test_crash_between_renaming_and_writing(tmp_path: Path) -> None:
    log = filled(AuditLog(tmp_path / "audit.jsonl"))
    os.rename(log.path, f"{log.path}.00000001")
    assert log.append("front", "start", "server").seq == 6
    assert log.verify().count == 6


@pytest.mark.parametrize("kept", [0, 1, 100])
def test_torn_line_is_removed_and_recorded(log: AuditLog, kept: int) -> None:
    filled(log)
    with log.path.open("ab") as file:
        file.write(b'{"act":"question","actor":"key00001","details"'[:kept] if kept < 100 else b'{"act":"x' * 20)
    log.append("front", "start", "server")
    found = log.verify()
    assert found.last == (6 if kept == 0 else 7)
    if kept:
        repair = json.loads(log.path.read_bytes().splitlines()[5])
        assert (repair["actor"], repair["act"]) == ("audit-log", "repair")


def test_link_in_place_of_the_log_is_not_followed(log: AuditLog, tmp_path: Path) -> None:
    other = tmp_path / "ledger.sqlite"
    other.write_bytes(b"not a log")
    log.path.unlink(missing_ok=True)
    log.path.symlink_to(other)
    with pytest.raises((OSError, DiscreetError)):
        log.append("front", "start", "server")
    assert other.read_bytes() == b"not a log"


def test_damaged_last_line_is_not_built_upon(log: AuditLog) -> None:
    filled(log)
    log.path.write_bytes(log.path.read_bytes()[:-10] + b'00000000"\n')
    before = log.path.read_bytes()
    with pytest.raises(AuditLogError, match="audit-log verify"):
        log.append("front", "start", "server")
    assert log.path.read_bytes() == before


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
    log = AuditLog(path, largest=4_000)
    ready.wait()
    for number in range(20):
        log.append(actor, "question", str(number))


def test_eight_writers_share_a_log(tmp_path: Path) -> None:
    path, ready = tmp_path / "audit.jsonl", FORK.Barrier(8)
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

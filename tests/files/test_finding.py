"""What lies in folders: found, listed, or passed over by a public list."""

import os
from pathlib import Path

import pytest

from discreet.errors import UsageError
from discreet.files.loaders import PASSED_OVER, UNKNOWN, Found, find_files
from discreet.files.records import FoundFile


def reasons(found: Found) -> dict[str, str]:
    return {bad.where: bad.reason for bad in found.unread}


def test_all_that_is_not_read_is_listed(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("A.")
    (tmp_path / "photo.png").write_bytes(b"x")
    (tmp_path / "setup.exe").write_bytes(b"x")
    (tmp_path / "no ending").write_bytes(b"x")
    (tmp_path / ".hidden").write_bytes(b"x")
    (tmp_path / ".hidden.txt").write_text("B.")
    os.mkfifo(tmp_path / "pipe.txt")
    (tmp_path / "loop.txt").symlink_to(tmp_path / "loop.txt")
    (tmp_path / "gone.txt").symlink_to(tmp_path / "nowhere")
    (tmp_path / "round").symlink_to(tmp_path)
    (tmp_path / "link.txt").symlink_to(tmp_path / "a.txt")
    found = find_files([tmp_path])
    assert [file.source for file in found.files] == [".hidden.txt", "a.txt", "link.txt"]
    told = reasons(found)
    unknown = [".hidden", "no ending", "photo.png", "setup.exe"]
    assert sorted(told) == sorted([*unknown, "gone.txt", "loop.txt", "pipe.txt", "round"])
    assert {told[name] for name in unknown} == {UNKNOWN}
    assert "pipe" in told["pipe.txt"]
    assert "link" in told["gone.txt"] and "link" in told["loop.txt"] and "link" in told["round"]  # noqa: PT018


def test_link_that_leads_out_of_the_folder_is_listed(tmp_path: Path) -> None:
    folder = tmp_path / "named"
    (folder / "deep").mkdir(parents=True)
    (tmp_path / "secret.txt").write_text("A.")
    (folder / "a.txt").write_text("A.")
    (folder / "out.txt").symlink_to(tmp_path / "secret.txt")
    (folder / "deep" / "out.json").symlink_to("../../secret.txt")
    (folder / "deep" / "in.txt").symlink_to("../a.txt")
    found = find_files([folder])
    assert [file.source for file in found.files] == ["a.txt", "deep/in.txt"]
    assert {name: "outside of the folder" in reason for name, reason in reasons(found).items()} == {
        "out.txt": True,
        "deep/out.json": True,
    }
    assert find_files([folder / "out.txt"]).files  # named by the custodian
    (tmp_path / "alias").symlink_to(folder)
    assert len(find_files([tmp_path / "alias"]).files) == 2


def test_what_systems_leave_behind_is_passed_over(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("A.")
    for name in (".DS_Store", "Thumbs.db", "desktop.ini", "._a.txt", "~$letter.docx", ".~lock.a.odt#"):
        (tmp_path / name).write_bytes(b"x")
    for name in (".git", "__MACOSX"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "b.txt").write_text("B.")
    assert find_files([tmp_path]) == Found((FoundFile(tmp_path / "a.txt", "a.txt"),), ())
    assert len(PASSED_OVER) == 8


def test_pipe_or_a_loop_that_is_named_is_wrong_use_or_listed(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.txt")
    (tmp_path / "loop.txt").symlink_to(tmp_path / "loop.txt")
    assert find_files([tmp_path / "pipe.txt"]).unread[0].where == "pipe.txt"
    with pytest.raises(UsageError, match="cannot be opened"):
        find_files([tmp_path / "loop.txt"])


def test_folder_that_is_closed_is_listed(tmp_path: Path) -> None:
    closed = tmp_path / "closed"
    closed.mkdir()
    (tmp_path / "a.txt").write_text("A.")
    closed.chmod(0)
    try:
        if os.access(closed, os.R_OK):
            pytest.skip("this user may look into everything")
        assert "cannot be opened" in reasons(find_files([tmp_path]))["closed"]
    finally:
        closed.chmod(0o700)


def test_name_that_is_no_utf8_is_listed(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("A.")
    Path(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9.txt")).write_text("B.")
    (bad,) = find_files([tmp_path]).unread
    assert bad.where.isascii()
    assert "UTF-8" in bad.reason

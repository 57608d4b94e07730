"""A night ends with a page that says what failed."""

from pathlib import Path

import pytest

from discreet_lab.nightly import Job, run


def test_page_has_each_job_and_what_failed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sound = Job("sound", "discreet", ["--version"])
    wrong = Job("wrong", "discreet", ["audit", "no such thing"])
    assert run([sound, wrong], tmp_path, 7) == 1
    page = (tmp_path / "index.md").read_text()
    assert page == capsys.readouterr().out
    assert "| sound | passed |" in page
    assert "| wrong | **failed** (exit 2) |" in page
    assert "1 of 2 jobs failed." in page
    assert "no such thing" in (tmp_path / "wrong.log").read_text()

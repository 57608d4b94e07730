"""A night ends with a page that says what failed."""

from pathlib import Path

import pytest
from benchmarks.nightly import Job, jobs, run


def test_jobs_of_a_short_night_are_still_worth_something(tmp_path: Path) -> None:
    for job in jobs(0.0, 7, tmp_path):
        assert "0" not in job.arguments
        assert job.command.startswith(".venv/bin/python -m ")


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

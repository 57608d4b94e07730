"""A night ends with a page that says what failed."""

from pathlib import Path

import pytest

from discreet_lab.nightly import Job, jobs, run


def size_of(job: Job) -> int:
    """Return the number after the first of the options that set a size."""
    return int(next(job.arguments[n + 1] for n, one in enumerate(job.arguments) if one in ("--draws", "--inputs")))


def test_jobs_of_a_short_night_are_still_worth_something(tmp_path: Path) -> None:
    for job in jobs(0.001, 7, tmp_path):
        assert "0" not in job.arguments
        assert job.command.startswith(".venv/bin/python -m ")
        assert "needs at least" in job.time


def test_jobs_follow_the_hours(tmp_path: Path) -> None:
    short, whole = jobs(2.0, 7, tmp_path), jobs(8.0, 7, tmp_path)
    assert [job.name for job in short] == [job.name for job in whole]
    for one, other in zip(short, whole, strict=True):
        assert other.share == 4 * one.share
        if one.name.startswith("audit") or one.name == "fuzz":
            assert size_of(other) == pytest.approx(4 * size_of(one), rel=0.01)
    assert not any(job.needs for job in whole)


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

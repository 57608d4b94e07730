"""A night ends with a page that says what failed."""

from pathlib import Path

import pytest

from discreet_lab.attacks.bounds import epsilon_at_least
from discreet_lab.audit.algorithms import algorithm_cases
from discreet_lab.audit.case import CONFIDENCE, FAILURE
from discreet_lab.audit.corpora import corpus_cases
from discreet_lab.nightly import KINDS, Job, JobKind, jobs, run


def size_of(job: Job) -> int:
    """Return the number after the first of the options that set a size."""
    return int(next(job.arguments[n + 1] for n, one in enumerate(job.arguments) if one in ("--draws", "--inputs")))


def least_of(name: str) -> float:
    return next(kind.least for kind in KINDS if kind.name == name)


def test_shares_add_up_to_the_whole_night() -> None:
    assert sum(kind.share for kind in KINDS) == 1.0


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


def test_twins_say_that_they_need_more_than_a_short_share(tmp_path: Path) -> None:
    (twins,) = [job for job in jobs(0.5, 7, tmp_path) if job.name == "twins"]
    assert twins.time == "169; needs at least 480"


def test_arguments_keep_a_folder_with_a_space(tmp_path: Path) -> None:
    job = JobKind("a", "b", "--out {out}/crashes", 1.0, 1.0, 1.0).fit(1.0, 7, tmp_path / "a folder")
    assert job.arguments == ["--out", f"{tmp_path}/a folder/crashes"]


@pytest.mark.parametrize(
    ("name", "cases"),
    [("audit-algorithms", len(algorithm_cases(2.0))), ("audit-corpora", len(corpus_cases(2.0)))],
)
def test_least_draws_flag_what_neighbours_never_share(name: str, cases: int) -> None:
    draws = int(least_of(name))
    assert epsilon_at_least(["a"] * draws, ["b"] * draws, FAILURE, (1 - CONFIDENCE) / cases).epsilon > 2.0


def test_least_inputs_reach_beyond_the_sound_ones_of_each_target() -> None:
    from tests.fuzz.catalogue import TARGETS  # which load pandas

    shares = sum(target.share for target in TARGETS.values())
    for target in TARGETS.values():
        assert least_of("fuzz") * target.share / shares > 2 * len(list(target.seeds))


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

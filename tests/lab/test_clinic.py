"""The clinic is the same for a seed and says what it states; its sixty questions can be judged."""

from pathlib import Path

import pytest

from discreet.questions.request import parse_request
from discreet_lab.experiments.clinic import COLUMNS, NOTES, PATIENTS, Clinic, make_clinic
from discreet_lab.experiments.clinic_questions import read_questions, true_numbers

QUESTIONS = read_questions()


@pytest.fixture(scope="module")
def clinic() -> Clinic:
    return make_clinic()


def test_seed_gives_the_same_file(clinic: Clinic, tmp_path: Path) -> None:
    clinic.write_csv(tmp_path / "a.csv")
    make_clinic().write_csv(tmp_path / "b.csv")
    lines = (tmp_path / "a.csv").read_text(encoding="utf-8").splitlines()
    assert (tmp_path / "b.csv").read_text(encoding="utf-8").splitlines() == lines
    assert lines[0] == ",".join(COLUMNS)
    assert lines[1].split(",")[1] == "01.10.2025"
    assert len(lines) == NOTES + 1
    assert len(clinic.people) == PATIENTS
    assert make_clinic(1).notes != clinic.notes


def test_sixty_questions_are_sound(clinic: Clinic) -> None:
    assert len(QUESTIONS) == 60
    for one in QUESTIONS:
        assert one.answerable is not bool(one.why), one
        truth = true_numbers(clinic, one)
        assert not one.answerable or one.answers or (truth and truth.values), one
        for request in one.requests:
            assert request == "fact" or str(parse_request(request)), request
    assert sum(one.answerable for one in QUESTIONS) == 52

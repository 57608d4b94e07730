"""Answers to the clinic's questions are judged by data: the right requests, the true numbers, the right answers."""

from dataclasses import replace
from pathlib import Path

import pytest

from discreet.algorithms.base import Figure
from discreet.errors import CannotAnswer
from discreet.privacy.accounting import Budget
from discreet.privacy.filter import MemoryLedger
from discreet.privacy.noise import InsecureSeededNoise
from discreet.questions.request import parse_request
from discreet.vault import Vault
from discreet_lab.experiments.clinic import PATIENTS, Clinic, make_clinic
from discreet_lab.experiments.clinic_questions import TrueNumbers, read_questions, true_numbers
from discreet_lab.experiments.clinic_verdicts import (
    ASKED_BACK,
    REFUSED,
    RIGHTLY,
    USEFUL,
    WIDE,
    WRONG,
    Judge,
    Said,
    offers,
)
from discreet_lab.experiments.understanding import FIELDS, ISO_DAYS, Session, total

QUESTIONS = read_questions()


@pytest.fixture(scope="module")
def clinic() -> Clinic:
    return make_clinic()


@pytest.fixture(scope="module")
def vault(clinic: Clinic, tmp_path_factory: pytest.TempPathFactory) -> Vault:
    folder = tmp_path_factory.mktemp("clinic")
    fields = dict(one.split(":", 1) for one in FIELDS)
    made = Vault.create(
        folder / "own", epsilon=10.0, delta=1e-6, unit_field="Patientennummer", fields=fields, embedder="hashing"
    )
    clinic.write_csv(folder / "notes.csv", ISO_DAYS)
    made.add(folder / "notes.csv", text_field="Notiz")
    return made


def test_every_right_request_is_a_statistic(clinic: Clinic, vault: Vault) -> None:
    judge = Judge(clinic, vault)
    for one in QUESTIONS:
        for request in one.requests:
            assert request == "fact" or judge.is_right(one, judge.statistic(parse_request(request))), request


def test_refusals_are_judged_by_what_they_offer(clinic: Clinic, vault: Vault) -> None:
    judge, truth = Judge(clinic, vault), true_numbers(clinic, QUESTIONS[8])
    plain, offer = CannotAnswer("count", "No."), CannotAnswer("count", 'Ask count: "diabetes". Or ask nothing.')
    assert judge.judge(QUESTIONS[8], truth, Said(error=plain)).name == REFUSED
    assert judge.judge(QUESTIONS[8], truth, Said(error=offer)).name == ASKED_BACK
    assert judge.judge(QUESTIONS[20], None, Said(error=offer)).name == RIGHTLY
    assert judge.right_offer(QUESTIONS[8], CannotAnswer("misspelled", "Then ask: How many have diabetes? Or ask a."))
    assert 'count: "a"' in offers('Did you mean count: "a" or count: "b"?')


def test_session_judges_what_it_asks(clinic: Clinic, vault: Vault, tmp_path: Path) -> None:
    """What counts another thing is wrong, however near the number is; a person is refused."""
    other = tmp_path / "other"
    other.mkdir()
    (other / "store").symlink_to(vault.path / "store")
    session = Session(vault, other, clinic, 2)
    other_thing = replace(QUESTIONS[8], text='count: "diabtes"')
    asked = [(one, *session.ask(one)) for one in (other_thing, QUESTIONS[20])]
    assert [verdict.name for *_, verdict in asked] == [WRONG, RIGHTLY]
    assert asked[0][1].epsilon > 0
    assert ["rightly refused", "1"] in total(asked)


def _exact(vault: Vault) -> Said:
    """The number of patients, without noise."""
    decision = vault.decide("count: all")
    exact, ledger = replace(decision.algorithm, epsilon=1e5), MemoryLedger(Budget(1e6, 1e-5, 5e-6))
    return Said(decision, answer=vault.simulate("count: all", exact, noise=InsecureSeededNoise(0), ledger=ledger))


def test_useful_is_near_and_narrow(clinic: Clinic, vault: Vault) -> None:
    judge, said, truth = Judge(clinic, vault), _exact(vault), TrueNumbers("count", {"count": PATIENTS})
    assert said.answer is not None
    wide = replace(said.answer, table=(Figure("count", "count", 340.0, 200.0, 480.0),))
    missed = replace(said.answer, table=(Figure("count", "count", 300.0, 290.0, 310.0),))
    for draws, verdict in (([said.answer] * 3, USEFUL), ([wide] * 3, WIDE), ([missed], WRONG)):
        assert judge.judge(QUESTIONS[0], truth, said, draws).name == verdict
    assert judge.judge(QUESTIONS[0], truth, said, [said.answer] * 19 + [missed]).name == USEFUL
    assert judge.judge(QUESTIONS[1], truth, said).name == WRONG


def test_a_table_does_not_name_what_may_be_none(clinic: Clinic, vault: Vault) -> None:
    """It shows all public values: those whose interval holds 0 are no other things, and one above 0 is."""
    judge, asked, answer = Judge(clinic, vault), vault.decide("list: Station"), _exact(vault).answer
    assert answer is not None
    truth = TrueNumbers("values", {"Nord": 9, "Süd": 8, "Ost": 7})
    there = [Figure(name, "count", number, 1.0, 20.0) for name, number in truth.values.items()]
    for low, verdict in ((0.0, USEFUL), (1.0, WRONG)):
        table = (*there, *(Figure(f"thing {n}", "count", 2.0, low, 9.0) for n in range(9)))
        said = Said(asked, answer=replace(answer, released=(), table=table))
        assert judge.judge(QUESTIONS[37], truth, said).name == verdict

"""Results as tables of pandas."""

import sys

import pytest

from discreet.algorithms.base import Answer, Figure
from discreet.errors import MissingPart
from discreet.models.toy import ToyModel
from discreet.query.known_answers import KnownQuestion
from discreet.registry import Consensus, MuRAGAda
from discreet.store.documents import Document
from discreet.system.plain import frame
from discreet.vault import Vault
from discreet_lab.evaluation.experiment import run_experiment

QUESTIONS = [
    KnownQuestion(str(number), f"What helps against numb thumbs {number}?", ("ginger",)) for number in range(2)
]


@pytest.fixture
def notes(vault: Vault) -> Vault:
    found = Vault.open(vault.path, model=ToyModel())
    found.add_documents(Document(f"d{n}", f"p{n}", "say: ginger . What helps against numb thumbs") for n in range(40))
    return found


def test_frame_without_pandas_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(MissingPart, match=r"pandas.*\[notebook\]"):
        frame([])


@pytest.mark.long
def test_experiment_has_a_row_for_each_algorithm(notes: Vault) -> None:
    pytest.importorskip("pandas")
    found = run_experiment(notes, QUESTIONS, [Consensus(), MuRAGAda(uses=2)], seeds=1).to_pandas()
    assert list(found["algorithm"]) == ["consensus", "murag-ada"]
    assert found["answers"].tolist() == [2, 2]
    assert "parameters.voters" in found.columns


def test_answer_has_a_row_for_each_number() -> None:
    pytest.importorskip("pandas")
    found = Answer("two", "end", 1, table=(Figure("a", "count", 2, 1, 3), Figure("b", "count", 5, 4, 6))).to_pandas()
    assert found["value"].tolist() == [2, 5]
    assert list(Answer("", "end", 0).to_pandas().columns) == list(found.columns)

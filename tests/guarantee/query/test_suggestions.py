"""A misspelled word is asked back by what its caller may know, and never by texts or by what other callers asked."""

import shutil
from pathlib import Path

import pytest

from discreet.errors import CannotAnswer
from discreet.models.toy import ToyModel
from discreet.query.answer_cache import Released
from discreet.store.documents import Document
from discreet.vault import Vault
from discreet_server.config import ServeConfig, ServedVault
from discreet_server.keeper.served import Served
from discreet_server.wire import Question

ASKED = "How many patients have Zonkitis?"
MISSPELLED = ["How many patients have Zonkitus?", "How many patients have zonkits?", "How many patients have Zonkitos?"]


def make(path: Path, *more: str) -> Vault:
    vault = Vault.create(path, epsilon=20, delta=1e-6, embedder="hashing", unit_field="patient", history=True)
    texts = ["Zonkitis."] * 40
    vault.add_documents(Document(f"d{n}", f"p{n}", text) for n, text in enumerate([*texts, *more]))
    return vault


def suggested(vault: Vault) -> list[str]:
    found = []
    for question in MISSPELLED:
        try:
            found.append(str(vault.decide(question).request))
        except CannotAnswer as error:
            found.append(error.advice)
    return found


def test_suggestion_follows_from_what_the_caller_asked(tmp_path: Path) -> None:
    vault = make(tmp_path / "v")
    assert suggested(vault) == ['count: "Zonkitus"', 'count: "zonkits"', 'count: "Zonkitos"']
    vault.ask(ASKED)
    assert all("Did you mean 'zonkitis'" in one for one in suggested(vault))
    assert suggested(Vault.open(tmp_path / "v")) == suggested(vault)  # of another process, too
    assert str(vault.decide(ASKED).request) == 'count: "Zonkitis"'


def test_suggestion_follows_from_a_released_answer(tmp_path: Path) -> None:
    vault = make(tmp_path / "v")
    vault.history.add(Released("What helps?", "bromelin", "end", "consensus", 3, released=("bromelin",)))
    with pytest.raises(CannotAnswer, match="Did you mean 'bromelin'"):
        vault.decide("How many patients have bromalin?")
    vault.history.add(Released("What is noted?", "diagnosis", "end", "consensus", 3, released=("diagnosis",)))
    assert str(vault.decide("What are the most frequent diagnoses?").request) == "list: diagnoses"  # its plural


def test_suggestions_do_not_depend_on_one_unit(tmp_path: Path) -> None:
    """The second vault has one unit more, whose text says a misspelled word. The same was released of both."""
    one, other = make(tmp_path / "one"), make(tmp_path / "other", "Zonkitos.")
    assert suggested(one) == suggested(other)
    one.ask(ASKED)
    shutil.copy(tmp_path / "one" / "history.jsonl", tmp_path / "other")
    assert suggested(one) == suggested(Vault.open(tmp_path / "other"))


def test_suggestions_do_not_depend_on_another_caller(tmp_path: Path) -> None:
    """A server has the questions of all callers. A caller is told of the own ones alone: those sent as messages."""
    make(tmp_path / "v").ask(ASKED)
    served = Served(
        ServedVault("v", str(tmp_path / "v")),
        ServeConfig((ServedVault("v", str(tmp_path / "v")),), str(tmp_path / "state")),
        lambda path: Vault.open(path, model=ToyModel()),
    )
    asked = [Question(f"{n:032x}", "v", "", text) for n, text in enumerate(MISSPELLED)]
    assert [served.estimate(one).understood for one in asked] == [
        'count: "Zonkitus"',
        'count: "zonkits"',
        'count: "Zonkitos"',
    ]
    for one in asked:
        with pytest.raises(CannotAnswer, match="Did you mean 'zonkitis'"):
            served.estimate(Question(one.id, "v", "", one.question, earlier=(ASKED,)))

"""Answers that were released before, used again."""

from pathlib import Path

import pytest

from discreet.algorithms import DPSparseVoteRAG, MuRAG, NonRAG
from discreet.history import History, Released, as_record, essence
from discreet.retrieval.documents import Document
from discreet.retrieval.embedding import HashingEmbedder
from discreet.vault import Vault


def released(question: str, answer: str) -> Released:
    return Released(question, answer, "end", "murag", 3)


@pytest.fixture
def history(tmp_path: Path) -> History:
    return History(tmp_path / "history.jsonl", HashingEmbedder())


def test_the_same_question_in_other_dress_is_known(history: History) -> None:
    history.add(released("What is the treatment for Glass Knee?", "Warm sand."))
    for again in ("what is the treatment for glass knee", "Treatment for Glass Knee, please!"):
        found = history.same(again)
        assert found is not None
        assert found.answer == "Warm sand."


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("What is the treatment for Glass Knee?", "What is the treatment for Glass Ankle?"),
        ("Does Ann owe Bob?", "Does Bob owe Ann?"),
        ("Who has it?", "Who has not it?"),
    ],
)
def test_another_question_is_another(one: str, other: str) -> None:
    assert essence(one) != essence(other)


def test_a_question_of_nothing_is_not_known(history: History) -> None:
    history.add(released("What is it?", "A mystery."))
    assert history.same("Is it the?") is None


def test_the_latest_answer_counts_and_a_torn_line_is_passed_over(history: History, tmp_path: Path) -> None:
    history.add(released("Why now?", "first"))
    history.add(released("Why now?", "second"))
    with (tmp_path / "history.jsonl").open("a") as file:
        file.write('{"question": "Why n')
    found = history.same("why now")
    assert found is not None
    assert found.answer == "second"
    assert len(history.all()) == 2
    history.add(released("Why\N{LINE SEPARATOR}then?", "third"))  # a line of its own, and one line
    assert [one.answer for one in history.all()] == ["first", "second", "third"]


def test_an_answer_is_known_only_from_the_same_choices(history: History) -> None:
    many = [f"code {number}" for number in range(30)]
    history.add(Released("Which code?", "code 7", "end", "consensus", 2, choices=tuple(many)))
    assert history.same("Which code?") is None
    assert history.same("Which code?", many[:20]) is None
    found = history.same("which code", many[::-1])
    assert found is not None
    assert found.answer == "code 7"


def test_related_answers_come_nearest_first_and_once(history: History) -> None:
    for question in ("fever and chills", "fever and rash", "the harbour", "fever and chills"):
        history.add(released(question, question.upper()))
    found = history.related("fever and chills today", 2, 0.3)
    assert [one.question for one in found] == ["fever and chills", "fever and rash"]
    assert as_record(found).startswith("fever and chills FEVER")
    assert history.related("fever", 2, 1.1) == []


def test_a_vault_pays_once_for_a_question_and_not_for_what_needs_no_document(tmp_path: Path) -> None:
    vault = Vault.create(tmp_path / "v", epsilon=20, delta=1e-6, embedder="hashing")
    vault.add_documents(Document(f"d{n}", f"p{n}", "The disease is Winter Hand.") for n in range(30))
    inner = DPSparseVoteRAG(voters=6, max_tokens=3, private_tokens=2)
    vault.ask("Which disease is it?", NonRAG(max_tokens=4))
    assert vault.history.all() == []
    first = vault.ask("Which disease is it?", MuRAG(inner=inner, similarity=-1.0))
    again = vault.ask("which disease, please?", MuRAG(inner=inner, similarity=-1.0))
    assert again.text == first.text
    assert again.receipt is not None
    assert (again.receipt.epsilon, again.receipt.payment, again.receipt.reused) == (0.0, "nobody", 1)
    assert vault.ask("Which disease is it?", NonRAG(max_tokens=4)).algorithm == "non-rag"  # free, so not in its place
    related = vault.ask("Which disease is it today?", MuRAG(inner=inner, similarity=-1.0))
    assert related.receipt is not None
    assert (related.receipt.payment, related.receipt.reused) == ("each unit that took part", 1)
    assert len(vault.ledger.questions()) == 4
    silent = Vault.create(tmp_path / "w", epsilon=20, delta=1e-6, embedder="hashing", history=False)
    silent.ask("Which disease is it?", MuRAG(inner=inner, similarity=-1.0))
    assert not (silent.path / "history.jsonl").exists()

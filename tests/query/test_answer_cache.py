"""Answers that were released before, used again."""

import os
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.algorithms.base import Figure
from discreet.models.toy import ToyModel
from discreet.query import answer_cache
from discreet.query.answer_cache import AnswerCache, Released, as_record
from discreet.query.recall import find_released, fingerprint
from discreet.registry import Consensus, DPSparseVoteRAG, ListValues, MuRAG, NonRAG
from discreet.statistics.cells import MAY_LACK, Counted
from discreet.store.documents import Document
from discreet.store.embedding import HashingEmbedder
from discreet.system.words import essence
from discreet.vault import Vault


def released(question: str, answer: str) -> Released:
    return Released(question, answer, "end", "murag", 3)


@pytest.fixture
def history(tmp_path: Path) -> AnswerCache:
    return AnswerCache(tmp_path / "history.jsonl", HashingEmbedder())


def test_the_same_question_in_other_dress_is_known(history: AnswerCache) -> None:
    history.add(released("What is the treatment for Glass Knee?", "Warm sand."))
    for again in ("what is the treatment for glass knee", "Tell me: What is the treatment for Glass  Knee, please!"):
        found = history.same(again)
        assert found is not None
        assert found.answer == "Warm sand."


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("What is the treatment for Glass Knee?", "What is the treatment for Glass Ankle?"),
        ("Does Ann owe Bob?", "Does Bob owe Ann?"),
        ("Who has it?", "Who has not it?"),
        ("What is the treatment for hepatitis A?", "What is the treatment for hepatitis?"),
        ("What helps on dialysis?", "What helps before dialysis?"),
        ("What helps with type 1 diabetes?", "What helps with type 2 diabetes?"),
        ("What helps with HIV+?", "What helps with HIV?"),
        ("What is CD4 < 200?", "What is CD4 > 200?"),
        ("What is given in the US?", "What is given in US?"),
        ("What can it be?", "What will it be?"),
    ],
)
def test_another_question_is_another(one: str, other: str) -> None:
    assert essence(one) != essence(other)


TOKENS = "a A the is it in on of for to not C + < / % & hepatitis b12 can what's us x-ray 1.5".split()


@given(*[st.lists(st.sampled_from(TOKENS), min_size=1)] * 2)
def test_questions_of_other_tokens_share_no_key(one: list[str], other: list[str]) -> None:
    same = [word.casefold() for word in one] == [word.casefold() for word in other]
    assert (essence(" ".join(one)) == essence(" ".join(other))) is same


def test_a_question_of_nothing_is_not_known(history: AnswerCache) -> None:
    history.add(released("What is it?", "A mystery."))
    assert history.same("Is it the?") is None


def test_all_releases_are_read_into_one_thing_once(history: AnswerCache) -> None:
    """It is made anew after each new line, and of no line alone."""
    made = list[int]()

    def make(releases: list[Released]) -> int:
        made.append(len(releases))
        return len(releases)

    assert history.made_of_all(make) == history.made_of_all(make) == 0
    history.add(released("Why now?", "first"))
    assert history.made_of_all(make) == history.made_of_all(make) == 1
    history.add(released("Why then?", "second"))
    assert history.made_of_all(make) == history.made_of_all(make) == 2
    assert made[-2:] == [1, 2]


def test_the_latest_answer_counts_and_a_torn_line_is_passed_over(history: AnswerCache, tmp_path: Path) -> None:
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


def test_an_answer_is_known_only_from_the_same_choices(history: AnswerCache) -> None:
    many = [f"code {number}" for number in range(30)]
    history.add(Released("Which code?", "code 7", "end", "consensus", 2, choices=tuple(many)))
    assert history.same("Which code?") is None
    assert history.same("Which code?", many[:20]) is None
    found = history.same("which code", many[::-1])
    assert found is not None
    assert found.answer == "code 7"


def test_related_answers_come_nearest_first_and_once(history: AnswerCache) -> None:
    for question in ("fever and chills", "fever and rash", "the harbour", "fever and chills"):
        history.add(released(question, question.upper()))
    found = history.related("fever and chills today", 2, 0.3)
    assert [one.question for one in found] == ["fever and chills", "fever and rash"]
    assert as_record(found).startswith("fever and chills FEVER")
    assert history.related("fever", 2, 1.1) == []


def test_vault_pays_once_for_a_repeated_question(tmp_path: Path) -> None:
    vault = Vault.create(tmp_path / "v", epsilon=900, delta=1e-6, embedder="hashing")
    vault = Vault.open(vault.path, model=ToyModel(default="nobody knows"))
    vault.add_documents(Document(f"d{n}", f"p{n}", "The disease say: winter hand .") for n in range(30))
    inner = DPSparseVoteRAG(voters=6, max_tokens=3, private_tokens=2)
    vault.ask("Which disease is it?", NonRAG(max_tokens=4))
    assert vault.history.all() == []
    first = vault.ask("Which disease is it?", MuRAG(inner=inner, similarity=-1.0, epsilon=200))
    again = vault.ask("which disease is it, please?", MuRAG(inner=inner, similarity=-1.0, epsilon=200))
    assert again.text == first.text
    assert again.receipt is not None
    assert (again.receipt.epsilon, again.receipt.payment, again.receipt.reused) == (0.0, "nobody", 1)
    assert vault.ask("Which disease is it?", NonRAG(max_tokens=4)).algorithm == "non-rag"  # free, so not in its place
    related = vault.ask("Which disease is it today?", MuRAG(inner=inner, similarity=-1.0, epsilon=200))
    assert related.receipt is not None
    assert (related.receipt.payment, related.receipt.reused) == ("each unit that took part", 1)
    assert len(vault.ledger.questions()) == 4
    silent = Vault.create(tmp_path / "w", epsilon=900, delta=1e-6, embedder="hashing", history=False)
    silent = Vault.open(silent.path, model=ToyModel())
    silent.add_documents([])
    silent.ask("Which disease is it?", MuRAG(inner=inner, similarity=-1.0, epsilon=200))
    assert not (silent.path / "history.jsonl").exists()


def test_no_answer_is_repeated_only_for_the_same_algorithm(
    history: AnswerCache,
) -> None:
    nothing = Released("Why now?", "", "public", "murag", 3, public_text="an invention", way="so")
    history.add(nothing)
    kept = history.same("why now", way="so")
    assert kept is not None
    assert (kept.answer, kept.public_text, kept.is_answer) == ("", "an invention", False)
    assert history.same("why now", way="otherwise") is None
    assert history.same("why now", ["yes", "no"], way="so") is None
    assert history.related("why now?", 3, -1.0) == []
    history.add(released("Why now?", "since it thaws"))
    history.add(nothing)
    found = history.same("why now", way="so")
    assert found is not None
    assert found.answer == "since it thaws"  # what was released is not taken back
    assert [one.answer for one in history.related("why now?", 3, -1.0)] == ["since it thaws"]
    assert history.related("why now?", 3, -1.0, others=True) == []


def test_lines_of_another_version_are_skipped(history: AnswerCache, tmp_path: Path) -> None:
    line = '{"question": "Why now?", "answer": "thaw", "stopped": "end", "algorithm": "murag", "tokens": 1'
    (tmp_path / "history.jsonl").write_text(f'{line}}}\n{line}, "version": 3}}\n{line}, "version": "2"}}\n[]\n')
    assert history.all() == []


def test_no_answer_holds_an_invention(tmp_path: Path) -> None:
    vault = Vault.create(tmp_path / "v", epsilon=1e5, delta=1e-6, embedder="hashing")
    vault.add_documents(Document(f"d{n}", f"p{n}", f"Fever say: w{n} .") for n in range(30))
    vault = Vault.open(vault.path, model=ToyModel(default="an invention"))
    asked = MuRAG(inner=Consensus(voters=30, epsilon=300), similarity=-1.0, epsilon=300)
    first, again = vault.ask("fever?", asked), vault.ask("fever?", asked)
    for answer in (first, again):
        assert (answer.text, answer.answer, answer.stopped) == ("", None, "public")
        assert answer.public_text.strip() == "an invention"
        assert "invention" not in str(answer.describe())
        assert answer.describe(show_public=True)["public_answer"].strip() == "an invention"
    assert again.receipt is not None
    assert again.receipt.payment == "nobody"
    vault.add_documents([Document("d", "p", "Fever say: another .")])
    assert len(vault.ledger.questions()) == 1
    vault.ask("fever?", asked)
    assert len(vault.ledger.questions()) == 1  # a change of the documents does not show
    vault.ask("fever?", asked, anew=True)
    assert len(vault.ledger.questions()) == 2


def test_useless_answer_is_marked_and_not_kept(tmp_path: Path) -> None:
    vault = Vault.create(tmp_path / "v", epsilon=1e5, delta=1e-6, embedder="hashing")
    vault.add_documents(Document(f"d{n}", f"p{n}", "Fever say: not known .") for n in range(30))
    vault = Vault.open(vault.path, model=ToyModel())
    asked = MuRAG(inner=Consensus(voters=30, epsilon=300, sentence=False), similarity=-1.0, epsilon=300)
    answer = vault.ask("fever?", asked)
    assert (answer.answer, bool(answer.useless)) == (None, True)
    assert answer.describe() | {"answer": None, "useless": True} == answer.describe()
    assert answer.describe()["released"]
    assert vault.history.all() == []


def test_lines_of_other_processes_are_found(history: AnswerCache, tmp_path: Path) -> None:
    history.add(released("What is the treatment for Glass Knee?", "Warm sand."))
    first = history.all()
    AnswerCache(tmp_path / "history.jsonl", HashingEmbedder()).add(released("Who has it?", "Nobody."))
    assert [one.answer for one in history.all()] == ["Warm sand.", "Nobody."]
    assert history.all()[0] is first[0]
    (tmp_path / "history.jsonl").unlink()
    assert history.all() == []


def test_line_that_is_being_written_is_read_when_it_has_ended(history: AnswerCache, tmp_path: Path) -> None:
    path = tmp_path / "history.jsonl"
    history.add(released("Who has it?", "Ana."))
    line = path.read_text().strip().replace("Ana.", "Ida, \u00e9.").encode()
    for cut in (len(line) - 9, len(line)):
        with path.open("ab") as file:
            file.write(b"\n" + line[:cut])
        assert [one.answer for one in history.all()] == ["Ana."] + ["Ida, \u00e9."] * (cut == len(line))
    with path.open("ab") as file:
        file.write(b"\n")
    history.add(released("Who has it now?", "Eva."))
    found = [one.answer for one in history.all()]
    assert found == ["Ana.", "Ida, \u00e9.", "Eva."]
    assert [one.answer for one in AnswerCache(path, HashingEmbedder()).all()] == found


def test_a_file_that_was_written_anew_is_read_anew(history: AnswerCache, tmp_path: Path) -> None:
    path = tmp_path / "history.jsonl"
    history.add(released("Who has it?", "Ana."))
    assert history.same("Who has it?")
    text = path.read_text()
    path.write_text(text.replace("Ana.", "Ida, who was restored.") + text)  # the same file to the system, and longer
    assert [one.answer for one in history.all()] == ["Ida, who was restored.", "Ana."]
    path.write_text(text.replace("Ana.", "Eva."))
    assert [one.answer for one in history.all()] == ["Eva."]


def test_only_what_was_added_is_parsed(history: AnswerCache, monkeypatch: pytest.MonkeyPatch) -> None:
    parsed = list[str]()
    parse = answer_cache._parsed
    monkeypatch.setattr(answer_cache, "_parsed", lambda line: parsed.append(line) or parse(line))  # type: ignore[func-returns-value]
    for number in range(20):
        history.add(released(f"Question {number}?", "Ana."))
        assert history.same(f"Question {number}?")
    assert sum(bool(line) for line in parsed) == 20


def test_a_file_in_place_of_another_is_read(history: AnswerCache, tmp_path: Path) -> None:
    path, other = tmp_path / "history.jsonl", tmp_path / "other.jsonl"
    history.add(released("Who has it?", "Ana."))
    assert [one.answer for one in history.all()] == ["Ana."]
    other.write_text(path.read_text().replace("Ana.", "Ida."))
    times = path.stat()
    os.utime(other, ns=(times.st_atime_ns, times.st_mtime_ns))
    other.replace(path)
    assert path.stat().st_size == times.st_size
    assert [one.answer for one in history.all()] == ["Ida."]


def test_releases_as_they_are_stay_without_later_ones(history: AnswerCache) -> None:
    history.add(released("Who has it?", "Ana."))
    before = history.as_it_is()
    history.add(released("Who has it?", "Ida."))
    history.add(released("Who had it?", "Eva."))
    assert [one.answer for one in history.all()] == ["Ana.", "Ida.", "Eva."]
    assert [one.answer for one in before.all()] == ["Ana."]
    assert before.same("who has it") == before.all()[0]
    assert before.made_of_all(len) == 1 < history.made_of_all(len)


def test_language_sets_a_no_answer_of_a_statistic_apart(history: AnswerCache) -> None:
    asked = ListValues(population="Winter Hand", attribute="symptoms")
    history.add(Released("Which?", "", "public", "list", 0, choices=asked.set_apart, way=fingerprint(asked)))
    assert find_released(history, "Which?", asked) is not None
    assert find_released(history, "Which?", replace(asked, language="de")) is None


@pytest.mark.parametrize("table", [("count",), ("count", "share")])
@pytest.mark.parametrize("kept", [True, False])
def test_a_line_that_says_no_number_of_missing_units_may_lack_any(
    history: AnswerCache, table: tuple[str, ...], kept: bool
) -> None:
    """An earlier form of lines said that units may be missing, and not how many: that is no 0."""
    numbers = tuple(Figure(kind, kind, 5.0, 0.0, 9.0) for kind in table)
    counts = Counted((5,), (2.0,)) if kept else None
    said = f"About 5 (0 to 9).\nUnits {MAY_LACK} So counts may be too small, beyond their intervals."
    history.add(Released("How many?", said, "end", "count", 0, table=numbers, counts=counts))
    history.add(Released("How many else?", "About 5 (0 to 9).", "end", "count", 0, table=numbers, counts=counts))
    first, second = history.all()
    assert (first.unable, second.unable) == (None, 0)
    assert first.counts is None or first.counts.unable is None

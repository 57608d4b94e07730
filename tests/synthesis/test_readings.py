"""Readings of texts: complete or of no effect, resumed, erased with their text; votes and lists that rest on them."""

import json
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from discreet.algorithms.consensus import Consensus
from discreet.errors import StoreError, UsageError
from discreet.models.toy import ToyModel
from discreet.registry import MuRAGAda, Summary
from discreet.statistics.values import values_of
from discreet.store.documents import Document
from discreet.store.unit_records import TextStatement, UnitRecord
from discreet.synthesis.extraction import digest
from discreet.synthesis.readings import DONE, Done, Readings, ReadStatements, name_of
from discreet.vault import Vault

WORDS = ["treatment", "is", "sand", "steam", "diagnosis", "cold"]
TREATED, STEAMED, BOTH = ("say: treatment is sand .", "say: treatment is steam .", "say: diagnosis is cold .")


def toy(name: str = "toy") -> ToyModel:
    model = ToyModel(WORDS, default="treatment", size=7)
    model.name = name
    return model


@pytest.fixture
def filled(tmp_path: Path) -> Vault:
    vault = Vault.create(tmp_path / "v", epsilon=20, delta=1e-5, embedder="hashing")
    vault = Vault.open(vault.path, model=toy())
    vault.add_documents([Document("a", "one", TREATED), Document("b", "two", STEAMED), Document("c", "two", BOTH)])
    return vault


def stated(vault: Vault) -> dict[str, list[tuple[str, str]]]:
    read = Readings(vault.path / "readings").load()
    owned = (("one", TREATED), ("two", STEAMED), ("two", BOTH))
    return {text: [(one.attribute, one.value) for one in read.of(unit, text)] for unit, text in owned}


def kept(vault: Vault) -> Path:
    """The file with the statements: the only one."""
    (path,) = (vault.path / "readings").glob("statements-*.jsonl")
    return path


ALL = {TREATED: [("treatment", "sand")], STEAMED: [("treatment", "steam")], BOTH: [("diagnosis", "cold")]}
NONE: dict[str, list[tuple[str, str]]] = {TREATED: [], STEAMED: [], BOTH: []}


def test_each_text_is_read_once(filled: Vault) -> None:
    told: list[tuple[int, int]] = []
    assert not filled.components.readings.complete
    assert filled.read(lambda done, size: told.append((done, size))) == 3
    assert stated(filled) == ALL
    assert filled.components.readings.complete
    assert told[0] == (0, 3)
    told.clear()
    assert filled.read(lambda done, size: told.append((done, size))) == 3
    assert told == [(3, 3)]


def test_vault_without_documents_is_not_read(tmp_path: Path) -> None:
    """A complete reading of nothing would let all later questions be answered by nothing."""
    vault = Vault.create(tmp_path / "empty", epsilon=20, delta=1e-5, embedder="hashing")
    vault = Vault.open(vault.path, model=toy())
    with pytest.raises(UsageError, match="has no documents yet"):
        vault.read()
    assert not vault.components.readings.complete
    vault.add_documents([Document("a", "one", TREATED)])
    assert vault.read() == 1
    vault.remove_unit("one")  # whether the reading is complete depends on no document
    assert vault.read() == 0
    assert vault.components.readings.complete


def test_reading_that_was_broken_off_has_no_effect(filled: Vault) -> None:
    """Which texts it has read depends on the number of the others."""

    def broken(done: int, size: int) -> None:
        if done == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        filled.read(broken)
    assert kept(filled).read_text().strip()
    assert stated(filled) == NONE
    told: list[int] = []
    filled.read(lambda done, _: told.append(done))
    assert told[0] == 2
    assert stated(filled) == ALL


def test_later_text_has_no_statement_before_it_is_read(filled: Vault) -> None:
    filled.read()
    later = "say: treatment is cold ."
    filled.add_documents([Document("d", "three", later), Document("e", "four", "say: diagnosis is steam .")])
    readings = Readings(filled.path / "readings")
    assert readings.load().of("three", later) == ()

    def broken(done: int, size: int) -> None:
        if done == 4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        filled.read(broken)
    assert readings.load().of("three", later) == ()
    assert stated(filled) == ALL
    filled.read()
    assert readings.load().of("three", later) == (TextStatement("treatment", "cold"),)


def test_statements_are_erased_with_their_text_alone(filled: Vault) -> None:
    filled.read()
    path = kept(filled)
    assert "sand" in path.read_text()
    filled.remove_unit("one")
    assert not path.exists()
    assert "sand" not in kept(filled).read_text()
    assert stated(filled) == ALL | {TREATED: []}
    assert Readings(filled.path / "readings").complete


def test_replaced_text_loses_its_statements(filled: Vault) -> None:
    filled.read()
    filled.add_documents([Document("a", "one", "say: diagnosis is steam .")])
    assert stated(filled) == ALL | {TREATED: []}


def test_unfinished_lines_stay_without_effect_after_an_erasure(filled: Vault) -> None:
    filled.read()
    path = kept(filled)
    last = path.read_text().strip().split("\n")[-1]
    *about, _, facts = json.loads(last)
    with path.open("a") as file:
        file.write(json.dumps([*about, "0" * 32, facts]) + "\n")
    filled.remove("a")
    assert stated(filled) == ALL | {TREATED: []}


def test_erasure_puts_one_reading_in_the_place_of_another_at_one_moment(filled: Vault) -> None:
    """A reader that looked at the former one reads the later one, and never none."""
    filled.read()
    readings = filled.components.readings
    before, old = readings.done, kept(filled)
    filled.remove("a")
    assert not old.exists()
    assert readings.done.file != before.file
    assert readings.complete
    assert readings.load().of("two", STEAMED) == (TextStatement("treatment", "steam"),)


def test_erasure_during_a_reading_stops_it(filled: Vault) -> None:
    def erase(done: int, size: int) -> None:
        if done == 1:
            filled.remove("a")

    with pytest.raises(UsageError, match="erased during the reading"):
        filled.read(erase)
    assert not filled.components.readings.complete
    filled.read()
    assert stated(filled) == ALL | {TREATED: []}


def test_reading_and_erasure_do_not_end_at_the_same_moment(filled: Vault) -> None:
    """The erasure waits until the reading has named its file, and so replaces it."""
    filled.read()
    readings, order = filled.components.readings, list[str]()

    def erase() -> None:
        readings.keep([("two", STEAMED)])
        order.append("erased")

    with readings._alone():
        erasing = threading.Thread(target=erase)
        erasing.start()
        erasing.join(0.3)
        order.append("read")
    erasing.join()
    assert order == ["read", "erased"]


def test_erasure_that_was_killed_is_made_up_for(filled: Vault) -> None:
    filled.read()
    filled.store.remove("a")  # the process ends here
    (filled.path / "adding.left").touch()
    again = Vault.open(filled.path, model=toy())
    assert again.store.count_documents() == 2
    assert "sand" not in kept(filled).read_text()


def test_words_that_cannot_be_removed_are_removed_at_the_next_opening(filled: Vault) -> None:
    """The documents are erased by then, so nothing else would tell that something is left."""
    filled.read()
    lock = filled.path / "readings" / "lock"
    lock.unlink()
    lock.mkdir()
    with pytest.raises(StoreError, match="readings/lock cannot be opened"):
        filled.remove("a")
    assert "sand" in kept(filled).read_text()
    lock.rmdir()
    again = Vault.open(filled.path, model=toy())
    assert again.store.count_documents() == 2
    assert "sand" not in kept(filled).read_text()
    assert not list(filled.path.glob("adding.*"))


@pytest.mark.parametrize("content", ["", "{", '{"about": 1}', '{"about": [], "end": "x"}', "[]"])
def test_damaged_mark_is_no_reading(filled: Vault, content: str) -> None:
    filled.read()
    (filled.path / "readings" / DONE).write_text(content)
    assert not filled.components.readings.complete
    assert stated(filled) == NONE


def test_statement_whose_words_are_not_in_its_text_is_left_out(filled: Vault) -> None:
    filled.read()
    path = kept(filled)
    path.write_text(path.read_text().replace("steam", "shark"))
    assert stated(filled)[STEAMED] == []


# -- what rests on readings ------------------------------------------------------------------------------------------


@pytest.fixture
def ward(tmp_path: Path) -> Vault:
    vault = Vault.create(tmp_path / "w", epsilon=20, delta=1e-5, embedder="hashing")
    vault = Vault.open(vault.path, model=toy())
    vault.add_documents([Document(f"d{n}", f"u{n}", TREATED) for n in range(120)])
    return vault


def test_vote_by_what_was_read_needs_no_model(ward: Vault) -> None:
    by_reading = MuRAGAda(inner=Consensus(readings=True), lowest=-1.0)
    with pytest.raises(UsageError, match="discreet code --statements"):
        ward.ask("What is the treatment?", by_reading)
    assert ward.ledger.unit_balances() == []
    ward.read()
    again = Vault.open(ward.path)
    answer = again.ask("What is the treatment?", by_reading)
    assert answer.answer == "sand"
    assert "model" not in again.components.built
    assert again.ask("what is the treatment", by_reading).receipt.payment == "nobody"  # type: ignore[union-attr]


def test_no_parameter_needs_a_model_beside_readings() -> None:
    for wrong in ({"prefix": "It is"}, {"fallback": ("keywords",)}):
        with pytest.raises(UsageError, match="no fallback and no prefix"):
            replace(Consensus(readings=True), **wrong)


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("Seen for nausea.", ["nausea"]),
        ("Denies nausea.", []),
        ("No nausea, but a rash.", ["rash"]),
        ("A rash without nausea.", ["rash"]),
        ("Nausea was denied.", []),
        ("No nausea at first. Nausea since Monday.", ["nausea"]),
        ("No nausea and no rash.", []),
    ],
)
def test_denied_is_not_stated_without_a_schema(text: str, values: list[str]) -> None:
    """A model writes "the symptom is nausea" of a note that denies it: 92 such notes made 83 of true 22."""
    about = ["model", "machine", 1]
    said = [["symptom", one] for one in ("nausea", "rash") if one in text.casefold()]
    line = json.dumps([*about, digest(text), said]) + "\n"
    done = Done(about=tuple(about), covered=frozenset([name_of("one", text)]))
    record = UnitRecord((text,), statements=ReadStatements(done, line.encode()).of("one", text))
    assert values_of(record, "symptoms") == values
    assert Summary().values(record) == tuple(f"symptom: {one}" for one in values)


def test_damaged_lines_are_left_out(filled: Vault) -> None:
    filled.read()
    path = kept(filled)
    content = path.read_text()
    path.write_text(content.replace('["treatment", "steam"]', '["treatment", "steam"'))
    found = stated(filled)
    assert found[STEAMED] == []
    assert found[TREATED] == [("treatment", "sand")]

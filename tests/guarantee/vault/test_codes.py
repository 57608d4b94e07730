"""Codes from the store to the receipt: what was not coded, erased, shared, backed up; a changed book; broken coders."""

import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from discreet.algorithms.base import Answer
from discreet.errors import CannotAnswer, UsageError
from discreet.operations.backup import back_up, restore
from discreet.query import pipeline
from discreet.registry import Count, ListValues, Themes
from discreet.statistics.statistic import Statistic
from discreet.store.codebook import FILE, Codebook
from discreet.store.documents import Document
from discreet.store.embedding import HashingEmbedder
from discreet.synthesis import readings
from discreet.synthesis.embedder_coder import EmbedderCoder
from discreet.synthesis.extraction import digest
from discreet.synthesis.readings import CODES, Coder
from discreet.synthesis.statements import Found
from discreet.system.files import replace_file
from discreet.vault import Vault, components, reading
from discreet_lab.audit.algorithms import WordCoder
from tests.guarantee.privacy.test_tables import NoNoise

VALUES = ("cough", "rash", "fever", "chills")


def book_of(*values: str) -> Codebook:
    code = {"name": "complaint", "type": "any of", "most": 2, "values": [{"name": one} for one in values]}
    return Codebook.parse({"attributes": [code]})


BOOK, OTHER = book_of(*VALUES), book_of(*VALUES[1:])
ASKED = Themes(attribute="complaint", epsilon=0.1)


def note(number: int, text: str, unit: str = "") -> Document:
    return Document(f"d{number}", unit or f"u{number}", text)


@pytest.fixture
def vault(tmp_path: Path) -> Vault:
    path = tmp_path / "v"
    Vault.create(path, epsilon=20, delta=1e-5, embedder="hashing", unit_field="patient", model="toy").store.close()
    opened = Vault.open(path)
    opened.add_documents([note(0, "cough"), note(1, "rash"), note(2, "cough rash")])
    opened.use_book(BOOK)
    coded(opened)
    return opened


def coded(vault: Vault, coder: Coder | None = None) -> Vault:
    vault.code(lambda *_: None, coder=coder or WordCoder())
    return vault


def counts(vault: Vault, asked: Statistic = ASKED) -> dict[str, int]:
    """The true counts of the themes."""
    found = vault.simulate("themes", asked, noise=NoNoise(0))
    return {one.name: round(one.value) for one in found.table if one.kind == "count"}


def of(cough: int, rash: int, units: int) -> dict[str, int]:
    return {"cough": cough, "rash": rash, "fever": 0, "chills": 0, "of": units}


# -- what was not coded ----------------------------------------------------------------------------------------------


def test_text_that_was_not_coded_counts_after_the_next_coding(vault: Vault) -> None:
    assert counts(vault) == of(2, 2, 3)
    vault.add_documents([note(3, "fever chills")])
    assert counts(vault) == of(2, 2, 3)
    assert counts(coded(vault)) == of(2, 2, 4) | {"fever": 1, "chills": 1}


def test_note_that_comes_later_leaves_the_codes_of_its_unit(vault: Vault) -> None:
    vault.add_documents([note(3, "fever", unit="u0")])
    assert counts(vault) == of(2, 2, 3)
    assert counts(coded(vault)) == of(2, 2, 3) | {"fever": 1}


def test_text_of_another_unit_does_not_code_one_that_comes(vault: Vault) -> None:
    """Its text was coded, since another unit has it. Whether one has, must not show."""
    vault.add_documents([note(3, "cough")])
    assert counts(vault) == of(2, 2, 3)
    assert counts(coded(vault)) == of(3, 2, 4)


def test_coverage_by_text_alone_is_caught(vault: Vault, monkeypatch: pytest.MonkeyPatch) -> None:
    """The twin: a text counts as coded if any unit's text of this content was."""
    monkeypatch.setattr(readings.ReadStatements, "covers", lambda self, _, text: digest(text) in self._lines)
    with pytest.raises(AssertionError):
        test_text_of_another_unit_does_not_code_one_that_comes(vault)


def test_replaced_text_loses_its_codes(vault: Vault) -> None:
    vault.add_documents([note(0, "fever")])
    assert counts(vault) == of(1, 2, 2)
    assert digest("cough") not in files_of(vault)


def test_not_coded_is_no_value(vault: Vault) -> None:
    """ "Not" is about all units, as for phrases; "!=" about records that were coded."""
    vault.add_documents([note(3, "fever")])
    for condition, number in (("complaint = cough", 2), ("not complaint = cough", 2), ("complaint != cough", 1)):
        found = vault.simulate("count", Count(condition=condition, epsilon=0.1), noise=NoNoise(0))
        assert round(found.table[0].value) == number, condition


# -- erasure, shared texts, copies -----------------------------------------------------------------------------------


def files_of(vault: Vault) -> str:
    return "".join(path.read_text() for path in (vault.path / CODES).iterdir())


def test_erased_unit_leaves_no_code(vault: Vault) -> None:
    assert digest("cough") in files_of(vault)
    vault.remove_unit("u0")
    assert digest("cough") not in files_of(vault)
    assert counts(vault) == of(1, 2, 2)


def test_erased_unit_leaves_the_codes_of_one_with_the_same_text(vault: Vault) -> None:
    vault.add_documents([note(3, "cough")])
    coded(vault)
    vault.remove_unit("u0")
    assert counts(vault) == of(2, 2, 3)
    assert digest("cough") in files_of(vault)
    vault.remove_unit("u3")
    assert digest("cough") not in files_of(vault)


def test_unit_that_comes_back_is_not_coded(vault: Vault) -> None:
    vault.remove("d1")
    vault.add_documents([note(1, "rash")])
    assert counts(vault) == of(2, 1, 2)
    assert counts(coded(vault)) == of(2, 2, 3)


def test_backup_leaves_codes_out(vault: Vault, tmp_path: Path) -> None:
    back_up(vault.path, tmp_path / "backup")
    assert not [path for path in (tmp_path / "backup").rglob("*") if CODES in path.parts]
    restored = Vault.open(restore(tmp_path / "backup", tmp_path / "r").vault)
    with pytest.raises(CannotAnswer, match="no public values"):
        restored.price("themes: complaint")
    with pytest.raises(UsageError, match="--made-without-records"):  # someone may have seen records before the backup
        restored.use_book(OTHER)
    restored.use_book(BOOK)
    assert counts(coded(restored)) == of(2, 2, 3)


# -- another coder, another book -------------------------------------------------------------------------------------


class Shouting(WordCoder):
    """Another way to code: it finds "chills" in each text."""

    def about(self, book: Codebook) -> tuple[Any, ...]:
        return ("shouting", book.digest)

    def code(self, texts: Sequence[str], book: Codebook) -> Iterator[tuple[int, list[Found]]]:
        for place, _ in enumerate(texts):
            yield place, [("complaint", "chills", False, None, "")]


def test_former_codes_count_until_all_texts_are_coded_again(vault: Vault) -> None:
    vault.add_documents([note(3, "fever")])

    def broken(done: int, size: int) -> None:
        if done == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        vault.code(broken, coder=Shouting())
    assert counts(vault) == of(2, 2, 3)
    assert counts(coded(vault, Shouting())) == {"cough": 0, "rash": 0, "fever": 0, "chills": 4, "of": 4}
    assert counts(coded(vault)) == of(2, 2, 4) | {"fever": 1}


def test_codes_that_the_book_lacks_count_nowhere(vault: Vault) -> None:
    class Inventing(WordCoder):
        def about(self, book: Codebook) -> tuple[Any, ...]:
            return ("inventing", book.digest)

        def code(self, texts: Sequence[str], book: Codebook) -> Iterator[tuple[int, list[Found]]]:
            for place, text in enumerate(texts):
                yield place, [("complaint", f"secret of {text}", False, None, ""), ("other", "rash", False, None, "")]

    assert counts(coded(vault, Inventing())) == of(0, 0, 3)
    record = next(iter(vault.components.corpus._records.now().records.values()))
    assert record.values("complaint") == []


def test_more_values_than_the_book_allows_count_as_many_as_it_does(vault: Vault) -> None:
    several = [note(4, "cough", unit="u5"), note(5, "rash fever chills", unit="u5")]
    vault.add_documents([note(3, "cough rash fever chills"), *several])
    found = counts(coded(vault))
    assert found["of"] == 5
    assert sum(found.values()) - found["of"] == 4 + 2 + 2


def test_rare_code_is_shown(vault: Vault) -> None:
    vault.add_documents([note(3, "fever")])
    found = coded(vault).simulate("themes", ASKED, noise=NoNoise(0))
    assert {one.name for one in found.table if one.kind == "count"} == {*VALUES, "of"}  # one has fever, none has chills
    asked = vault.ask("themes: complaint")
    assert {one.name for one in asked.table if one.kind == "share"} == set(VALUES)


def receipts(vault: Vault) -> list[Answer]:
    """Answers of all kinds that read a code."""
    return [
        vault.ask("themes: complaint", anew=True),
        vault.ask("count: complaint = rash", anew=True),
        vault.ask('share: complaint = rash, among "cough"', anew=True),
        vault.ask('compare: complaint = rash, groups "cough" versus complaint = fever', anew=True),
        vault.ask("list", ListValues(attribute="complaints", epsilon=0.1), anew=True),
    ]


def marks(answer: Answer) -> str:
    """What is said of the book. That codes may be wrong is said of each number that reads one."""
    assert answer.receipt is not None
    about_codes = [one for one in answer.receipt.assumed if one.startswith("that the codes are right")]
    assert len(about_codes) == ("complaint" in answer.understood)
    return " ".join(one for one in answer.receipt.assumed if one not in about_codes)


def check_changed_book_is_marked(vault: Vault, said: str, change: Callable[[], object]) -> None:
    """After a change of the book, each answer that reads a code says on its receipt how it was changed."""
    assert not any(map(marks, receipts(vault)))
    change()
    coded(vault)
    for answer in receipts(vault):
        assert f"without a look at them: {said}" in marks(answer), answer.understood
    assert f"without a look at them: {said}" in marks(vault.ask("themes: complaint"))  # a repeated answer
    assert not marks(vault.ask('count: "rash"'))  # reads none


@pytest.mark.parametrize(("blind", "said"), [(True, "declared"), (False, "not declared")])
def test_changed_book_is_marked_on_each_receipt(vault: Vault, blind: bool, said: str) -> None:
    check_changed_book_is_marked(vault, said, lambda: vault.use_book(OTHER, made_without_records=blind))
    vault.use_book(BOOK, made_without_records=True)
    assert f"at them: {said}" in marks(coded(vault).ask("count: complaint = rash", anew=True))  # it stays


def test_changed_book_that_was_dropped_in_between_is_marked(vault: Vault) -> None:
    def change() -> None:
        vault.use_book(None)
        with pytest.raises(UsageError, match="--made-without-records"):
            vault.use_book(OTHER)
        vault.use_book(OTHER, made_without_records=True)

    check_changed_book_is_marked(vault, "declared", change)


def test_book_that_is_edited_in_its_file_is_marked(vault: Vault) -> None:
    def change() -> None:
        (vault.path / FILE).write_text(OTHER.text())
        with pytest.raises(UsageError, match="was changed after records were coded"):
            coded(vault)
        with pytest.raises(UsageError, match="--made-without-records"):
            vault.use_book(vault.path / FILE)
        vault.use_book(vault.path / FILE, made_without_records=False)

    check_changed_book_is_marked(vault, "not declared", change)


def test_mark_stays_with_a_book_in_another_vault(vault: Vault, tmp_path: Path) -> None:
    vault.use_book(OTHER, made_without_records=False)
    path = tmp_path / "other"
    Vault.create(path, epsilon=20, delta=1e-5, embedder="hashing", model="toy").store.close()
    other = Vault.open(path)
    other.use_book(BOOK)
    assert other.use_book(vault.path / FILE).changed == "not declared"  # type: ignore[union-attr]


def test_changed_book_without_a_word_is_refused(vault: Vault) -> None:
    with pytest.raises(UsageError, match="Nothing was changed"):
        vault.use_book(OTHER)
    assert Codebook.read(vault.path / FILE) == BOOK
    assert vault.use_book(BOOK) == BOOK  # the same one is none


def unmarked(parts: Any, given: Codebook | None, **_: object) -> Codebook | None:
    """A twin: the book is kept as it was given."""
    assert given is not None
    replace_file(parts.path / FILE, given.text())
    return given


def test_edited_book_without_its_mark_is_caught(vault: Vault, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "settle_book", unmarked)
    monkeypatch.setattr(reading, "_settled_book", lambda parts: components.book_of(parts.path))
    with pytest.raises(AssertionError):
        check_changed_book_is_marked(vault, "declared", lambda: vault.use_book(OTHER, made_without_records=True))


def test_mark_that_only_tests_of_fields_carry_is_caught(vault: Vault, monkeypatch: pytest.MonkeyPatch) -> None:
    """The twin: a list reads the code by a word that is like its name, and does not say so."""
    monkeypatch.setattr(pipeline, "matches", lambda name, attribute: False)
    with pytest.raises(AssertionError):
        check_changed_book_is_marked(vault, "declared", lambda: vault.use_book(OTHER, made_without_records=True))


def test_lost_codes_are_no_codes(vault: Vault) -> None:
    shutil.rmtree(vault.path / CODES)
    with pytest.raises(CannotAnswer, match="no public values"):
        Vault.open(vault.path).price("themes: complaint")


# -- a coder sees one text -------------------------------------------------------------------------------------------


class Letters(HashingEmbedder):
    """An embedder by the letters of a text: each row by itself."""

    name = "letters"

    def embed(self, texts: Sequence[str], progress: Callable[[int], None] | None = None) -> Any:
        rows = np.zeros((len(texts), self.dimension), dtype=np.float32)
        for row, text in zip(rows, texts, strict=True):
            for letter in text:
                row[ord(letter) % 50] += 1
            row /= max(1.0, float(np.linalg.norm(row)))
        return rows


TEXTS = ("A cough . No rash .", "Rush and fevre , but no chill .", "Her mother had a rash .", "", "Well.", "cought")


def check_codes_depend_on_their_own_text(coder: Any) -> None:
    """Beside any other texts, in any order."""
    alone = {text: dict(coder.code([text], BOOK))[0] for text in TEXTS}
    assert len({str(found) for found in alone.values()}) > 2
    for size in (2, 3, len(TEXTS)):
        for some in combinations(TEXTS, size):
            for order in (some, some[::-1]):
                assert [found for _, found in sorted(coder.code(order, BOOK))] == [alone[text] for text in order]


class Merging:
    """A twin: a code of one text alone is dropped."""

    def __init__(self, coder: Any) -> None:
        self._coder = coder

    def code(self, texts: Sequence[str], book: Codebook) -> Iterator[tuple[int, list[Found]]]:
        every = list(self._coder.code(texts, book))
        for place, found in every:
            yield place, [one for one in found if len(texts) == 1 or sum(one in other for _, other in every) > 1]


class Centred(Letters):
    """A twin: vectors around the mean of those in one call."""

    def embed(self, texts: Sequence[str], progress: Callable[[int], None] | None = None) -> Any:
        rows = super().embed(texts)
        return rows - rows.sum(axis=0) / max(1, len(rows)) / 2


def embedder_coder(embedder: Letters) -> EmbedderCoder:
    coder = EmbedderCoder.__new__(EmbedderCoder)  # hashed words have no meaning, and are refused
    coder._embedder, coder._books = embedder, {}
    return coder


@pytest.mark.parametrize("coder", [WordCoder(), embedder_coder(Letters())], ids=["words", "embedder"])
def test_codes_depend_on_their_own_text(coder: Any) -> None:
    check_codes_depend_on_their_own_text(coder)


@pytest.mark.parametrize("coder", [Merging(WordCoder()), Merging(embedder_coder(Letters())), embedder_coder(Centred())])
def test_coder_that_sees_two_records_is_caught(coder: Any) -> None:
    with pytest.raises(AssertionError):
        check_codes_depend_on_their_own_text(coder)


def test_two_names_of_one_field_are_refused() -> None:
    """A code is a field, whose name has underscores: two attributes that differ in them would be one."""
    one = BOOK.attributes[0].describe()
    with pytest.raises(ValueError, match="stands for two"):
        Codebook.parse({"attributes": [one | {"name": "main complaint"}, one | {"name": "main_complaint"}]})


def test_released_table_by_groups_keeps_its_room(vault: Vault) -> None:
    """A repeated answer says of as many missing units as the first one."""
    asked = replace(ASKED, by="complaint", epsilon=12.0)
    vault.ask("first", replace(asked, most=1))
    first = vault.ask("second", asked)
    again = vault.ask("second", asked)
    assert first.unable
    assert again.unable == first.unable
    assert again.receipt is not None
    assert again.receipt.payment == "nobody"

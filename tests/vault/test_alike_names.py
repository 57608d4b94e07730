"""Names of units that look alike are pointed out before documents are added; none is joined or refused by it."""

from pathlib import Path

import pytest

from discreet.store.documents import Document, canonical_unit
from discreet.vault import Vault


@pytest.fixture
def vault(tmp_path: Path) -> Vault:
    made = Vault.create(tmp_path / "v", epsilon=9, delta=1e-6, unit_field="person", embedder="hashing")
    (tmp_path / "first.csv").write_text("person,text\nBruno Dietz,A note.\nAda Lind,Another one.\n7,A third one.\n")
    made.add(tmp_path / "first.csv")
    return made


def doubts(vault: Vault, folder: Path, *names: str) -> str:
    table = folder / "next.csv"
    table.write_text("person,text\n" + "".join(f'"{name}",Note {n}.\n' for n, name in enumerate(names)))
    return " ".join(vault.intake(table).preview.doubts)


def test_name_that_looks_like_a_stored_one(vault: Vault, tmp_path: Path) -> None:
    found = doubts(vault, tmp_path, "bruno_dietz", "Ada Lind", "Cora Maas")
    assert "'bruno_dietz' looks like 'bruno dietz', which is in the vault" in found
    assert "ada" not in found
    assert "two budgets" in found


def test_name_that_looks_like_an_erased_one(vault: Vault, tmp_path: Path) -> None:
    vault.remove_unit("Bruno Dietz")
    for name in ("bruno_dietz", "Bruno-Dietz", "bruno.dietz"):
        assert f"'{name.lower()}' looks like 'bruno dietz', which was erased" in doubts(vault, tmp_path, name)
    assert doubts(vault, tmp_path, "Bruno Dietz") == ""  # the same name: its documents are refused by themselves


def test_names_of_one_addition(tmp_path: Path) -> None:
    made = Vault.create(tmp_path / "v", epsilon=9, delta=1e-6, unit_field="person", embedder="hashing")
    found = doubts(made, tmp_path, "Jürgen Groß", "juergen gross", "Jurgen_Gross", "jürgen-gross")
    assert "'jürgen-gross' looks like 'jürgen gross'" in found
    assert "juergen" not in found
    assert "jurgen" not in found  # accents tell two people apart


@pytest.mark.parametrize("names", [("a-1", "a1"), ("12", "1-2", "-12"), ("P1", "P10")])
def test_numbers_are_no_spellings(names: tuple[str, ...], vault: Vault, tmp_path: Path) -> None:
    assert doubts(vault, tmp_path, *names) == ""


@pytest.mark.parametrize(
    ("name", "other"),
    [
        ("00123", "123"),
        ("0123", "00123"),
        ("'0071", "0071"),
        ("Braun, Zoë (001635)", "001635"),
        ("kırmızı", "kirmizi"),
        ("İpek", "ipek"),
        ("O’Neil", "O'Neil"),
        ("Anne‐Marie", "Anne-Marie"),
        ("Lind, Ada", "Ada Lind"),
        ("P-007", "P-7"),
    ],
)
def test_what_spreadsheets_and_people_make_of_a_name(name: str, other: str, tmp_path: Path) -> None:
    """In one file, or in the vault already; the way to join both is shown."""
    made = Vault.create(tmp_path / "v", epsilon=9, delta=1e-6, unit_field="person", embedder="hashing")
    assert "looks like" in doubts(made, tmp_path, name, other)
    made.add_documents([Document("1", other, "A note.")])
    found = doubts(made, tmp_path, name)
    assert f"looks like '{canonical_unit(other)}', which is in the vault" in found
    assert "discreet units join VAULT" in found

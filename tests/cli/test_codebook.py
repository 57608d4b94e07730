"""`discreet codebook`: packaged books are shown and copied; codes are compared with the custodian's labels."""

import json
from pathlib import Path

import pytest

from discreet.store.codebook import Codebook, packaged_books
from discreet.synthesis.embedder_coder import EmbedderCoder
from discreet.vault import Vault
from discreet.vault import reading as vault_reading
from tests.cli.running import run
from tests.vault.test_codes import BOOK, Bag, vault  # noqa: F401 - a fixture


@pytest.fixture
def coded(vault: Vault) -> Vault:  # noqa: F811
    vault.code(coder=EmbedderCoder(Bag()))
    return vault


def test_packaged_books_are_listed_and_shown(vault: Vault) -> None:  # noqa: F811
    listed = json.loads(run("codebook", "show", "--json").stdout)
    assert listed == {"packaged": list(packaged_books())}
    shown = run("codebook", "show", vault.path).stdout
    assert "complaint" in shown
    assert "rash" in shown
    assert run("codebook", "show", "medical-vist").exit_code == 2


def test_new_book_is_a_packaged_one(tmp_path: Path) -> None:
    path = tmp_path / "book.yaml"
    assert run("codebook", "new", path, "--like", "support-tiket").exit_code == 2
    assert not path.exists()
    assert run("codebook", "new", path, "--like", "support-ticket").exit_code == 0
    assert Codebook.read(path).name == "support ticket"
    assert run("codebook", "new", path, "--like", "support-ticket").exit_code == 2  # nothing is overwritten


def test_codes_are_compared_with_labels(coded: Vault, tmp_path: Path) -> None:
    labels = tmp_path / "labels.jsonl"
    lines = [
        {"text": "A rash.", "codes": {"complaint": ["skin"]}},
        {"text": "A cough.", "codes": {"complaint": []}},
        {"text": "A visit.", "codes": {"complaint": ["breathing"]}},
    ]
    labels.write_text("".join(json.dumps(line) + "\n" for line in lines))
    before = coded.components.codes.done
    found = json.loads(run("codebook", "check", coded.path, "--labels", labels, "--json").stdout)
    assert found["records"] == 30
    assert found["found"] == {"complaint: skin": 10}
    assert found["wrong"] == found["missed"] == {"complaint: breathing": 10}
    assert found["f1"] == 0.5
    assert Vault.open(coded.path).components.codes.done == before  # nothing is written that an answer reads
    labels.write_text(json.dumps({"text": "A rash.", "codes": {"complaint": ["teeth"]}}) + "\n")
    assert run("codebook", "check", coded.path, "--labels", labels).exit_code == 4


def test_custodian_labels_records(coded: Vault) -> None:
    """A wrong number is asked again, names and numbers count, and `q` ends."""
    done = run("codebook", "check", coded.path, "--sample", "3", typed="9\nskin\n\nq\n")
    assert done.exit_code == 0, done.output
    assert "There is no value '9'" in done.output
    assert "2 records" in done.output


def test_book_may_come_before_the_records(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vault_reading, "open_embedder", lambda _: Bag())
    empty, book, file = tmp_path / "empty", tmp_path / "book.yaml", tmp_path / "f.jsonl"
    Vault.create(empty, epsilon=10, delta=1e-6, embedder="hashing", unit_field="patient")
    book.write_text(BOOK.text())
    done = run("code", str(empty), "--book", str(book))
    assert (done.exit_code, "discreet add" in done.output) == (0, True), done.output
    file.write_text('{"id": "d", "text": "A rash."}\n')
    assert run("add", str(empty), str(file)).exit_code == 4  # no record names an individual
    file.write_text('{"id": "d", "patient": "u", "text": "A rash."}\n')
    assert run("add", str(empty), str(file)).exit_code == 0
    assert Vault.open(empty).components.codes.load().coded("u", "A rash.") == {"complaint": ("skin",)}


def test_records_that_are_not_coded_are_not_checked(vault: Vault) -> None:  # noqa: F811
    done = run("codebook", "check", vault.path)
    assert done.exit_code == 2
    assert "not coded" in done.output

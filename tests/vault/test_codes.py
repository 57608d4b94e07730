"""Coding beside a server: it waits while a question is answered; `add` codes what it adds."""

import csv
import json
import threading
from collections.abc import Sequence
from html import escape
from pathlib import Path

import pytest
from typer.testing import CliRunner

from discreet.cli.app import app
from discreet.errors import UsageError
from discreet.store.codebook import Codebook, coder_of, find_book, packaged_books
from discreet.store.documents import Document
from discreet.store.embedding import HashingEmbedder, Told, Vectors
from discreet.synthesis.embedder_coder import EmbedderCoder, fit
from discreet.system.databases import answering
from discreet.vault import Vault
from discreet.vault import reading as vault_reading

BOOK = Codebook.parse(
    {
        "attributes": [
            {
                "name": "complaint",
                "type": "any of",
                "values": [{"name": "skin", "words": ["rash"]}, {"name": "breathing", "words": ["cough"]}],
            }
        ]
    }
)


class Bag:
    """An embedder by words, in place of one by meaning."""

    name, dimension = "bag", HashingEmbedder.dimension

    def embed(self, texts: Sequence[str], progress: Told | None = None) -> Vectors:
        """Return a vector for each text."""
        return HashingEmbedder().embed(texts, progress)


@pytest.fixture
def vault(tmp_path: Path) -> Vault:
    made = Vault.create(tmp_path / "v", epsilon=10, delta=1e-6, embedder="hashing", unit_field="patient")
    made.add_documents(Document(f"d{n}", f"u{n}", ("A rash.", "A cough.", "A visit.")[n % 3]) for n in range(30))
    made.use_book(BOOK)
    return made


def coded(vault: Vault, unit: str, text: str) -> object:
    return vault.components.codes.load().coded(unit, text)


def test_coding_waits_while_a_question_is_answered(vault: Vault) -> None:
    told: list[int] = []
    begun, ended = threading.Event(), threading.Event()

    def code() -> None:
        begun.set()
        Vault.open(vault.path).code(lambda done, _: told.append(done), coder=EmbedderCoder(Bag()))
        ended.set()

    with answering(vault.path):
        thread = threading.Thread(target=code)
        thread.start()
        begun.wait(30)
        assert not ended.wait(0.3)
        assert told == []
    thread.join(60)
    assert told[-1] == 3
    assert coded(vault, "u0", "A rash.") == {"complaint": ("skin",)}


def test_vault_without_codes_is_not_coded(tmp_path: Path) -> None:
    vault = Vault.create(tmp_path / "v", epsilon=10, delta=1e-6, embedder="hashing", unit_field="patient")
    with pytest.raises(UsageError, match="no documents"):
        vault.code()
    vault.add_documents([Document("d", "u", "A rash.")])
    with pytest.raises(UsageError, match="no codebook with codes"):
        vault.code()


def test_add_codes_what_it_adds(vault: Vault, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vault_reading, "open_embedder", lambda _: Bag())
    vault.code()
    file = tmp_path / "more.jsonl"
    file.write_text(json.dumps({"id": "new", "patient": "new", "text": "A rash and a cough."}) + "\n")
    done = CliRunner().invoke(app, ["add", str(vault.path), str(file), "--no-code"])
    assert done.exit_code == 0, done.output
    assert "discreet code" in " ".join(done.output.split())
    assert coded(vault, "new", "A rash and a cough.") is None
    file.write_text(json.dumps({"id": "new", "patient": "new", "text": "A cough and a rash."}) + "\n")
    done = CliRunner().invoke(app, ["add", str(vault.path), str(file)])
    assert done.exit_code == 0, done.output
    assert coded(Vault.open(vault.path), "new", "A cough and a rash.") == {"complaint": ("skin", "breathing")}


@pytest.mark.parametrize("texts", [[], ["A visit."], ["A rash."], [""]])
def test_what_add_codes_does_not_depend_on_what_it_adds(
    vault: Vault, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, texts: list[str]
) -> None:
    """Else one person's file would decide whether an earlier record of another has codes."""
    monkeypatch.setattr(vault_reading, "open_embedder", lambda _: Bag())
    vault.code()
    vault.add_documents([Document("waits", "waits", "A rash and a cough.")])
    file = tmp_path / "more.jsonl"
    lines = [{"id": "d2", "patient": "u2", "text": "A visit."}]  # unchanged
    lines += [{"id": f"n{n}", "patient": f"n{n}", "text": text} for n, text in enumerate(texts)]
    file.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    done = CliRunner().invoke(app, ["add", str(vault.path), str(file)])
    assert done.exit_code == 0, done.output
    assert coded(Vault.open(vault.path), "waits", "A rash and a cough.") == {"complaint": ("skin", "breathing")}


def changed(what: str) -> Codebook:
    """The book with another word for the attribute, or for its first value."""
    found = BOOK.attributes[0]
    if what == "attribute":
        own = found.model_copy(update={"words": ("symptom",), "meaning": "what the visit is about"})
    else:
        first = found.values[0].model_copy(update={"words": ("rash", "itching")})
        own = found.model_copy(update={"values": (first, *found.values[1:])})
    return BOOK.model_copy(update={"attributes": (own,)})


def test_changed_book_is_marked_whatever_way_it_takes(vault: Vault) -> None:
    """A book that was dropped in between is a changed one, too, and a mark stays."""
    vault.code(coder=EmbedderCoder(Bag()))
    vault.use_book(BOOK)  # the same one
    assert vault.components.codes.assumed == ()
    other = Codebook.parse({"attributes": [{"name": "topic", "type": "one of", "values": [{"name": "rash"}]}]})
    vault.use_book(None)
    with pytest.raises(UsageError, match="changes after records were coded"):
        vault.use_book(other)
    vault.use_book(other, made_without_records=True)
    vault.code(coder=EmbedderCoder(Bag()))
    assert "declared" in " ".join(vault.components.codes.assumed)
    vault.use_book(BOOK, made_without_records=False)
    vault.code(coder=EmbedderCoder(Bag()))
    vault.use_book(None)
    vault.use_book(other, made_without_records=True)
    vault.code(coder=EmbedderCoder(Bag()))
    receipt = vault.ask("themes: topic").receipt
    assert receipt is not None
    assert "not declared" in " ".join(receipt.assumed)


@pytest.mark.parametrize("measured", [False, True])
def test_number_by_codes_says_what_is_known_of_the_coder(vault: Vault, measured: bool) -> None:
    """In data, in words, in a plan, in a repeated answer and in one that follows; a count of a phrase says nothing."""
    coder = EmbedderCoder(Bag())
    labels = [(text, {"complaint": [one]}) for text, one in (("A rash.", "skin"), ("A cough.", "breathing"))] * 5
    book = fit(BOOK, labels, coder, measure=True) if measured else BOOK
    vault.use_book(book, made_without_records=True)
    vault.code(coder=coder)
    known = f"complaint {book.f1['complaint']:.2f}" if measured else "complaint not measured"
    said = f"that the codes are right, which no interval covers; F1 of the coder on public labels: {known}"
    asked = "themes: complaint", "count: complaint = skin", "count: all", "count: not complaint = skin"
    answers = [vault.ask(one).describe()["receipt"] for one in (*asked, asked[0], 'count: "rash"')]
    assert [one.get("assumed", []).count(said) for one in answers] == [1, 1, 0, 1, 1, 0]
    assert [one["payment"] for one in answers[3:5]] == ["nobody", "nobody"]
    for again in asked[0], asked[3]:  # free ones, too
        shown = vault.ask(again)
        assert f"assumed, not checked: {escape(said)}" in shown._repr_html_()
        printed = CliRunner().invoke(app, ["ask", str(vault.path), again]).stdout
        assert f"assumed, not checked: {said}" in " ".join(printed.split())
    plan = CliRunner().invoke(app, ["ask", str(vault.path), asked[0], "--plan"])
    assert f"Assumed, not checked: {said}." in " ".join(plan.stdout.split())


def about(book: Codebook, embedder: str = "minilm") -> tuple[object, ...]:
    """Return what codes under a book depend on, with the name of another embedder."""
    part = book.part(coded=True)
    assert part is not None
    kind, version, _, said, digest = EmbedderCoder(Bag()).about(part)
    return kind, version, embedder, said, digest


def test_f1_is_of_the_coder_and_book_that_were_measured() -> None:
    """The same for a book whose values were changed since, or another version of the coder, is unknown."""
    book = find_book("support-ticket")
    measured = about(book)
    assert book.trusted(["topic"], measured).endswith(f": topic {book.f1['topic']:.2f}")
    changed = about(book.model_copy(update={"attributes": book.attributes[:1]}))
    for other in (changed, about(book, "bag"), (measured[0], 2, *measured[2:])):
        assert book.trusted(["topic"], other).endswith(": topic not measured")


@pytest.mark.parametrize("name", packaged_books())
def test_packaged_f1_is_that_of_the_results(name: str) -> None:
    """Each fifth of the test set, by thresholds that are fitted on the others."""
    book = find_book(name)
    assert book.f1_of == coder_of(about(book))
    rows = csv.reader((Path(__file__).parents[2] / "docs/results/data/codes.csv").open(encoding="utf-8"))
    fitted = {row[1]: float(row[4]) for row in rows if row[0] == f"{name}, test set" and row[3] == "4 of 5 parts"}
    assert book.f1 == fitted

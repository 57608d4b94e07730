"""The page for the person who signs: whole, plain, escaped, and without a word of any document."""

from html.parser import HTMLParser
from pathlib import Path

import pytest

from discreet.export import Export
from discreet.operations.report import Kind, Report, as_page, corpora, erasures, gather
from discreet.privacy.accounting import Spending
from discreet.privacy.costs import Pure
from discreet.registry import RAG
from discreet.store.documents import Document
from discreet.system.words import how_spent_is_read
from discreet.vault import Vault
from tests.operations.conftest import CHEAP, Make, with_toy

EVIL = '<script>alert("x")</script>&'


class Reader(HTMLParser):
    """Reads a page, and insists that each element is closed."""

    def __init__(self) -> None:
        super().__init__()
        self.open, self.seen, self.texts = list[str](), set[str](), list[str]()
        self.links = list[str]()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.add(tag)
        self.links += [value or "" for name, value in attrs if name in ("src", "href", "action") or name[:2] == "on"]
        if tag not in ("meta",):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def read(content: str) -> Reader:
    reader = Reader()
    reader.feed(content)
    reader.close()
    assert reader.open == []
    return reader


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Report:
    """What is known of a vault with odd names."""
    tmp_path = tmp_path_factory.mktemp("asked")
    vault = Vault.create(
        tmp_path / "a<b>&c", epsilon=20, delta=1e-6, unit_field=EVIL, embedder="hashing", log_questions=True
    )
    vault.add_documents(Document(f"d{n}", f"Ada Lind {n}", "numb thumbs say: winterhand .") for n in range(30))
    vault = with_toy(vault)
    vault.ask(f"numb thumbs? {EVIL}", CHEAP)
    vault.ask("what is it?", RAG(), not_private=True)
    vault.export_vectors(tmp_path / "v.npz", Export(epsilon=1, delta=1e-7, rows=50))
    return gather(vault.path)


@pytest.mark.parametrize("kind", Kind)
def test_page_is_whole_and_fetches_and_runs_nothing(report: Report, kind: Kind) -> None:
    content = as_page(report, kind)
    found = read(content)
    assert not found.seen & {"script", "img", "link", "iframe", "object", "form", "a"}
    assert found.links == []
    assert "url(" not in content
    assert "@import" not in content
    assert "default-src 'none'" in content


@pytest.mark.parametrize("kind", Kind)
def test_page_has_no_documents_or_names_and_escapes_texts(report: Report, kind: Kind) -> None:
    content = as_page(report, kind)
    for word in ("winterhand", "Ada", "Lind"):
        assert word not in content
    assert EVIL not in content
    assert "<b>" not in content
    shown = "".join(read(content).texts)
    assert EVIL in shown, "shown as text"
    assert "a<b>&c" in shown


@pytest.mark.parametrize(
    ("kind", "parts"),
    [
        (Kind.DPIA, ("35(7)(a)", "35(7)(b)", "35(7)(c)", "35(7)(d)", "Documents: 30.", "the legal basis")),
        (Kind.ANONYMITY, ("Singling out", "Linkability", "Inference", "it stays personal data")),
        (Kind.EXPERT_DETERMINATION, ("Replicability", "Distinguishability", "is 3e-05", "the risk is very small")),
    ],
)
def test_documents_for_a_signature_have_what_a_law_asks_for(report: Report, kind: Kind, parts: tuple[str, ...]) -> None:
    shown = " ".join("".join(read(as_page(report, kind)).texts).split())
    for said in (*parts, "epsilon 20", "1 question was asked without a guarantee", "To fill in", "Signatures"):
        assert said in shown, said


def test_page_says_what_matters(report: Report) -> None:
    shown = " ".join("".join(read(as_page(report)).texts).split())
    for said in (
        "epsilon 20",
        "1 question was asked without a guarantee",
        "Documents: 30.",
        "an answer was released",
        "Vectors with noise",
        "Signatures",
        "Problems: 0",
        "smollm2-135m; SHA-256",
        "discreet audit",
        how_spent_is_read("an individual", "grant"),
    ):
        assert said in shown, said


def test_empty_vault_has_a_report(tmp_path: Path) -> None:
    vault = Vault.create(tmp_path / "empty", epsilon=1, delta=1e-6)
    report = gather(vault.path)
    assert (report.documents, report.units, report.questions) == (0, 0, ())
    read(as_page(report))


def test_corpus_is_a_payment_without_a_question(make: Make) -> None:
    vault = make("corpus")
    vault.ask("numb thumbs?", CHEAP)
    assert corpora(vault.path, vault.settings) == []
    vault.ledger.reserve("a-run", 0, Spending.of(Pure(3.0)), [b"u" * 16])
    found = corpora(vault.path, vault.settings)
    assert [one.id for one in found] == ["a-run"]
    assert found[0].epsilon == pytest.approx(3.0)
    assert "Synthetic corpora" in as_page(gather(vault.path))


def test_erasures_are_told_by_number_and_date(make: Make) -> None:
    vault = make("erased")
    assert erasures(vault.path) == []
    assert "no erased individuals" in as_page(gather(vault.path))
    assert vault.inventory.bury("p7") == 1
    found = erasures(vault.path)
    assert found is not None
    assert [one.documents for one in found] == [1]
    content = as_page(gather(vault.path))
    assert "1 individual was erased" in content
    assert found[0].time[:16].replace("T", " ") in content
    assert "p7" not in content

"""A retriever's corpus: one that was released, with its receipt, and nothing else."""

import json
import shutil
from pathlib import Path

import pytest

from discreet.adapters.corpus import ReleasedCorpus
from discreet.errors import BadData, DiscreetError, UsageError
from discreet.synthesis.runner import receipt_path
from tests.adapters.released import release


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A corpus that was released, beside the vault that it comes from."""
    return release(tmp_path_factory.mktemp("corpus"))


@pytest.fixture
def corpus(made: Path, tmp_path: Path) -> Path:
    """A copy of the corpus and its receipt."""
    shutil.copy(receipt_path(made), tmp_path)
    return Path(shutil.copy(made, tmp_path))


def test_released_corpus_is_read(corpus: Path) -> None:
    found = ReleasedCorpus.read(corpus, "hashing")
    assert found.nearest("What helps against winterhand?", 1) == ["winterhand wants sand"]
    assert set(found.about) == {"synthetic", "method", "epsilon", "delta", "unit"}
    assert found.about["epsilon"] > 0
    with pytest.raises(UsageError, match="at least 1"):
        found.nearest("winterhand", 0)


def refuse(path: Path, error: type[DiscreetError], reason: str) -> None:
    with pytest.raises(error, match=reason) as found:
        ReleasedCorpus.read(path, "hashing")
    assert "winterhand" not in str(found.value)


def test_vault_is_refused(made: Path) -> None:
    refuse(made.parent / "v", UsageError, "never documents of a vault")
    refuse(made.parent / "v" / "vault.json", BadData, "receipt")
    refuse(made.parent / "nowhere.jsonl", UsageError, "cannot be read")


def test_file_of_documents_is_refused(corpus: Path) -> None:
    notes = corpus.with_name("notes.jsonl")
    notes.write_text(json.dumps({"text": "Ada has winterhand."}) + "\n")
    refuse(notes, BadData, "its receipt notes.receipt.json is not beside it")
    shutil.copy(receipt_path(corpus), receipt_path(notes))
    refuse(notes, BadData, "changed after its receipt")


def test_changed_corpus_is_refused(corpus: Path) -> None:
    corpus.write_text(corpus.read_text() + json.dumps({"text": "Ada has winterhand."}) + "\n")
    refuse(corpus, BadData, "changed after its receipt")


def test_receipt_of_something_else_is_refused(corpus: Path) -> None:
    receipt = json.loads(receipt_path(corpus).read_text())
    wrong: tuple[object, ...] = (
        receipt | {"plan": {"method": "copy"}},
        receipt | {"receipt": receipt["receipt"] | {"private": False, "epsilon": None}},
        receipt | {"receipt": receipt["receipt"] | {"epsilon": 0.0}},
        {"receipt": receipt["receipt"]},
        [],
    )
    for content in (*map(json.dumps, wrong), "no JSON", "[" * 100_000):
        receipt_path(corpus).write_text(content)
        refuse(corpus, BadData, "is no receipt of a corpus")

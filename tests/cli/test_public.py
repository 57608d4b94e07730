"""A public corpus, named from the command line."""

import hashlib
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from discreet.errors import BadData
from discreet.vault import Vault
from tests.cli.running import json_of, run, said

Write = Callable[[Sequence[dict[str, object]], str], Path]


@pytest.fixture
def corpus(write_jsonl: Write) -> Path:
    return write_jsonl([{"text": "A patient with numb thumbs has Winter Hand."}, {"text": "Fever."}], "public.jsonl")


def test_corpus_is_named_shown_and_removed(vault: Vault, corpus: Path) -> None:
    digest = hashlib.sha256(corpus.read_bytes()).hexdigest()
    assert "No public corpus" in said(run("public", vault.path))
    named = json_of("public", vault.path, corpus)
    assert (named["texts"], named["sha256"]) == (2, digest)
    corpus.unlink()
    assert digest[:12] in said(run("public", vault.path))
    assert "removed" in said(run("public", vault.path, "--remove"))
    assert json_of("public", vault.path) == {"texts": 0, "sha256": None, "removed": False}


def test_what_cannot_be_named_is_refused(vault: Vault, corpus: Path, tmp_path: Path) -> None:
    assert run("public", vault.path, corpus, "--remove").exit_code == 2
    assert run("public", tmp_path / "none", corpus).exit_code == 2
    assert run("public", vault.path, tmp_path / "none.jsonl").exit_code == 2
    assert run("public", vault.path, tmp_path).exit_code == 2
    assert run("public", vault.path, vault.path / "vault.json").exit_code == 4
    assert "No public corpus" in said(run("public", vault.path))


def test_vaults_own_documents_are_not_named_by_mistake(vault: Vault, write_jsonl: Write) -> None:
    notes = write_jsonl([{"patient": f"p{n}", "text": f"Ada {n} has Winter Hand."} for n in range(3)], "notes.jsonl")
    json_of("add", vault.path, notes)
    refused = run("public", vault.path, notes)
    assert refused.exit_code == 4
    assert "3 are documents of this vault" in said(refused)
    with pytest.raises(BadData, match="3 are documents of this vault"):
        vault.public_context.use(notes)
    assert "No public corpus" in said(run("public", vault.path))
    assert json_of("public", vault.path, notes, "--force")["texts"] == 3


def test_answer_says_which_corpus_helped(vault: Vault, corpus: Path, write_jsonl: Write) -> None:
    json_of("add", vault.path, write_jsonl([{"patient": "p", "text": "Ada Lind has Winter Hand."}], "notes.jsonl"))
    digest = json_of("public", vault.path, corpus)["sha256"]
    question = "Which illness do numb thumbs belong to?"
    asked = ("ask", vault.path, question, "--inner", "dp-sparse-vote-rag", "--no-reuse")
    few = ("--voters", 2, "--max-tokens", 1, "--private-tokens", 1, "--epsilon", 3)
    assert f"public corpus {str(digest)[:12]}" in said(run(*asked, *few))
    assert json_of(*asked, *few, "--no-public")["receipt"]["public_corpus"] == ""
    (vault.path / "public.jsonl").write_text("torn")
    damaged = run(*asked, *few)
    assert damaged.exit_code == 4
    assert "--no-public" in said(damaged)

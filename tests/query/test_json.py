"""An answer as plain data is what its schema says."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator, ValidationError

from discreet.algorithms.base import SCHEMA, Answer
from discreet.cli.schema import make_schema
from discreet.models.toy import ToyModel
from discreet.registry import RAG, Consensus, Count, DPSparseVoteRAG, MuRAG, MuRAGAda, NonRAG
from discreet.statistics.cells import Counted
from discreet.statistics.counts import say_difference
from discreet.store.documents import Document
from discreet.vault import Vault

MADE = make_schema("answer")


def valid(answer: Answer) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(json.dumps(answer.describe(show_public=True)))
    Draft202012Validator(MADE).validate(found)
    return found


def test_every_kind_of_answer_is_what_the_schema_says(tmp_path: Path) -> None:
    assert MADE["properties"]["schema"]["const"] == SCHEMA
    vault = Vault.create(tmp_path / "v", epsilon=1e4, delta=1e-6, embedder="hashing")
    vault.add_documents(Document(f"d{n}", f"p{n}", "Fever say: winter hand .") for n in range(30))
    vault = Vault.open(vault.path, model=ToyModel(default="nobody knows"))
    voters = Consensus(voters=25, max_tokens=4)
    described = [
        valid(vault.ask("fever?", MuRAGAda(inner=voters, epsilon=40))),
        valid(vault.ask("fever?", MuRAGAda(inner=voters, epsilon=40))),
        valid(vault.ask("Is it fever?", MuRAGAda(inner=voters, epsilon=40))),
        valid(vault.ask("fever at noon?", MuRAG(inner=DPSparseVoteRAG(voters=25, max_tokens=3), similarity=-1))),
        valid(vault.ask("fever now?", RAG(max_tokens=3), not_private=True)),
        valid(vault.ask("fever now?", NonRAG(max_tokens=3))),
    ]
    assert all(one["remaining"] is None for one in described)
    charges = described[0]["receipt"]["charges"]
    assert [one["times"] for one in charges[:1]] != []
    assert len({json.dumps(one | {"times": 0}) for one in charges}) == len(charges)
    assert len(json.dumps(described[0])) < 2500
    assert described[0]["cost"]["granted"] == 1e4
    for broken in (described[0] | {"answer": 7}, described[0] | {"document": "d7"}):
        with pytest.raises(ValidationError):
            Draft202012Validator(MADE).validate(broken)


def test_interval_without_ends_is_what_the_schema_says(tmp_path: Path) -> None:
    """Units of an unknown number may be missing: a difference of two counts has no end on either side."""
    vault = Vault.create(tmp_path / "v", epsilon=10, delta=1e-6, embedder="hashing")
    vault.add_documents(Document(f"d{n}", f"p{n}", "Fever.") for n in range(30))
    _, table = say_difference(Counted((20, 9), (2.0, 2.0), True, None), ("fever", "cough"), ((0,), (1,)))
    found = valid(replace(vault.ask("How many?", Count(condition="fever")), table=tuple(table)))
    assert [found["table"][2][end] for end in ("low", "high")] == [None, None]

"""An answer as plain data is what its schema says."""

import importlib.util
import json
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from discreet.algorithms.common.answer import SCHEMA, Answer
from discreet.generation.toy import ToyModel
from discreet.registry import RAG, Consensus, DPSparseVoteRAG, MuRAG, MuRAGAda, NonRAG
from discreet.retrieval.documents import Document
from discreet.vault import Vault

MADE: dict[str, Any] = json.loads((files("discreet") / "schemas" / "answer.json").read_text())
KINDS: dict[str, type | tuple[type, ...]] = {
    "string": str,
    "boolean": bool,
    "object": dict,
    "array": list,
    "integer": int,
    "number": (int, float),
}


def check(value: Any, schema: dict[str, Any]) -> None:
    """Check the part of JSON Schema that ours is written in."""
    if "const" in schema:
        assert value == schema["const"]
    if "enum" in schema:
        assert value in schema["enum"]
    kinds = schema.get("type", [])
    for kind in [kinds] if isinstance(kinds, str) else kinds:
        if (kind == "null" and value is None) or (kind != "null" and isinstance(value, KINDS[kind])):
            break
    else:
        assert not kinds, (value, kinds)
    if isinstance(value, dict) and "properties" in schema:
        assert set(schema.get("required", ())) <= set(value)
        assert schema.get("additionalProperties", True) or set(value) <= set(schema["properties"])
        for name in set(value) & set(schema["properties"]):
            check(value[name], schema["properties"][name])
    if isinstance(value, list) and "items" in schema:
        for one in value:
            check(one, schema["items"])


def valid(answer: Answer) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(json.dumps(answer.describe(show_public=True)))
    check(found, MADE)
    if importlib.util.find_spec("jsonschema"):
        importlib.import_module("jsonschema").validate(found, MADE)
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
    broken = described[0] | {"answer": 7}
    with pytest.raises(AssertionError):
        check(broken, MADE)

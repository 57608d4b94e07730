"""Adding: nothing is lost, nothing comes twice, and a refusal comes before anything is written."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from discreet.errors import BadData, DiscreetError, NoSuchVault, StoreError
from discreet.vault import Vault

Write = Callable[[Sequence[dict[str, object]], str], Path]
SAME: list[dict[str, object]] = [{"patient": who, "text": "Stable."} for who in ("Ada", "Ben", "Ada")]


def test_same_text_of_two_patients_is_two_documents(vault: Vault, write_jsonl: Write) -> None:
    path = write_jsonl(SAME, "n.jsonl")
    first = vault.add(path)
    assert (first.added, first.repeated, first.batch, first.bad) == (3, 1, 1, ())
    again = vault.add(path)
    assert (again.added, again.unchanged, again.batch) == (0, 3, 0)
    assert vault.store.count_units() == 2
    elsewhere = vault.add(write_jsonl(SAME[:2], "copy.jsonl"))
    assert (elsewhere.added, elsewhere.unchanged) == (0, 2)


def test_a_refusal_comes_before_anything_is_written(vault: Vault, write_jsonl: Write) -> None:
    sound, wrong = write_jsonl(SAME, "a.jsonl"), write_jsonl([{"person": "Ada", "text": "x"}], "b.jsonl")
    with pytest.raises(BadData, match=r"b\.jsonl"):
        vault.add(sound, wrong)
    assert vault.store.count_documents() == 0
    assert vault.inventory.batches() == []


def test_a_refusal_loads_no_embedder(tmp_path: Path, write_jsonl: Write) -> None:
    vault = Vault.create(tmp_path / "v", epsilon=1, delta=1e-6, embedder="some/embedder")
    with pytest.raises(BadData, match="unit-field"):
        vault.add(write_jsonl(SAME, "a.jsonl"))
    assert not vault.components.built & {"embedder", "store"}
    assert vault.intake(write_jsonl(SAME, "a.jsonl"), unit_field="patient").preview.units == 2
    assert "embedder" not in vault.components.built


def test_open_refuses_missing_and_damaged_fields(vault: Vault) -> None:
    file = vault.path / "vault.json"
    content = json.loads(file.read_text())
    file.write_text(json.dumps({name: value for name, value in content.items() if name != "fields"}))
    with pytest.raises(StoreError, match="missing or unknown settings"):
        Vault.open(vault.path)
    for wrong in (["age"], {"age": "numbr"}, {"age": ["number"]}, "age"):
        file.write_text(json.dumps(content | {"fields": wrong}))
        with pytest.raises(StoreError, match="fields"):
            Vault.open(vault.path)


@pytest.mark.parametrize("fields", [{"age": "numbr"}, {"": "date"}, {"unit": "category"}])
def test_a_field_of_no_known_type_makes_no_vault(fields: dict[str, str], tmp_path: Path) -> None:
    with pytest.raises(DiscreetError):
        Vault.create(tmp_path / "v", epsilon=1, delta=1e-6, fields=fields)
    with pytest.raises(NoSuchVault):
        Vault.open(tmp_path / "v")

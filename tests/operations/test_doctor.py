"""Each damage that a vault may come to is found and named, and looking changes nothing."""

import json
import os
import re
import shutil
import socket
import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from datetime import timedelta
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from discreet.config import read_config, write_config
from discreet.errors import NoSuchVault
from discreet.operations.check_ledger import utc_now
from discreet.operations.checks import Finding, check_disk, check_network, embedder, language_model, problems
from discreet.operations.doctor import examine, examine_model
from discreet.vault import Vault
from tests.guarantee.ledger.conftest import drop_triggers
from tests.later import Later
from tests.operations.conftest import CHEAP, Make

if TYPE_CHECKING:
    import transformers
else:
    transformers = Later("transformers")


@pytest.fixture
def vault(make: Make) -> Vault:
    vault = make("hospital")
    vault.ask("numb thumbs?", CHEAP)
    vault.ledger.place.engine.dispose()
    vault.store.close()
    return vault


def found(vault: Vault, check: str) -> list[Finding]:
    return [one for one in examine(vault.path) if one.check == check and one.level != "ok"]


def contents(folder: Path) -> dict[str, str]:
    return {str(p.relative_to(folder)): sha256(p.read_bytes()).hexdigest() for p in folder.rglob("*") if p.is_file()}


def run_sql(path: Path, statement: str) -> None:
    with closing(sqlite3.connect(path)) as database, database:
        database.execute(statement)


def test_sound_vault_has_no_problem_and_is_not_changed(vault: Vault) -> None:
    before = contents(vault.path)
    findings = examine(vault.path)
    assert [one for one in findings if one.level != "ok"] == []
    assert {"ledger", "counter", "clock", "key", "store", "settled", "vectors", "model", "embedder", "versions"} <= {
        one.check for one in findings
    }
    assert contents(vault.path) == before


def test_vault_that_is_in_use_is_looked_at_all_the_same(make: Make) -> None:
    vault = make("busy")
    vault.ask("numb thumbs?", CHEAP)
    assert not problems(examine(vault.path))


def test_there_is_no_vault(tmp_path: Path) -> None:
    with pytest.raises(NoSuchVault):
        examine(tmp_path)


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def of_ledger(vault: Vault, *statements: str) -> None:
    with closing(sqlite3.connect(vault.path / "ledger.sqlite")) as database, database:
        drop_triggers(database)
        for statement in statements:
            database.execute(statement)


def cheaper(vault: Vault) -> None:
    of_ledger(vault, "update log set failure = failure + 1 where kind = 'reserve'")


def forged_row(vault: Vault) -> None:
    of_ledger(
        vault,
        "insert into log select id + 1, 'q', 'settle', part, time, loss, failure, content, hash from log "
        "order by id desc limit 1",
    )


def granted_more(vault: Vault) -> None:
    write_config(vault.path, replace(read_config(vault.path), epsilon=900.0))


def older_ledger(vault: Vault) -> None:
    of_ledger(vault, "delete from log where id > 1")


def other_key(vault: Vault) -> None:
    (vault.path / "units.key").write_bytes(os.urandom(32))


def old_store(vault: Vault) -> None:
    run_sql(vault.path / "store" / "store.sqlite", "update store set version = 99")


def open_folder(vault: Vault) -> None:
    vault.path.chmod(0o755)


def open_key(vault: Vault) -> None:
    (vault.path / "units.key").chmod(0o644)


def no_model(vault: Vault) -> None:
    write_config(vault.path, replace(read_config(vault.path), model="./nowhere"))


def other_embedder(vault: Vault) -> None:
    write_config(vault.path, replace(read_config(vault.path), embedder="minilm"))


@pytest.mark.parametrize(
    ("damage", "check", "said"),
    [
        (lambda v: cut(v.path / "ledger.sqlite"), "ledger", "corrupt"),
        (lambda v: (v.path / "ledger.sqlite").unlink(), "ledger", "missing"),
        (cheaper, "ledger", "corrupt"),
        (forged_row, "ledger", "corrupt"),
        (granted_more, "ledger", "vault.json states 900"),
        (older_ledger, "counter", "older"),
        (lambda v: (v.path / "units.key").unlink(), "key", "missing or damaged"),
        (other_key, "key", "missing or damaged"),
        (lambda v: cut(v.path / "store" / "store.sqlite"), "store", "damaged"),
        (lambda v: (v.path / "store" / "store.sqlite").unlink(), "store", "vectors but no texts"),
        (lambda v: shutil.rmtree(v.path / "store"), "store", "is missing"),
        (old_store, "store", "format 99"),
        (lambda v: cut(v.path / "store" / "vectors.i16"), "vectors", "bytes"),
        (lambda v: cut(v.path / "vault.json"), "settings", "damaged"),
        (open_folder, "permissions", "Every user"),
        (open_key, "permissions", "units.key"),
        (no_model, "model", "no such folder"),
        (other_embedder, "vectors", "dimension 384"),
    ],
)
def test_each_damage_is_a_problem(vault: Vault, damage: Callable[[Vault], object], check: str, said: str) -> None:
    damage(vault)
    wrong = [one for one in found(vault, check) if one.level == "problem"]
    assert len(wrong) == 1, examine(vault.path)
    assert said in wrong[0].what
    assert wrong[0].remedy


def future(vault: Vault) -> None:
    late = int((utc_now() + timedelta(days=2)).timestamp())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("discreet.log.chain.now", lambda: late)
        Vault.open(vault.path).ledger.begin("late", "murag", None)


def unsettled(vault: Vault) -> None:
    run_sql(vault.path / "store" / "store.sqlite", "update store set due = 1")


def more_answers(vault: Vault) -> None:
    with (vault.path / "history.jsonl").open("a") as file:
        file.write('{"question": "a"}\n' * 9)


def restored(vault: Vault) -> None:
    note = {"restored": "2026-01-02", "backup_made": "2026-01-01", "forced": True}
    (vault.path / "restored.json").write_text(json.dumps(note))


@pytest.mark.parametrize(
    ("damage", "check", "said"),
    [
        (future, "clock", "in the future"),
        (unsettled, "settled", "erased"),
        (more_answers, "counter", "answers"),
        (lambda v: (v.path / "counter.json").write_text("{"), "counter", "damaged"),
        (lambda v: (v.path / "vault.json.part").touch(), "left over", "vault.json.part"),
        (lambda v: (v.path / "adding.1234").touch(), "left over", "being added"),
        (lambda v: (v.path.parent / ".restore-x").mkdir(), "left over", ".restore-x"),
        (lambda v: v.path.chmod(0o750), "permissions", "group"),
        (restored, "origin", "older ledger was accepted"),
        (lambda v: (v.path / "restored.json").write_text("["), "origin", "damaged"),
    ],
)
def test_what_should_be_mended_is_a_warning(
    vault: Vault, damage: Callable[[Vault], object], check: str, said: str
) -> None:
    damage(vault)
    assert [one.level for one in found(vault, check)] == ["warning"]
    assert said in found(vault, check)[0].what


def test_expected_number_of_questions_detects_an_old_folder(vault: Vault) -> None:
    assert not problems(examine(vault.path, expect=1))
    assert [one.check for one in problems(examine(vault.path, expect=2))] == ["counter"]


@pytest.mark.parametrize(
    ("file", "statement", "check"),
    [
        ("store/store.sqlite", "update store set version = 4", "store"),
        ("ledger.sqlite", "pragma user_version = 4", "ledger"),
    ],
)
def test_part_of_another_format_is_named(vault: Vault, file: str, statement: str, check: str) -> None:
    vault.store.close()
    with closing(sqlite3.connect(vault.path / file)) as database, database:
        database.execute(statement)
    before = contents(vault.path)
    assert [(one.level, "format 4" in one.what) for one in found(vault, check)] == [("problem", True)]
    assert contents(vault.path) == before


def test_vault_of_another_format_is_named_with_its_remedy(vault: Vault) -> None:
    settings = vault.path / "vault.json"
    settings.write_text(json.dumps(json.loads(settings.read_text()) | {"version": 2}))
    (one,) = found(vault, "settings")
    assert (one.level, "format 2" in one.what, "the version of discreet that made it" in one.remedy) == (
        "problem",
        True,
        True,
    )


def test_full_disk_and_a_network_file_system(vault: Vault) -> None:
    assert next(check_disk(vault.path, least=2**60)).level == "warning"
    mounts = f"/dev/a / ext4 rw 0 0\nserver:/x {vault.path.parent} nfs4 rw 0 0\n"
    found = next(check_network(vault.path, mounts))
    assert (found.level, "nfs4" in found.what) == ("warning", True)
    assert next(check_network(vault.path, "/dev/a / ext4 rw 0 0\n")).level == "ok"


def test_processor_is_named_with_what_it_computes(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    path, settings = (vault := make("rows")).path, vault.settings
    said = [next(one for one in examine(path) if one.check == "processor").what for _ in range(2)]
    assert said[0] == said[1]
    assert re.search(r"\(.+\), (float32|bfloat16): public rows keep .*; their digest is [0-9a-f]{32}\.$", said[0])
    import torch

    real = torch.nn.functional.linear
    monkeypatch.setattr(torch.nn.functional, "linear", lambda rows, weight, bias=None: real(rows, weight) + rows[0, 0])
    assert "depends on its place" in next(one for one in problems(examine(path)) if one.check == "processor").what
    write_config(path, replace(settings, model="openai:http://localhost:1#m"))
    assert "processor" not in {one.check for one in examine(path)}  # another machine computes


def test_models_are_found_without_loading(tmp_path: Path) -> None:
    assert not language_model("smollm2-135m").missing
    assert len(embedder("minilm").digest()) == 64
    (tmp_path / "config.json").touch()
    assert "safetensors" in language_model(str(tmp_path)).missing
    assert "not on this machine" in language_model("no/such-model").missing


def test_models_that_are_not_installed_are_problems(vault: Vault, monkeypatch: pytest.MonkeyPatch) -> None:
    write_config(vault.path, replace(read_config(vault.path), embedder="minilm+words"))
    monkeypatch.setattr("discreet.operations.checks._without", lambda *modules: list(modules))
    assert [one.level for check in ("model", "embedder") for one in found(vault, check)] == ["problem"] * 2


def test_model_of_a_server_is_not_said_to_be_on_this_machine(vault: Vault) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        name = f"openai:http://127.0.0.1:{server.getsockname()[1]}/v1#llama"
        write_config(vault.path, replace(read_config(vault.path), model=name))
        assert not found(vault, "model")
        (one,) = [one for one in examine(vault.path) if one.check == "model"]
        assert "A server listens" in one.what
    (one,) = found(vault, "model")
    assert (one.level, "No server listens" in one.what) == ("problem", True)


def test_model_is_told_what_runs_fast_and_what_does_not(small_model: Path, tmp_path: Path) -> None:
    found = {one.check: one for one in examine_model(str(small_model))}
    levels = dict.fromkeys(("weights", "type", "context", "cpu", "cuda"), "ok")
    levels |= {} if find_spec("triton") else {"cuda": "warning"}
    assert {name: one.level for name, one in found.items()} == levels
    small: dict[str, Any] = dict.fromkeys(("hidden_size", "intermediate_size"), 16)
    small |= {"num_hidden_layers": 1, "num_attention_heads": 2, "vocab_size": 50}
    for kind, level, said in (
        ("OPT", "warning", "its type, opt, is none of llama, mistral, qwen2"),
        ("Mistral", "warning", "a window of 8 tokens"),
        ("Gemma2", "warning", "its attention is its own"),
    ):
        given = {name: value for name, value in small.items() if kind != "OPT" or name != "intermediate_size"}
        model_of(kind, tmp_path / kind, **given | ({"sliding_window": 8} if kind == "Mistral" else {}))
        told = {one.check: one for one in examine_model(str(tmp_path / kind))}
        assert (told["cuda"].level, told["weights"].level) == (level, "ok")
        assert said in told["cuda"].what
    assert "bounds its scores" in {one.check: one for one in examine_model(str(tmp_path / "Gemma2"))}["type"].what
    model_of("Mixtral", tmp_path / "experts", **small, num_local_experts=2)
    assert [one.level for one in examine_model(str(tmp_path / "experts"))] == ["ok", "problem"]
    assert [one.level for one in examine_model(str(tmp_path / "nothing"))] == ["problem"]


def model_of(kind: str, folder: Path, **given: Any) -> None:
    """Save a tiny model of a type, with random weights."""
    config = getattr(transformers, f"{kind}Config")(**given)
    getattr(transformers, f"{kind}ForCausalLM")(config).save_pretrained(folder)

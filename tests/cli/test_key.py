"""`discreet key` and `discreet audit-log`: what a custodian types, sees, and gets wrong."""

import json
import re
import sqlite3
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest

from discreet.config import find_state
from discreet.log.replay import Counter, Reached
from discreet.planning.prices import times
from discreet.registry import Count
from discreet.vault import Vault
from discreet_server.accounts import CAP_IS_POLICY, Accounts
from discreet_server.accounts.keys import parse_expiry
from discreet_server.audit_log import AuditLog
from discreet_server.config import ACCOUNTS, AUDIT_LOG
from tests.cli.running import json_of, run, said

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def accounts_of(vault: Vault) -> Accounts:
    return Accounts(vault.path.with_name("vault.server") / ACCOUNTS)


@pytest.fixture
def secret(vault: Vault) -> str:
    """The secret of a key called ana, with a cap of 10."""
    return str(json_of("key", "issue", vault.path, "ana", "--epsilon", 10)["key"])


def test_issue_says_what_the_cap_buys(vault: Vault) -> None:
    bought = []
    for name, cap in (("ana", 1), ("bob", vault.settings.epsilon)):
        found = re.search(
            r"It buys .*\b(\d+) counts?, or", said(run("key", "issue", vault.path, name, "--epsilon", cap))
        )
        assert found is not None
        bought.append(int(found[1]))
    assert 0 < bought[0] < bought[1] == times(vault.ledger.budget, Count().plan(vault.ledger.budget, 0).max_cost)


def test_key_is_bound_to_a_population_of_declared_fields(tmp_path: Path) -> None:
    path = tmp_path / "vault"
    Vault.create(path, epsilon=10, delta=1e-6, embedder="hashing", fields={"ward": "category(3, 4)"})
    issue = ("key", "issue", path, "ana", "--epsilon", 3)
    for wrong in ("floor=3", "ward=5", "fever"):
        assert run(*issue, "--where", wrong).exit_code == 2
    bound = json_of(*issue, "--where", "ward=3", "--task", "Name this talk", "--follow-ups")
    assert (bound["where"], bound["tasks"], bound["follow_ups"]) == (["ward=3"], ["Name this talk"], True)
    shown = said(run("key", "show", path, "ana"))
    assert "ward=3: each question is asked among these alone" in shown
    changed = json_of("key", "extend", path, "ana", "--no-follow-ups", "--task", "Write a title")
    assert (changed["where"], changed["tasks"], changed["follow_ups"]) == (["ward=3"], ["Write a title"], False)
    assert run("key", "extend", path, "ana", "--task", "Hi").exit_code == 2


def test_cap_above_the_grant_is_pointed_out(vault: Vault) -> None:
    grant = vault.settings.epsilon
    assert f"above the grant {grant:g}" in said(run("key", "issue", vault.path, "ana", "--epsilon", grant + 10))
    assert "above the grant" not in said(run("key", "issue", vault.path, "bob", "--epsilon", grant))


def test_pattern_that_matches_no_model_is_pointed_out(vault: Vault) -> None:
    strange = said(run("key", "issue", vault.path, "bob", "--epsilon", 3, "--models", "klinic*,vault:triage"))
    assert "no model of the key's vaults matches 'klinic*'. Their models are called vault, vault:NAME." in strange
    assert f"discreet key extend {vault.path}" in strange
    assert "--models 'vault,vault:*'" in strange
    usual = run("key", "issue", vault.path, "eve", "--epsilon", 3, "--models", "vault,vault:*")
    assert "no model" not in said(usual)
    extended = run("key", "extend", vault.path, "eve", "--models", "vualt:triage", "--json")
    assert "no model" in said(extended)
    assert json.loads(extended.stdout)["models"] == ["vualt:triage"]
    assert "no model" not in said(run("key", "extend", vault.path, "eve", "--epsilon", 4))


def test_key_is_shown_once(vault: Vault) -> None:
    issued = run("key", "issue", vault.path, "ana", "--epsilon", 10, "--per-question", 2.5, "--rate", "6/min")
    assert issued.exit_code == 0, issued.output
    secret = next(word for word in issued.stdout.split() if word.startswith("dsc_"))
    found = accounts_of(vault).find(secret)
    assert found is not None
    assert (found.epsilon, found.per_question, found.rate) == (10.0, 2.5, (6, 60.0))
    for command in (("show", vault.path, "ana"), ("list", vault.path)):
        shown = run("key", *command)
        assert secret not in said(shown)
        assert found.id in said(shown)


def test_policy_is_named_beside_each_cap(vault: Vault, secret: str) -> None:
    for words in (("list", vault.path), ("show", vault.path, "ana"), ("extend", vault.path, "ana", "--epsilon", 12)):
        assert CAP_IS_POLICY in said(run("key", *words))
    assert json_of("key", "show", vault.path, "ana")["note"] == CAP_IS_POLICY


def test_key_is_found_by_id_name_and_secret(vault: Vault, secret: str) -> None:
    shown = [json_of("key", "show", vault.path, name)["id"] for name in ("ana", secret[4:12], secret)]
    assert len(set(shown)) == 1


def test_mistyped_key_is_told_from_an_unknown_one(vault: Vault, secret: str) -> None:
    typed = secret[:20] + ("a" if secret[20] != "a" else "b") + secret[21:]
    mistyped = run("key", "show", vault.path, typed)
    assert mistyped.exit_code == 2
    assert "checksum" in said(mistyped)
    run("key", "rotate", vault.path, "ana")
    unknown = run("key", "show", vault.path, secret)
    assert unknown.exit_code == 2
    assert "unknown" in said(unknown)
    assert secret not in said(mistyped) + said(unknown)


def test_rotated_and_revoked_keys_end(vault: Vault, secret: str) -> None:
    new = json_of("key", "rotate", vault.path, "ana")["key"]
    assert accounts_of(vault).find(secret) is None
    assert accounts_of(vault).find(new) is not None
    assert json_of("key", "revoke", vault.path, "ana")["revoked"]
    assert accounts_of(vault).find(new) is None
    assert run("key", "rotate", vault.path, "ana").exit_code == 2


def test_share_beyond_the_grant_has_exit_code_3(vault: Vault) -> None:
    run("key", "issue", vault.path, "ana", "--epsilon", 15, "--reserved", "--keep", 2)
    refused = run("key", "issue", vault.path, "bob", "--epsilon", 4, "--reserved", "--json")
    assert refused.exit_code == 3
    assert json.loads(refused.stdout)["would_fit"] == pytest.approx(3, abs=0.01)
    assert run("key", "issue", vault.path, "bob", "--epsilon", 3, "--reserved").exit_code == 0
    assert run("key", "issue", vault.path, "cy", "--epsilon", 30).exit_code == 0


def test_requests_are_decided(vault: Vault, secret: str) -> None:
    assert "No request" in said(run("key", "requests", vault.path))
    accounts = accounts_of(vault)
    first = accounts.request(accounts.get("ana").id, 2.5, "[red]more[/] please")
    second = accounts.request(accounts.get("ana").id, 100, "all of it")
    pending = json_of("key", "requests", vault.path)["requests"]
    assert [(one["state"], one["decided"]) for one in pending] == [("pending", None)] * 2
    shown = said(run("key", "requests", vault.path))
    assert "[red]more[/]" in shown
    assert json_of("key", "approve", vault.path, first.id)["key"]["epsilon"] == 12.5
    assert "denied" in said(run("key", "deny", vault.path, second.id))
    assert run("key", "approve", vault.path, second.id).exit_code == 2
    assert run("key", "deny", vault.path, 99).exit_code == 2
    assert json_of("key", "requests", vault.path) == {"requests": []}
    assert len(json_of("key", "requests", vault.path, "--all")["requests"]) == 2


def test_every_act_is_in_the_audit_log(vault: Vault, secret: str) -> None:
    accounts = accounts_of(vault)
    request = accounts.request(accounts.get("ana").id, 2.5, "please")
    for words in (("approve", vault.path, request.id), ("extend", vault.path, "ana", "--expires", "90d")):
        assert run("key", *words).exit_code == 0
    assert run("key", "rotate", vault.path, "ana").exit_code == 0
    assert run("key", "revoke", vault.path, "ana").exit_code == 0
    lines = said(run("audit-log", "print", vault.path))
    acts = [line["act"] for line in AuditLog(vault.path.with_name("vault.server") / AUDIT_LOG).lines()]
    assert acts == ["key-issue", "request-approve", "key-extend", "key-rotate", "key-revoke"]
    assert secret not in lines
    assert "please" not in lines


def test_audit_log_is_verified_by_vault_folder_and_file(vault: Vault, secret: str) -> None:
    state = vault.path.with_name("vault.server")
    found = json_of("audit-log", "verify", vault.path)
    assert found["lines"] == 1
    assert json_of("audit-log", "verify", state) == json_of("audit-log", "verify", state / AUDIT_LOG) == found
    assert json_of("audit-log", "verify", vault.path, "--head", str(found["head"]).upper()) == found
    cut = run("audit-log", "verify", vault.path, "--head", "0" * 63 + "1")
    assert cut.exit_code == 1
    assert "cut off" in said(cut)
    AuditLog(state / AUDIT_LOG).append("front", "start", "server")
    with closing(sqlite3.connect(state / AUDIT_LOG)) as database, database:
        database.execute("drop trigger log_no_update")
        database.execute("update log set content = cast(replace(content, '\"ana\"', '\"eve\"') as blob)")
    spoiled = run("audit-log", "verify", vault.path)
    assert spoiled.exit_code == 1
    assert "Line 1" in said(spoiled)
    missing = run("audit-log", "verify", vault.path.with_name("none"))
    assert missing.exit_code == 2
    assert "There is no vault, state folder or audit log at" in said(missing)
    misspelt = run("audit-log", "verify", vault.path.with_name("vualt"))
    assert misspelt.exit_code == 2
    assert f"Did you mean {vault.path}?" in said(misspelt)
    short = run("audit-log", "verify", vault.path, "--head", "1234")
    assert short.exit_code == 2
    assert "--head 1234 is no head of an audit log. A head has 64 hexadecimal digits" in said(short)
    (state / AUDIT_LOG).unlink()
    assert run("audit-log", "verify", vault.path).exit_code == 1


def test_older_copy_is_accepted_by_a_command(vault: Vault, secret: str) -> None:
    accounts = vault.path.with_name("vault.server") / ACCOUNTS
    Counter(accounts.with_suffix(".counter")).note(Reached(0, 0, 1000, "00" * 32))
    refused = run("key", "list", vault.path)
    assert refused.exit_code == 1
    assert "discreet key accept-copy" in said(refused)
    assert run("key", "accept-copy", vault.path).exit_code == 0
    assert run("key", "list", vault.path).exit_code == 0


def test_state_folder_is_named(vault: Vault, tmp_path: Path) -> None:
    state = tmp_path / "elsewhere"
    json_of("key", "issue", vault.path, "ana", "--epsilon", 10, "--state", state)
    assert (state / ACCOUNTS).exists()
    missing = run("key", "list", vault.path)
    assert missing.exit_code == 2
    assert "--state" in said(missing)
    assert len(json_of("key", "list", vault.path, "--state", state)["keys"]) == 1
    assert find_state(Path("a/hospital")) == Path("a/hospital.server").resolve()


def test_vault_has_one_state_folder_by_all_of_its_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "real" / "hospital").mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "real" / "hospital")
    monkeypatch.chdir(tmp_path / "real" / "hospital")
    names = {find_state(Path(name)) for name in (".", "../hospital", f"{tmp_path}/link")}
    assert names == {(tmp_path / "real" / "hospital.server").resolve()}


@pytest.mark.parametrize(
    "options",
    [
        ("--epsilon", 0),
        ("--epsilon", "nan"),
        ("--epsilon", 1, "--rate", "often"),
        ("--epsilon", 1, "--expires", "soon"),
        ("--epsilon", 1, "--expires", "2020-01-01"),
        ("--epsilon", 1, "--models", " , "),
        ("--epsilon", 1, "--questions", 0),
        ("--epsilon", 1, "--keep", 21),
        (),
    ],
)
def test_wrong_caps_have_exit_code_2(vault: Vault, options: tuple[object, ...]) -> None:
    assert run("key", "issue", vault.path, "ana", *options).exit_code == 2


def test_nothing_to_change_is_refused(vault: Vault, secret: str) -> None:
    refused = run("key", "extend", vault.path, "ana")
    assert refused.exit_code == 2
    assert "Name a cap" in said(refused)


def test_missing_vault_and_key_are_named(vault: Vault, secret: str, tmp_path: Path) -> None:
    assert run("key", "issue", tmp_path / "none", "ana", "--epsilon", 1).exit_code == 2
    unknown = run("key", "show", vault.path, "anna")
    assert unknown.exit_code == 2
    assert "Did you mean ana?" in said(unknown)


@pytest.mark.parametrize(
    ("text", "date"),
    [
        ("90d", datetime(2026, 4, 1, tzinfo=UTC)),
        ("12h", datetime(2026, 1, 1, 12, tzinfo=UTC)),
        ("2027-01-31", datetime(2027, 1, 31, tzinfo=UTC)),
        ("2027-01-31T12:00+02:00", datetime(2027, 1, 31, 10, tzinfo=UTC)),
    ],
)
def test_dates_of_expiry_are_read(text: str, date: datetime) -> None:
    assert parse_expiry(text, NOW) == date

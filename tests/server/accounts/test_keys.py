"""Keys: their secrets, their caps, and who finds them."""

import sqlite3
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import UnknownName, UsageError
from discreet_server.accounts import Accounts, Limits, NotValid
from discreet_server.accounts.keys import ALPHABET, LENGTH, digest_of, is_mistyped, make_public, make_secret
from tests.server.accounts.helpers import DAY, GRANT, VAULT, Bank, pure


def test_secret_has_its_parts() -> None:
    public = make_public()
    secret = make_secret(public)
    assert secret.startswith("dsc_" + public)
    assert len(secret) == LENGTH == 61
    assert not is_mistyped(secret)
    assert make_secret(public) != secret


@given(st.integers(4, LENGTH - 1), st.sampled_from(ALPHABET))
def test_checksum_notices_one_wrong_character(position: int, other: str) -> None:
    secret = make_secret("Ab3xYz09")
    typed = secret[:position] + other + secret[position + 1 :]
    assert is_mistyped(typed) == (typed != secret)


@given(st.text(max_size=80))
def test_texts_are_no_keys(text: str) -> None:
    assert is_mistyped(text)


def test_secret_finds_its_key_and_is_not_stored(bank: Bank) -> None:
    key, secret = bank.accounts.issue("ana", [VAULT], Limits(10.0))
    assert bank.accounts.find(secret) == key
    assert bank.accounts.find(secret[:-1] + ("x" if secret[-1] != "x" else "y")) is None
    bank.accounts.close()
    content = b"".join(path.read_bytes() for path in bank.path.parent.iterdir())
    assert secret.encode() not in content
    assert secret[12:].encode() not in content
    assert digest_of(secret).encode() in content


@pytest.mark.parametrize("text", ["", "dsc_", "x", "dsc_00000000", "\ud800", "dsc_" + "é" * 57, "k" * 10_000])
def test_other_texts_find_no_key(bank: Bank, text: str) -> None:
    bank.key()
    assert bank.accounts.find(text) is None


def test_expired_key_is_not_found(bank: Bank) -> None:
    expires = datetime.fromtimestamp(bank.clock.now + DAY, UTC)
    key, secret = bank.accounts.issue("ana", [VAULT], Limits(10.0, expires=expires))
    bank.clock.now += DAY - 1
    assert bank.accounts.find(secret) == key
    bank.clock.now += 1
    assert bank.accounts.find(secret) is None
    assert bank.ask(key, pure(1)) == NotValid()


def test_expired_key_stays_expired_if_the_clock_goes_back(bank: Bank) -> None:
    expires = datetime.fromtimestamp(bank.clock.now + DAY, UTC)
    key, secret = bank.accounts.issue("ana", [VAULT], Limits(10.0, expires=expires))
    bank.clock.now += DAY + 1
    bank.ask(bank.key(), pure(1))
    bank.clock.now -= DAY
    assert bank.accounts.find(secret) is None
    assert bank.ask(key, pure(1)) == NotValid()


def test_revoked_key_is_not_found(bank: Bank) -> None:
    key, secret = bank.accounts.issue("ana", [VAULT], Limits(10.0))
    assert bank.accounts.revoke("ana").revoked
    assert bank.accounts.find(secret) is None
    assert bank.ask(key, pure(1)) == NotValid()
    with pytest.raises(UsageError, match="revoked"):
        bank.accounts.extend(key.id, Limits(20.0))
    with pytest.raises(UsageError, match="revoked"):
        bank.accounts.rotate(key.id)


def test_rotated_key_keeps_its_meter(bank: Bank) -> None:
    key, old = bank.accounts.issue("ana", [VAULT], Limits(10.0))
    bank.ask(key, pure(4))
    same, new = bank.accounts.rotate("ana")
    assert same.id == key.id
    assert bank.accounts.find(old) is None
    found = bank.accounts.find(new)
    assert found is not None
    assert bank.accounts.odometer(found.id).spent == pytest.approx(4)


def test_name_is_used_once_until_it_is_revoked(bank: Bank) -> None:
    first, _ = bank.accounts.issue("ana", [VAULT], Limits(10.0))
    with pytest.raises(UsageError, match="already"):
        bank.accounts.issue("ana", [VAULT], Limits(10.0))
    bank.accounts.revoke("ana")
    second, _ = bank.accounts.issue("ana", [VAULT], Limits(5.0))
    assert bank.accounts.get("ana") == second
    assert bank.accounts.get(first.id).revoked


@pytest.mark.parametrize("name", ["", " ana", "a\nb", "x" * 65, "\x1b[2J"])
def test_unprintable_names_are_refused(bank: Bank, name: str) -> None:
    with pytest.raises(UsageError, match="printable"):
        bank.accounts.issue(name, [VAULT], Limits(10.0))


@pytest.mark.parametrize(
    "limits",
    [
        Limits(),
        Limits(0.0),
        Limits(-1.0),
        Limits(float("inf")),
        Limits(float("nan")),
        Limits(1.0, questions=0),
        Limits(1.0, per_question=0.0),
        Limits(1.0, rate=(0, 60.0)),
        Limits(1.0, expires=datetime(2030, 1, 1)),  # without a time zone
    ],
)
def test_caps_out_of_range_are_refused(bank: Bank, limits: Limits) -> None:
    with pytest.raises(UsageError):
        bank.accounts.issue("ana", [VAULT], limits)
    assert bank.accounts.list_keys() == []


def test_unknown_vault_and_unknown_key_are_named(bank: Bank) -> None:
    with pytest.raises(UnknownName, match="hospital"):
        bank.accounts.issue("ana", ["hospitel"], Limits(10.0))
    bank.accounts.issue("ana", [VAULT], Limits(10.0))
    with pytest.raises(UnknownName, match="ana"):
        bank.accounts.get("anna")


def test_models_are_matched_by_patterns(bank: Bank) -> None:
    usual = bank.key()
    assert usual.allows("hospital")
    assert usual.allows("hospital:triage")
    assert not usual.allows("hospital2")
    assert not usual.allows("clinic:triage")
    narrow = bank.key(models=["hospital:tri*"])
    assert narrow.allows("hospital:triage")
    assert not narrow.allows("hospital")
    wide = bank.key(models=["*"])
    assert not wide.allows("clinic")


def test_question_of_another_vault_is_refused(bank: Bank) -> None:
    bank.accounts.grant("clinic", GRANT)
    outcome = bank.accounts.reserve(bank.key().id, "0", pure(1), vault="clinic", model="clinic", fingerprint="f")
    assert outcome == NotValid()


def test_vault_keeps_its_grant(bank: Bank) -> None:
    bank.accounts.grant(VAULT, GRANT)
    with pytest.raises(UsageError, match="another grant"):
        bank.accounts.grant(VAULT, type(GRANT)(30.0, 1e-5, 5e-6))


def test_errors_show_no_values(bank: Bank) -> None:
    bank.accounts.close()
    with sqlite3.connect(bank.path) as database:
        database.execute("drop table log")
    with pytest.raises(Exception, match="damaged") as caught:
        Accounts(bank.path).find("dsc_secretsecret")
    assert "secret" not in str(caught.value)
    assert caught.value.__cause__ is None

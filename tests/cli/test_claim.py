"""`discreet claim`, and vaults that do or do not accept claims."""

import json
from pathlib import Path

import pytest

from discreet.vault import Vault
from tests.cli.running import run, said


def test_papers_parameters_claim_nothing() -> None:
    result = run("claim", "projection")
    assert result.exit_code == 0
    assert "logarithm of -293" in said(result)
    assert "nothing is claimed" in said(result)
    assert "Not a guarantee" in said(result)
    told = json.loads(run("claim", "projection", "--json").stdout)
    assert told["epsilon"] is None
    assert told["meaningful"] is False
    assert told["at_lowest_ratio"] == pytest.approx(42.953812, abs=5e-7)


def test_claim_within_the_domain() -> None:
    told = json.loads(run("claim", "projection", "--alpha", 1.2, "--json").stdout)
    assert told["meaningful"] is True
    assert told["epsilon"] > told["renyi_epsilon"] > 0
    assert "Claimed:" in said(run("claim", "projection", "--alpha", 1.2))


@pytest.mark.parametrize(
    "wrong",
    [("--gamma", 0), ("--gamma", 2), ("--norm", 1), ("--k", 0), ("--alpha", 1), ("--alpha", "nan"), ("--delta", 0)],
)
def test_bad_parameters(wrong: tuple[str, object]) -> None:
    result = run("claim", "projection", *wrong)
    assert result.exit_code == 2
    assert "Traceback" not in result.output


def test_collections_are_told_apart() -> None:
    small = ("--rows", 40, "--dimension", 32, "--k", 8)
    told = json.loads(run("claim", "distinguish", *small, "--json").stdout)
    assert (told["true_positives"], told["false_positives"], told["refuted"]) == (1000, 0, True)
    assert "refuted" in said(run("claim", "distinguish", *small))
    assert "do not refute" in said(run("claim", "distinguish", *small, "--trials", 20))
    assert run("claim", "distinguish", *small, "--k", 33).exit_code == 2


def test_vault_accepts_no_claims_unless_it_is_told_to(tmp_path: Path) -> None:
    price = ("--epsilon", 5, "--delta", 1e-6, "--embedder", "hashing", "--json")
    assert json.loads(run("init", tmp_path / "a", *price).stdout)["accept_claims"] is False
    assert json.loads(run("init", tmp_path / "b", *price, "--accept-claims").stdout)["accept_claims"] is True
    assert not Vault.open(tmp_path / "a").settings.accept_claims
    assert Vault.open(tmp_path / "b").settings.accept_claims

"""Command lines of strange words: done, or explained, with an exit code that says which."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.fuzz.commands import COMMANDS, called, toy_at_hand, words
from tests.fuzz.targets import outcome
from tests.fuzz.vaults import vault_in


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with toy_at_hand():
        yield tmp_path_factory.mktemp("commands")


@settings(derandomize=True, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.binary(min_size=160, max_size=240))
def test_any_command_line_is_done_or_explained(data: bytes, folder: Path) -> None:
    outcome(COMMANDS, folder, data)


def test_every_command_is_tried() -> None:
    tried = {tuple(words(bytes([byte, 0]))[:1]) for byte in range(256)}
    assert {("ask",), ("init",), ("claim",), ("export-vectors",)} <= tried


@pytest.mark.parametrize(
    ("said", "code"),
    [
        (["init", "v[/b]", "--epsilon", "5", "--delta", "1e-6"], 0),
        (["init", "[bold]", "--epsilon", "5", "--delta", "1e-6", "--unit-field", "[/x]"], 0),
        (["init", "x" * 300, "--epsilon", "5", "--delta", "1e-6"], 1),
        (["init", "v", "--epsilon", "5", "--delta", "1e-6", "--ledger", "postgresql://["], 2),
        (["init", "v", "--epsilon", "5", "--delta", "1e-6", "--unit-field", "\udcff"], 2),
        (["budget", "x" * 300], 2),
        (["add", "vault", "x" * 300], 2),
        (["tune", "vault", "x" * 300 + ".jsonl"], 2),
        (["ask", "vault", "caf\udce9?"], 2),
        (["ask", "vault", "Why?", "--choice", "a", "--choice", "\udcff", "--inner", "consensus"], 2),
        (["claim", "projection", "--k", "9" * 400], 2),
        (["claim", "distinguish", "--rows", "9" * 400], 2),
        (["claim", "distinguish", "--rows", "1000000000000"], 2),
        (["export-vectors", "vault", "--out", "v.npz", "--epsilon", "1", "--rows", "9" * 400], 2),
        (["export-vectors", "vault", "--out", "v.npz", "--epsilon", "1e308", "--rows", "3"], 2),
        (["ask", "vault", "Why?", "--epsilon", "1e308"], 2),
        (["ask", "vault", "Why?", "--algorithm", "murag", "--epsilon", "1e-320"], 2),
        (["ask", "vault", "Why?", "--delta", "1e-320"], 2),
        (["ask", "vault", "Why?", "--uses", "9" * 400], 2),
        (["synthesize", "vault", "--plan", "--keywords", "9" * 400], 2),
        (["export-vectors", "vault", "--out", "x" * 300, "--epsilon", "1", "--rows", "3"], 1),
        (["public", "vault", "x" * 300], 4),
        (["audit", "noisy-count", "--draws", "100", "--seed", "-1"], 2),
        (["claim", "distinguish", "--seed", "-1"], 2),
        (["attack", "vault", "--seed", "-1"], 2),
        (["attack", "vault", "--out", "x" * 300 + "/a.html"], 1),
    ],
)
def test_what_once_was_unforeseen_is_explained(said: list[str], code: int, tmp_path: Path) -> None:
    vault_in(tmp_path)
    ended, output = called(tmp_path, said)
    assert ended == code, output
    assert "Unexpected error" not in output
    if code == 0:
        assert said[1] in output  # as it was typed, not as a colour


def test_name_that_is_no_utf8_is_told_in_an_escape(tmp_path: Path) -> None:
    vault_in(tmp_path)
    line: list[str | bytes] = [
        sys.executable,
        "-m",
        "discreet",
        "init",
        b"caf\xe9",
        "--epsilon",
        "5",
        "--delta",
        "1e-6",
        "--json",
    ]
    ended = subprocess.run(line, cwd=tmp_path, capture_output=True, check=False)
    assert ended.returncode == 0, ended.stderr
    assert json.loads(ended.stdout)["vault"] == "caf\udce9"

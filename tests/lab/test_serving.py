"""The experiments with a server: a few questions of each, and their statistics."""

from pathlib import Path
from random import Random

import pytest

from discreet.vault import Vault
from discreet_lab.experiments.serving import KeyClient, ask_all, check
from discreet_lab.experiments.serving_processes import Client, question, started
from discreet_lab.experiments.side_channels import LONG, Attacker, judge


def test_judge_finds_a_time_that_differs() -> None:
    noise = Random(1)
    without = [(noise.gauss(50, 5), noise.gauss(50, 5)) for _ in range(200)]
    found = judge(without, [(noise.gauss(50, 5), noise.gauss(90, 5)) for _ in range(200)])
    assert found.looks_at == 1
    assert found.accuracy.value > 0.9
    assert found.area.low > 0.95


def test_charges_are_the_same_everywhere(short_path: Path) -> None:
    with started(short_path, quantum=0.0) as server:
        askers = list[KeyClient]()
        for number in range(3):
            secret = server.key(f"asker-{number}", 1.0)
            key = server.accounts.find(secret)
            assert key is not None
            askers.append(KeyClient(key.id, secret, 1.0))
        assert {name: len(found) for name, found in ask_all(server, askers, 1.0).items()} == {"front": 3, "keeper": 3}
        vault = Vault.open(short_path / "v")
        checked = check(server.accounts, vault, askers)
        assert checked.answers == checked.receipts == checked.begun > 0
        assert checked.holds
        # A broken twin: a client that forgot an answer.
        askers[0].answers.pop()
        assert not check(server.accounts, vault, askers).holds
        vault.store.close()


@pytest.mark.parametrize("marker", [False, True])
def test_marker_lengthens_an_answer(short_path: Path, marker: bool) -> None:
    with started(short_path, slow=(0.0, 0.4), marker=marker, units=10, quantum=0.0) as server:
        Client(server, server.key("ana", 1.0)).ask(question("ana", 0))
        reply, changed = Attacker(server, "alone").time(0, 0.0)
        assert (reply > LONG * 4000) == marker
        assert changed > 0

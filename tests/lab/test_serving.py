"""The experiments with a server: a few questions of each, and their statistics."""

from pathlib import Path

from discreet.vault import Vault
from discreet_lab.experiments.serving import KeyClient, ask_all, check
from discreet_lab.experiments.serving_processes import started


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

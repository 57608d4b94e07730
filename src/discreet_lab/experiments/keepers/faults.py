"""Faults at random moments: processes of hosts are killed, and the database as by a power cut."""

import random
import threading
from collections import Counter
from collections.abc import Sequence

from tests.guarantee.ledger.conftest import Server

from discreet_lab.experiments.keepers.host import Host

KINDS = {"keeper": 8, "front": 3, "host": 2, "database": 4}
"""What is killed, and how often beside the others."""


class Faults:
    """Kills one after the other, until the run is over."""

    def __init__(self, hosts: Sequence[Host], database: Server, seed: int, pause: tuple[float, float]) -> None:
        """For a run.

        Args:
            hosts: the hosts.
            database: the server with vaults and accounts.
            seed: of the choices.
            pause: the least and the most seconds between two faults.
        """
        self._hosts, self._database, self._pause = hosts, database, pause
        self._choose = random.Random(seed)
        self.counts: Counter[str] = Counter()

    def run_until(self, ended: threading.Event) -> None:
        """Kill until the run is over. What a supervisor does not start again is started here."""
        while not ended.wait(self._choose.uniform(*self._pause)):
            (what,) = self._choose.choices(list(KINDS), list(KINDS.values()))
            if what == "database":
                self._cut(ended)
            else:
                self._kill(what, ended)

    def _kill(self, what: str, ended: threading.Event) -> None:
        host = self._choose.choice(self._hosts)
        self.counts[what] += host.kill(what)
        if what == "host":
            ended.wait(self._choose.uniform(0, 4))
            host.start()

    def _cut(self, ended: threading.Event) -> None:
        self._database.cut()
        ended.wait(self._choose.uniform(0, 3))
        self._database.start()
        self.counts["database"] += 1

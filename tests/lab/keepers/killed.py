"""Several keepers on one vault in PostgreSQL, killed at random moments."""

import random
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from discreet_server.accounts import Accounts
from tests.guarantee.ledger.conftest import Server
from tests.lab.keepers.askers import Asked, Asker
from tests.lab.keepers.checks import Checks, Found, check, gather
from tests.lab.keepers.host import Host
from tests.lab.keepers.setting import GRANT_OF_TIGHT, Setting, issue_keys, make_hosts, make_vaults
from tests.server.front.serving import free_port
from tests.vector_server import vector_server

LARGE, SMALL = 5e4, 100.0
"""Epsilon of the caps; each fourth key has the small one, and reaches it."""
KINDS = {"keeper": 8, "front": 3, "host": 2, "database": 4}
"""What is killed, and how often beside the others."""


@dataclass(frozen=True)
class Plan:
    """How large a run is."""

    seconds: float
    keepers: int = 4
    askers: int = 64
    keys: int = 16
    seed: int = 1
    tight: float = GRANT_OF_TIGHT
    pause: tuple[float, float] = (4.0, 14.0)
    late: float = 40.0


class Faults:
    """Kills one after the other, until the run is over."""

    def __init__(self, hosts: Sequence[Host], database: Server, seed: int, pause: tuple[float, float]) -> None:
        """For a run."""
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


@contextmanager
def unsafe_database() -> Iterator[Server]:
    """Run a server that loses in a cut what was not committed durably."""
    with vector_server(max_connections=200, synchronous_commit="off", wal_writer_delay="10s") as database:
        yield database


@contextmanager
def started(folder: Path, plan: Plan, database: Server) -> Iterator[Setting]:
    """Make vaults, keys and hosts, and start the hosts."""
    vaults = make_vaults(folder, database.url, plan.tight)
    hosts = make_hosts(folder, vaults, database.url, [free_port() for _ in range(plan.keepers)])
    accounts = Accounts(database.url)
    issued = issue_keys(accounts, vaults, plan.keys, lambda number: LARGE if number % 4 else SMALL)
    try:
        for host in hosts:
            host.start()
        for host in hosts:
            host.wait_ready()
        yield Setting(database.url, vaults, hosts, accounts, issued)
    finally:
        for host in hosts:
            host.kill("host")
        accounts.close()


def run(folder: Path, plan: Plan) -> tuple[Found, Counter[str], Checks]:
    """Run askers and faults. Return what is known afterwards, what was killed, and what holds."""
    with unsafe_database() as database, started(folder, plan, database) as made:
        faults = Faults(made.hosts, database, plan.seed, plan.pause)
        asked = ask_all(made, faults, plan)
        for host in made.hosts:
            host.wait_ready()
        time.sleep(plan.late)
        for host in made.hosts:
            host.stop()
        database.cut()
        database.start()
        found = gather(made, asked)
        return found, faults.counts, check(found, made.accounts)


def ask_all(made: Setting, faults: Faults, plan: Plan) -> list[Asked]:
    """Have all askers ask while faults happen. Return all requests."""
    addresses = [host.address for host in made.hosts]
    keys = made.keys
    askers = [Asker(keys[n % len(keys)], addresses, 1000 * plan.seed + n) for n in range(plan.askers)]
    ended = threading.Event()
    acts = [faults.run_until, *(one.ask_until for one in askers)]
    threads = [threading.Thread(target=act, args=(ended,)) for act in acts]
    for thread in threads:
        thread.start()
    time.sleep(plan.seconds)
    ended.set()
    for thread in threads:
        thread.join()
    return [asked for one in askers for asked in one.asked]

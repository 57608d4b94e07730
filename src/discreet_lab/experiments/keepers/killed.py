"""Several keepers on one vault in PostgreSQL, killed at random moments."""

import argparse
import random
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.guarantee.ledger.conftest import Server
from tests.server.front.serving import free_port
from tests.vector_server import vector_server

from discreet.server.accounts import Accounts
from discreet_lab.experiments.common import add_csv_option, write_table
from discreet_lab.experiments.keepers.askers import Asked, Asker
from discreet_lab.experiments.keepers.checks import Checks, check, gather, table
from discreet_lab.experiments.keepers.host import Host
from discreet_lab.experiments.keepers.setting import GRANT_OF_TIGHT, Setting, issue_keys, make_hosts, make_vaults

LARGE, SMALL = 5e4, 100.0
"""Epsilon of the caps; each fourth key has the small one, and reaches it."""
KINDS = {"keeper": 8, "front": 3, "host": 2, "database": 4}
"""What is killed, and how often beside the others."""


@dataclass(frozen=True)
class Plan:
    """How large a run is.

    Attributes:
        seconds: for how long.
        keepers, askers, keys: how many.
        seed: of all choices.
        tight: the grant of the vault that may be used up, epsilon.
        pause: the least and the most seconds between two faults.
        late: seconds for settlements that wait for the database, before the hosts are ended.
    """

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


def run(folder: Path, plan: Plan) -> tuple[list[list[str]], Checks]:
    """Run askers and faults. Return the rows of the table, and what holds."""
    with unsafe_database() as database, started(folder, plan, database) as made:
        faults = Faults(made.hosts, database, plan.seed, plan.pause)
        begun = time.monotonic()
        asked = ask_all(made, faults, plan)
        minutes = (time.monotonic() - begun) / 60
        for host in made.hosts:
            host.wait_ready()
        time.sleep(plan.late)
        for host in made.hosts:
            host.stop()
        database.cut()
        database.start()
        found = gather(made, asked)
        checks = check(found, made.accounts)
        rows = [
            ["keepers, each with a front", str(plan.keepers)],
            ["askers", str(plan.askers)],
            ["minutes", f"{minutes:.1f}"],
            *table(found, made.accounts, faults.counts, checks),
        ]
    return rows, checks


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


def kill_keepers(parser: argparse.ArgumentParser, arguments: Sequence[str]) -> int:
    """Several keepers on one vault in PostgreSQL: keepers, fronts, hosts and the database are killed at random moments.

    Documents, ledgers and accounts are in one PostgreSQL server. Each keeper runs with a front of its own, as `discreet
    serve` starts them, with the toy model. Askers send counts, shares, lists and votes to random fronts. What was not
    answered, they send again, under the same Idempotency-Key. At the end, receipts, accounts and ledgers must agree.
    The server loses in a cut what was not committed durably: its default for `synchronous_commit` is off.

    Prints Markdown; ends with 1 if a check fails, and names what breaks it.
    """
    parser.add_argument("--minutes", type=float, default=20.0)
    parser.add_argument("--keepers", type=int, default=4)
    parser.add_argument("--askers", type=int, default=64)
    parser.add_argument("--keys", type=int, default=16)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--tight", type=float, default=GRANT_OF_TIGHT, help="the grant of the second vault")
    add_csv_option(parser)
    given = parser.parse_args(arguments)
    plan = Plan(given.minutes * 60, given.keepers, given.askers, given.keys, given.seed, given.tight)
    with tempfile.TemporaryDirectory(prefix="d-") as folder:
        rows, checks = run(Path(folder), plan)
    write_table(["what", "found"], rows, given.csv)
    for name, broken in checks.broken.items():
        for one in broken[:20]:
            print(f"{name}: {one}", file=sys.stderr)
    return 0 if checks.hold else 1

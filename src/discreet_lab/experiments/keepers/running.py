"""A run: hosts on one database, askers, and faults at random moments."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.guarantee.ledger.conftest import Server
from tests.server.front.serving import free_port
from tests.vector_server import vector_server

from discreet.server.accounts import Accounts
from discreet_lab.experiments.keepers.askers import Asked, Asker
from discreet_lab.experiments.keepers.checks import Checks, check, gather, table
from discreet_lab.experiments.keepers.faults import Faults
from discreet_lab.experiments.keepers.setting import GRANT_OF_TIGHT, Setting, issue_keys, make_hosts, make_vaults

LARGE, SMALL = 5e4, 100.0
"""Epsilon of the caps; each fourth key has the small one, and reaches it."""


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

"""Two keepers on one vault in PostgreSQL; the link of one is cut in the middle of a payment."""

import argparse
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from tests.guarantee.ledger.links import AFTER, BEFORE, LATE, STATEMENTS, Link
from tests.server.front.serving import free_port

from discreet.server.accounts import Accounts
from discreet_lab.experiments.common import TableWriter, add_csv_option
from discreet_lab.experiments.keepers.askers import Asked, Reply, note, send
from discreet_lab.experiments.keepers.checks import Checks, check, gather
from discreet_lab.experiments.keepers.host import Host
from discreet_lab.experiments.keepers.killed import LARGE, unsafe_database
from discreet_lab.experiments.keepers.networks import Network, enter, make_network
from discreet_lab.experiments.keepers.setting import WIDE, Issued, Setting, issue_keys, make_host, make_vaults

COLUMNS = [
    *("network", "what is cut", "commit", "cut, s"),
    *("first reply", "after, s", "the same again", "payments", "other host, s"),
]
SETTLED = 40.0
"""Seconds for settlements that wait for the database."""


@dataclass
class Linked:
    """A host whose link can be cut.

    Attributes:
        host: the host.
        link: its link.
        network: its network; None for a proxy alone.
    """

    host: Host
    link: Link
    network: Network | None

    def mend(self) -> None:
        """Mend the link."""
        if self.network is not None:
            self.network.mend()
        self.link.mend()


@dataclass
class Hosts:
    """Two hosts, each with a link, and what they share."""

    setting: Setting
    linked: list[Linked]
    asked: list[Asked]

    @property
    def kind(self) -> str:
        """How the hosts are apart."""
        return "proxy" if self.linked[0].network is None else "namespaces"


@contextmanager
def two_hosts(folder: Path, namespaces: bool) -> Iterator[Hosts]:
    """Run two hosts on one database, each by a link of its own."""
    with unsafe_database() as database:
        vaults = make_vaults(folder, database.url)
        socket = f"{parse_qs(urlsplit(database.url).query)['host'][0]}/.s.PGSQL.5432"
        linked = [_linked(folder, number, vaults, socket, namespaces) for number in (1, 2)]
        accounts = Accounts(database.url)
        keys = issue_keys(accounts, vaults, 2, lambda _: LARGE)
        try:
            for one in linked:
                one.host.start()
            for one in linked:
                one.host.wait_ready()
            yield Hosts(Setting(database.url, vaults, [one.host for one in linked], accounts, keys), linked, [])
        finally:
            for one in linked:
                one.host.kill("host")
                one.link.close()
                if one.network is not None:
                    one.network.close()
            accounts.close()


def _linked(folder: Path, number: int, vaults: dict[str, Path], socket: str, namespaces: bool) -> Linked:
    network = make_network(number) if namespaces else None
    link = Link(socket, network.gate, network.cut) if network else Link(socket)
    gate = network.gate if network else "127.0.0.1"
    url = f"postgresql://postgres@{gate}:{link.port}/postgres"
    how = {"host": network.address, "insecure": True, "port": 8000} if network else {"port": free_port()}
    host = make_host(folder, f"h{number}", vaults, url, copied=True, **how)
    host.inside = network.inside if network else ()
    return Linked(host, link, network)


def cut(hosts: Hosts, what: str, when: str, seconds: float) -> list[str]:
    """Cut the link of the first host in a payment of a request, and return a row of the table."""
    (first, second), key = hosts.linked, hosts.setting.keys[0]
    name = f"{what} {when} {seconds:g}"
    request = Asked(key.id, name, WIDE)
    hosts.asked.append(request)
    replies: list[Reply] = []
    first.link.arm(what, when)
    asked, came = time.monotonic(), list[float]()

    def ask() -> None:
        replies.append(_send(first.host, key, name, request))
        came.append(time.monotonic() - asked)

    sending = threading.Thread(target=ask)
    sending.start()
    if not first.link.cut.wait(60):
        raise RuntimeError(f"The link was not cut: {name}.")
    begun = time.monotonic()
    others: list[float] = []
    beside = threading.Thread(target=lambda: others.append(_beside(hosts, second.host, f"beside {name}")))
    beside.start()
    time.sleep(max(0.0, begun + seconds - time.monotonic()))
    first.mend()
    sending.join()
    beside.join()
    again = _until_known(hosts, second.host, key, name, request)
    payments = _payments(hosts, key, name)
    told = [_told(replies[0]), f"{came[0]:.1f}", _told(again), str(payments), f"{others[0]:.1f}"]
    return [hosts.kind, what, when, f"{seconds:g}", *told]


def _beside(hosts: Hosts, host: Host, name: str) -> float:
    """Return after how many seconds the other host has answered a question of another key."""
    begun, key = time.monotonic(), hosts.setting.keys[1]
    request = Asked(key.id, name, WIDE)
    hosts.asked.append(request)
    _until_known(hosts, host, key, name, request)
    return time.monotonic() - begun


def _until_known(hosts: Hosts, host: Host, key: Issued, name: str, request: Asked) -> Reply:
    end = time.monotonic() + 200
    while True:
        reply = _send(host, key, name, request)
        if (reply.status and (reply.status == 200 or not reply.retry)) or time.monotonic() > end:
            return reply
        time.sleep(0.5)


def _send(host: Host, key: Issued, name: str, request: Asked) -> Reply:
    question = f"How many patients have {name.replace(' ', '')} thumbs?".replace(".", "")
    body = {"model": WIDE, "messages": [{"role": "user", "content": question}], "discreet": {"epsilon": 1.0}}
    reply = send(host.address, key.secret, body, name)
    note(request, reply)
    return reply


def _payments(hosts: Hosts, key: Issued, name: str) -> int:
    found = gather(hosts.setting, [])
    return sum(found.rows[one].name == found.mark(name) and found.rows[one].key == key.id for one in found.paid)


def _told(reply: Reply) -> str:
    if reply.status == 200:
        return "answer"
    return f"{reply.status} {reply.code}" if reply.status else "none"


def finish(hosts: Hosts, late: float = SETTLED) -> Checks:
    """End the hosts, and return what holds."""
    for one in hosts.linked:
        one.host.wait_ready()
    time.sleep(late)
    for one in hosts.linked:
        one.host.stop()
    return check(gather(hosts.setting, hosts.asked), hosts.setting.accounts)


def run(namespaces: bool, seconds: Sequence[float], write: Callable[[Sequence[str]], None]) -> Checks:
    """Cut in each kind of payment, at each moment. Return what holds afterwards."""
    with tempfile.TemporaryDirectory(prefix="d-") as folder, two_hosts(Path(folder), namespaces) as hosts:
        for length in seconds:
            for what in STATEMENTS:
                for when in (BEFORE, AFTER, LATE):
                    write(cut(hosts, what, when, length))
        return finish(hosts)


def cut_links(parser: argparse.ArgumentParser, arguments: Sequence[str]) -> int:
    """Two keepers on one vault in PostgreSQL, as hosts of their own; the link of one is cut in the middle of a payment.

    Each host has a network namespace, copies of the vaults' folders, and a link (veth) to the database. A proxy at the
    database's end of the link reads the host's statements. At the commit of a payment it takes the link down, and the
    database gets the commit never (before), at once (after), or when the host has given up (late). Meanwhile the other
    host is asked. After so many seconds the link is mended, and the same request is sent again, to the other host.

    It needs root, for the namespaces. With --proxy there are none: the proxy alone loses what is sent. Prints Markdown;
    ends with 1 if a check fails.
    """
    parser.add_argument("--seconds", type=float, nargs="+", default=[2.0, 45.0], help="how long each cut lasts")
    parser.add_argument("--proxy", action="store_true", help="lose what is sent in a proxy, without namespaces")
    add_csv_option(parser)
    given = parser.parse_args(arguments)
    if not given.proxy and not enter():
        print("This machine permits no network namespaces. Use the proxy alone: --proxy", file=sys.stderr)
        return 2
    checks = run(not given.proxy, given.seconds, TableWriter(COLUMNS, given.csv).write)
    print()
    for name, broken in checks.broken.items():
        print(f"- {name}: {'yes' if not broken else 'NO'}")
        for one in broken[:20]:
            print(f"{name}: {one}", file=sys.stderr)
    return 0 if checks.hold else 1

"""Two keepers on one vault in PostgreSQL; the link of one is cut in the middle of a payment."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from discreet_server.accounts import Accounts
from tests.guarantee.ledger.links import Link
from tests.lab.keepers.askers import Asked, Reply, note, send
from tests.lab.keepers.checks import Checks, check, gather
from tests.lab.keepers.host import Host
from tests.lab.keepers.killed import LARGE, unsafe_database
from tests.lab.keepers.networks import Network, make_network
from tests.lab.keepers.setting import WIDE, Issued, Setting, issue_keys, make_host, make_vaults
from tests.server.front.serving import free_port


@dataclass
class Linked:
    """A host whose link can be cut."""

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
    """Cut the link of the first host in a payment; return the first reply, the next one, and the payments."""
    (first, second), key = hosts.linked, hosts.setting.keys[0]
    name = f"{what} {when} {seconds:g}"
    request = Asked(key.id, name, WIDE)
    hosts.asked.append(request)
    replies: list[Reply] = []
    first.link.arm(what, when)
    sending = threading.Thread(target=lambda: replies.append(_send(first.host, key, name, request)))
    sending.start()
    if not first.link.cut.wait(60):
        raise RuntimeError(f"The link was not cut: {name}.")
    begun = time.monotonic()
    beside = threading.Thread(target=_ask_beside, args=(hosts, second.host, f"beside {name}"))
    beside.start()
    time.sleep(max(0.0, begun + seconds - time.monotonic()))
    first.mend()
    sending.join()
    beside.join()
    again = _until_known(second.host, key, name, request)
    return [_told(replies[0]), _told(again), str(_payments(hosts, key, name))]


def _ask_beside(hosts: Hosts, host: Host, name: str) -> None:
    """Ask a question of another key at the other host."""
    key = hosts.setting.keys[1]
    request = Asked(key.id, name, WIDE)
    hosts.asked.append(request)
    _until_known(host, key, name, request)


def _until_known(host: Host, key: Issued, name: str, request: Asked) -> Reply:
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


def finish(hosts: Hosts, late: float) -> Checks:
    """End the hosts, and return what holds."""
    for one in hosts.linked:
        one.host.wait_ready()
    time.sleep(late)
    for one in hosts.linked:
        one.host.stop()
    return check(gather(hosts.setting, hosts.asked), hosts.setting.accounts)

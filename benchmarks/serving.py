"""The server beside the library, at rest, under load, and under a flood of connections.

    .venv/bin/python -m benchmarks.serving overhead [--questions 300]
    .venv/bin/python -m benchmarks.serving start [--repeats 5]
    .venv/bin/python -m benchmarks.serving load [--askers 64] [--minutes 10]
    .venv/bin/python -m benchmarks.serving flood [--connections 1000] [--questions 200]

Front and keeper are processes of their own, over a new vault of 60 units and the toy model, with a quantum of 0.
Questions are asked by consensus among two choices. They differ, so that each is charged once.

overhead: each question is asked by `Vault.ask` in this process and by HTTP, in turns, in two vaults with the same
documents. The difference is taken question by question.

start: the seconds from the start of both processes to the first answer, and the front's memory at rest.

load: so many askers with a key each ask without a pause; after 503 they wait a moment. Every fourth key has a cap that
ends early. Afterwards every charge must be there: the answers that clients got, the receipts in the accounts and the
questions in the ledger are the same ones; each meter is the sum of what the ledger says of its questions. The exit
status is 1 if one is missing, or a cap did not hold.

flood: so many connections are open and bring no request; every second of them sends the head of a request, one line
every second. Beside them one client asks, and another looks at /health/live.
"""

import argparse
import resource
import socket
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.serving_load import load
from benchmarks.serving_processes import (
    Client,
    consensus,
    make_vault,
    middle_and_slow,
    question,
    resident_mib,
    started,
    timed,
)
from benchmarks.writing import add_csv_option, write_table
from tests.server.front.serving import Server

from discreet.generation.toy import ToyModel
from discreet.vault import Vault

WARM_UP = 10
"""Questions that are asked before any is measured."""


def overhead(folder: Path, questions: int) -> list[list[str]]:
    """Return rows about the time of `Vault.ask`, of HTTP, and of the difference."""
    make_vault(folder / "alone").store.close()
    vault = Vault.open(folder / "alone", model=ToyModel(default="yes"))
    alone, served = list[float](), list[float]()
    with started(folder / "s", quantum=0.0) as found:
        client = Client(found.server, found.server.key("ana", 1000.0))
        for number in range(questions + WARM_UP):
            text = question("ana", number)
            took, _ = timed(lambda text=text: vault.ask(text, consensus()))  # type: ignore[misc]
            longer, (status, body) = timed(lambda text=text: client.ask(text))  # type: ignore[misc]
            if status != 200 or body["usage"]["discreet"]["replayed"]:
                raise RuntimeError(f"Question {number} got {status}, and is expected to be paid: {body}")
            alone.append(took)
            served.append(longer)
        client.close()
    alone, served = alone[WARM_UP:], served[WARM_UP:]
    more = [one - other for one, other in zip(served, alone, strict=True)]
    return [
        ["Vault.ask", *middle_and_slow(alone)],
        ["HTTP", *middle_and_slow(served)],
        ["difference", *middle_and_slow(more)],
    ]


def start(folder: Path, repeats: int) -> list[list[str]]:
    """Return rows about the time until the first answer, and the front's memory before and after it."""
    rows = []
    for number in range(repeats):
        begun = time.perf_counter()
        with started(folder / str(number), quantum=0.0) as found:
            process, secret = found.server.process.pid, found.server.key("ana", 10.0)
            rest = resident_mib(process)
            client = Client(found.server, secret)
            took, (status, _) = timed(lambda client=client: client.ask(question("ana", 1)))  # type: ignore[misc]
            if status != 200:
                raise RuntimeError(f"The first question got {status}, and 200 is expected.")
            client.close()
            cells = [found.keeper_s, found.front_s, found.front_s + took / 1000]
            memory = [rest, resident_mib(process), resident_mib(found.server.keeper.process.pid)]
            rows.append([str(number + 1), *(f"{one:.2f}" for one in cells), *(f"{one:.0f}" for one in memory)])
        print(f"Start {number + 1} took {time.perf_counter() - begun:.1f} s.", file=sys.stderr)
    return rows


class Flood(threading.Thread):
    """Connections that bring no request. Those that the server closes are opened again."""

    def __init__(self, port: int, connections: int) -> None:
        super().__init__(daemon=True)
        self._port, self._over = port, threading.Event()
        self._open: list[socket.socket | None] = [None] * connections
        self.opened, self.refused, self.ready = 0, 0, threading.Event()

    def run(self) -> None:
        """Open all, and send a line on every second one, again and again."""
        while not self._over.is_set():
            for place, one in enumerate(self._open):
                self._open[place] = self._connect() if one is None else self._send(one, place)
            self.ready.set()
            self._over.wait(1.0)
        for left in self._open:
            if left is not None:
                left.close()

    def stop(self) -> None:
        """Close all connections."""
        self._over.set()
        self.join()

    def _connect(self) -> socket.socket | None:
        try:
            made = socket.create_connection(("127.0.0.1", self._port), timeout=5)
        except OSError:
            self.refused += 1
            return None
        made.setblocking(False)
        self.opened += 1
        return made

    def _send(self, one: socket.socket, place: int) -> socket.socket | None:
        try:
            if place % 2:
                one.send(b"POST /v1/chat/completions HTTP/1.1\r\n" if place % 4 == 1 else b"x")
            elif one.recv(1) == b"":
                raise ConnectionResetError
        except BlockingIOError:
            return one
        except OSError:
            one.close()
            return None
        return one


@contextmanager
def flooded(port: int, connections: int) -> Iterator[Flood]:
    """Hold so many connections open."""
    flood = Flood(port, connections)
    flood.start()
    flood.ready.wait(120)
    try:
        yield flood
    finally:
        flood.stop()


def serve_two(server: Server, name: str, questions: int) -> list[str]:
    """Return median and 99th percentile of a client that asks, and of one that looks at the server's health."""
    secret, over, looks = server.key(name, 1000.0), threading.Event(), list[float]()

    def look() -> None:
        client = Client(server)
        while not over.is_set():
            took, (status, _) = timed(lambda: client.get("/health/live"))
            looks.append(took if status == 200 else float("inf"))
            over.wait(0.02)

    beside = threading.Thread(target=look)
    beside.start()
    client, asked = Client(server, secret), list[float]()
    for number in range(questions):
        took, (status, _) = timed(lambda number=number: client.ask(question(name, number)))  # type: ignore[misc]
        asked.append(took if status == 200 else float("inf"))
    over.set()
    beside.join()
    return [*middle_and_slow(asked), *middle_and_slow(looks)]


def flood(folder: Path, connections: int, questions: int) -> list[list[str]]:
    """Return rows about two clients without a flood and with one."""
    rows = []
    with started(folder, quantum=0.0) as found:
        server = found.server
        process = server.process.pid
        serve_two(server, "warm", WARM_UP)
        rows.append(["0", "0", *serve_two(server, "alone", questions), f"{resident_mib(process):.0f}"])
        with flooded(server.config.port, connections) as many:
            row = serve_two(server, "flooded", questions)
            rows.append([str(connections), str(many.refused), *row, f"{resident_mib(process):.0f}"])
            print(f"{many.opened} connections were opened.", file=sys.stderr)
    return rows


def main() -> int:
    """Measure one thing, and print its table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["overhead", "start", "load", "flood"])
    for name, value in (("questions", 200), ("repeats", 5), ("askers", 64), ("connections", 1000)):
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument("--minutes", type=float, default=10.0)
    add_csv_option(parser)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="d-") as made:
        folder = Path(made)
        if given.what == "overhead":
            write_table(["asked by", "median ms", "p99 ms"], overhead(folder, given.questions), given.csv)
        elif given.what == "start":
            columns = ["start", "keeper ready, s", "front ready, s", "first answer, s"]
            columns += ["front at rest, MiB", "front after it, MiB", "keeper, MiB"]
            write_table(columns, start(folder, given.repeats), given.csv)
        elif given.what == "load":
            found = load(folder, given.askers, given.minutes * 60)
            write_table(["measured", "value"], found.rows(), given.csv)
            return int(not found.holds)
        else:
            _allow_files(given.connections + 200)
            columns = ["connections", "refused", "asking, median ms", "p99 ms", "health, median ms", "health, p99 ms"]
            rows = flood(folder, given.connections, given.questions)
            write_table([*columns, "front, MiB"], rows, given.csv)
    return 0


def _allow_files(count: int) -> None:
    """Allow this process, and those that it starts, so many open files if the system permits it."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < count:
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(count, hard), hard))


if __name__ == "__main__":
    sys.exit(main())

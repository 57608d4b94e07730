"""What the start of the command line costs: one question cold, and by a running server.

    .venv/bin/python -m benchmarks.cold_start DATA/medical_synth_small [--documents 200] [--rounds 3]
        [--kinds "a count" open] [--csv FILE]

"cold" is `discreet ask` as a new process, which loads the embedder, and the language model if the question needs it.
"by a running server" is a request to `discreet serve`, which holds both, without a latency step. An open question is
answered by voters that read, and a count by rules. Each is paid anew each time, and the ways take turns. Seconds are
those of a clock on the wall, medians of the rounds.
"""

import argparse
import http.client
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path

from benchmarks.data_part import lines_of
from benchmarks.writing import TableWriter, add_csv_option
from tests.server.front.serving import free_port

from discreet.retrieval.documents import Document
from discreet.vault import Vault

COLUMNS = ("question", "asked", "seconds", "cold / these")
QUESTIONS = {
    "a count": "How many patients have Schnitzelploxia?",
    "open": "What is the treatment for Schnitzelploxia?",
}
COLD, SERVED = "cold", "by a running server"
PRICE = 8.0
"""The most that a question may cost. A higher price takes fewer voters, so that the start is a larger part."""
WAIT = 900.0
"""Seconds in which the server must be ready."""

Ask = Callable[[str], None]


def make_vault(path: Path, data: Path, count: int) -> None:
    """Make a vault of the first documents of a data set, with a grant for all rounds."""
    vault = Vault.create(path, epsilon=1000, delta=1e-6, people=count)
    vault.add_documents(
        Document(line["id"], line["unit"], line["text"]) for line in islice(lines_of(data, "documents"), count)
    )


def run_command(words: Sequence[str]) -> str:
    """Return what a command of discreet printed."""
    ran = subprocess.run([sys.executable, "-m", "discreet", *words], capture_output=True, text=True, check=False)
    if ran.returncode:
        sys.exit(f"discreet {' '.join(words)} ended with {ran.returncode}: {ran.stderr.strip()}")
    return ran.stdout


def by_command(vault: Path) -> Ask:
    """Return a way to ask by a new process."""
    options = ["--epsilon", str(PRICE), "--anew", "--json"]
    return lambda question: check_answer(run_command(["ask", str(vault), question, *options]))


def by_server(vault: Path, port: int, key: str) -> Ask:
    """Return a way to ask a server that runs."""
    headers = {"content-type": "application/json", "authorization": f"Bearer {key}"}

    def ask(question: str) -> None:
        message, how = {"role": "user", "content": question}, {"epsilon": PRICE, "anew": True}
        body = {"model": vault.name, "messages": [message], "discreet": how}
        status, reply = exchange(port, "POST", "/v1/chat/completions", json.dumps(body), headers)
        if status != 200:
            sys.exit(f"The server replied {status}: {reply}")

    return ask


def check_answer(printed: str) -> None:
    """End the program if the command printed no answer."""
    if "stopped" not in json.loads(printed):
        sys.exit(f"There is no answer in what `discreet ask --json` printed: {printed}")


def exchange(
    port: int, method: str, path: str, body: str = "", headers: dict[str, str] | None = None
) -> tuple[int, str]:
    """Return status and body of a reply of the server."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=WAIT)
    try:
        connection.request(method, path, body or None, headers or {})
        reply = connection.getresponse()
        return reply.status, reply.read().decode()
    finally:
        connection.close()


@contextmanager
def on_server(vault: Path) -> Iterator[int]:
    """Give the port of a server that is ready; it ends with the block."""
    port = free_port()
    command = ["serve", str(vault), "--port", str(port), "--no-desk", "--quantum", "0"]
    process = subprocess.Popen(
        [sys.executable, "-m", "discreet", *command], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        wait_ready(port, process)
        yield port
    finally:
        process.terminate()
        process.wait()


def wait_ready(port: int, process: "subprocess.Popen[bytes]") -> None:
    """Wait until a server answers questions."""
    end = time.monotonic() + WAIT
    while time.monotonic() < end and process.poll() is None:
        try:
            if exchange(port, "GET", "/health/ready")[0] == 200:
                return
        except OSError:
            pass
        time.sleep(0.2)
    sys.exit("The server does not start.")


def seconds(ask: Ask, question: str) -> float:
    """Return the seconds on the wall of one question."""
    begun = time.perf_counter()
    ask(question)
    return time.perf_counter() - begun


def measure(ways: dict[str, Ask], kinds: Sequence[str], rounds: int, table: TableWriter) -> None:
    """Print the medians of each question and each way; the ways take turns."""
    for kind in kinds:
        question = QUESTIONS[kind]
        taken: dict[str, list[float]] = {name: [] for name in ways}
        for _ in range(rounds):
            for name, ask in ways.items():
                taken[name].append(seconds(ask, question))
        middle = {name: statistics.median(values) for name, values in taken.items()}
        for name, value in middle.items():
            table.write([kind, name, f"{value:.2f}", f"{middle[COLD] / value:.1f}"])


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, help="the folder of a data set about Schnitzelploxia")
    parser.add_argument("--documents", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--kinds", nargs="+", choices=list(QUESTIONS), default=list(QUESTIONS))
    add_csv_option(parser)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(dir="/tmp", prefix="dc") as folder:
        vault = Path(folder) / "v"
        make_vault(vault, given.data, given.documents)
        key = json.loads(run_command(["key", "issue", str(vault), "ana", "--epsilon", "500", "--json"]))["key"]
        with on_server(vault) as port:
            ways = {COLD: by_command(vault), SERVED: by_server(vault, port, key)}
            ways[SERVED](QUESTIONS[given.kinds[-1]])  # warm up
            measure(ways, given.kinds, given.rounds, TableWriter(COLUMNS, given.csv))


if __name__ == "__main__":
    main()

"""What an asker needs until its first answer, by the place of its embedder: memory, time, and torch.

    .venv/bin/python -m benchmarks.asker_memory [--documents 200] [--runs 3]

A worker on a socket holds a toy model, which takes no time, so that the asker is what is measured. Each asker is a
process of its own, `discreet ask` with one question to a vault of notes of the demo. First the worker embeds questions:
the first asker waits until the worker has loaded the embedder, and later ones do not. Then the worker serves another
embedder, so that each asker loads its own, as all askers did before workers embedded. Then comes the embedder that
needs no torch. Last, a Ray cluster holds the packaged model and the embedder; there the answer takes the model's time,
too. Prints medians, and the largest memory.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from benchmarks.writing import TableWriter, add_csv_option
from tests.ray_cluster import cluster
from tests.server.model_worker.processes import worker

from discreet.demo.corpus import documents
from discreet.generation.loading import PACKAGED
from discreet.vault import Vault

DEFAULT, SMALL = "minilm+words", "hashing"
COLUMNS = (
    *("the vault's embedder", "embedded by", "largest memory of an asker, MiB"),
    *("seconds of the processor", "seconds until the answer", "torch in an asker"),
)
_ASK = """
import json, sys, time
from pathlib import Path
from discreet.cli.app import app
app(sys.argv[1:], standalone_mode=False)
status = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
peak = max(int(line.split()[1]) for line in status if line.startswith(("VmHWM", "VmRSS")))
print(json.dumps([peak / 1024, time.process_time(), "torch" in sys.modules]))
"""


@dataclass(frozen=True)
class Needed:
    """What one asker needed."""

    mebibytes: float
    processor: float
    seconds: float
    torch: bool


def ask(vault: Vault, number: int, *others: str) -> Needed:
    """Return what a process needed that asks one question."""
    question = f"What helps against numb thumbs in winter {number}?"
    command = [sys.executable, "-c", _ASK, "ask", str(vault.path), question, "--epsilon", "8", "--param", "voters=20"]
    command += others
    begun = time.monotonic()
    done = subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True)
    mebibytes, processor, torch = json.loads(done.stdout.splitlines()[-1])
    return Needed(mebibytes, processor, time.monotonic() - begun, torch)


def write(table: TableWriter, embedder: str, place: str, found: Sequence[Needed]) -> None:
    """Write the row of some askers."""
    peak = max(one.mebibytes for one in found)
    processor, seconds = median(one.processor for one in found), median(one.seconds for one in found)
    torch = "yes" if any(one.torch for one in found) else "no"
    table.write([embedder, place, f"{peak:.0f}", f"{processor:.1f}", f"{seconds:.1f}", torch])


def filled(folder: Path, embedder: str, number: int, model: str) -> Vault:
    """Return a vault with this embedder and this model."""
    path = folder / f"{embedder} {model.partition(':')[0]}"
    vault = Vault.create(path, epsilon=1e6, delta=1e-6, embedder=embedder, model=model, payment="corpus")
    vault.add_documents(documents(number))
    return vault


def measure(folder: Path, given: argparse.Namespace) -> None:
    """Print the table."""
    model = f"worker:{folder / 'model'}"
    vault, small = (filled(folder, name, given.documents, model) for name in (DEFAULT, SMALL))
    table, socket, runs = TableWriter(COLUMNS, given.csv), folder / "model", range(given.runs)
    with worker(socket):
        write(table, DEFAULT, "the worker, which loads it", [ask(vault, 0)])
        write(table, DEFAULT, "the worker", [ask(vault, 1 + number) for number in runs])
    with worker(socket, 0, "nothing known", SMALL):
        write(table, DEFAULT, "the asker", [ask(vault, 101 + number) for number in runs])
        write(table, SMALL, "the asker", [ask(small, 1 + number) for number in runs])
    vault = filled(folder, DEFAULT, given.documents, PACKAGED)
    with cluster() as found:
        others = ("--ray", found.address)
        write(table, DEFAULT, "a Ray cluster, which loads it and the model", [ask(vault, 0, *others)])
        write(table, DEFAULT, "a Ray cluster", [ask(vault, 1 + number, *others) for number in runs])


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--documents", type=int, default=200)
    parser.add_argument("--runs", type=int, default=3)
    add_csv_option(parser)
    with tempfile.TemporaryDirectory(dir="/tmp", prefix="dw") as folder:
        measure(Path(folder), parser.parse_args())


if __name__ == "__main__":
    main()

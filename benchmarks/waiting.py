"""How threads that wait for each other behave beside another process: by spinning, or asleep.

    .venv/bin/python -m benchmarks.waiting [--documents 200] [--voters 20] [--tokens 8] [--rounds 3]

For each way to wait, seconds to embed made-up notes and to answer one question by votes, alone and beside a process
that holds one core: medians of rounds, in which the ways take turns. What is paid is gone with its vault.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from itertools import islice
from pathlib import Path

from benchmarks.models import add_model_option, model_name
from benchmarks.writing import TableWriter, add_csv_option

WAYS = {"spin a while, as torch has it": {}, "sleep at once": {"OMP_WAIT_POLICY": "PASSIVE"}}


def measured(documents: int, voters: int, tokens: int, model: str | None = None) -> dict[str, float]:
    """Seconds to embed and to answer, in this process."""
    from discreet.demo.corpus import QUESTIONS
    from discreet.demo.corpus import documents as notes
    from discreet.registry import DPVoteRAG
    from discreet.vault import Vault

    with tempfile.TemporaryDirectory() as folder:
        vault = Vault.create(Path(folder) / "vault", epsilon=1000, delta=1e-3, model=model_name(model))
        vault.model, vault.embedder.embed(["warm"])  # loaded before the clock starts
        begun = time.perf_counter()
        vault.add_documents(islice(notes(), documents))
        embedded = time.perf_counter()
        vault.ask(QUESTIONS[0].question, DPVoteRAG(epsilon=10, voters=voters, max_tokens=tokens))
        return {"embedding": embedded - begun, "answering": time.perf_counter() - embedded}


def child(way: dict[str, str], arguments: list[str]) -> dict[str, float]:
    """The same in a process of its own, whose threads wait that way."""
    others = {name: value for name, value in os.environ.items() if name != "OMP_WAIT_POLICY"}
    environment = others | way
    ran = subprocess.run(
        [sys.executable, "-m", "benchmarks.waiting", *arguments, "--once"],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    seconds: dict[str, float] = json.loads(ran.stdout)
    return seconds


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--documents", type=int, default=200)
    parser.add_argument("--voters", type=int, default=20)
    parser.add_argument("--tokens", type=int, default=8)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--once", action="store_true", help=argparse.SUPPRESS)
    add_model_option(parser)
    add_csv_option(parser)
    given = parser.parse_args()
    if given.once:
        print(json.dumps(measured(given.documents, given.voters, given.tokens, given.model)))
        return
    arguments = [f"--{name}={getattr(given, name)}" for name in ("documents", "voters", "tokens")]
    arguments += [f"--model={given.model}"] if given.model else []
    table = TableWriter(["beside", "threads", "embedding, s", "answering, s"], given.csv)
    for beside in ("nothing", "another process"):
        other = subprocess.Popen([sys.executable, "-c", "while True: pass"]) if beside != "nothing" else None
        try:
            rounds = [{name: child(way, arguments) for name, way in WAYS.items()} for _ in range(given.rounds)]
        finally:
            if other:
                other.kill()
        for name in WAYS:
            told = [statistics.median(each[name][step] for each in rounds) for step in ("embedding", "answering")]
            table.write([beside, name, *(f"{seconds:.1f}" for seconds in told)])


if __name__ == "__main__":
    main()

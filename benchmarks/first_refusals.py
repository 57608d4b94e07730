"""How soon a command says no, or gives what is free: seconds of each, in a vault with the default embedder and model.

    .venv/bin/python -m benchmarks.first_refusals

The vault is made in a folder that is removed at the end. Each command runs `--times` times as a program of its own,
and the median is shown: CPU seconds (user and system, which other work on the machine changes little) and seconds on
the clock. A vault that holds one answer is written to, so that a repeat is free; nothing is embedded for that.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median

from discreet.query.answer_cache import Released
from discreet.retrieval.documents import Document
from discreet.retrieval.embedding import HashingEmbedder
from discreet.vault import Vault

KNOWN = "What helps against numb thumbs?"


def prepared(folder: Path) -> Path:
    """A vault of the default embedder with one document and one answer, and a file of notes beside it."""
    Vault.create(folder / "v", epsilon=20, delta=1e-6, unit_field="patient")
    # The vectors of this embedder have the length of the default one's. No search depends on their values here.
    vault = Vault.open(folder / "v", embedder=HashingEmbedder())
    vault.add_documents([Document("1", "ada", "numb thumbs: winterhand")])
    vault.history.add(Released(KNOWN, "winterhand", "end", "murag-ada", 1))
    (folder / "notes.csv").write_text("patient,note\nada,numb thumbs\n", encoding="utf-8")
    return vault.path


def commands(folder: Path, vault: Path) -> dict[str, Sequence[object]]:
    """What is run, by what it is."""
    asked = "What is the treatment for Zonkitis?"
    return {
        "the help": ["--help"],
        "a vault that is not there": ["ask", folder / "nowhere", asked],
        "a question that is too dear": ["ask", vault, asked, "--epsilon", 50],
        "a question that counts": ["ask", vault, "How many patients have Zonkitis?"],
        "a baseline without a guarantee": ["ask", vault, asked, "--algorithm", "rag"],
        "the same question again": ["ask", vault, KNOWN],
        "a file that is not there": ["add", vault, folder / "nothing.csv"],
        "a column that is not there": ["add", vault, folder / "notes.csv", "--text-field", "text"],
        "the budget": ["budget", vault, "--analyst"],
    }


def timed(words: Sequence[object]) -> tuple[int, float, float]:
    """A command's exit code, its CPU seconds and its seconds on the clock."""
    before, start = os.times(), time.perf_counter()
    program = [sys.executable, "-m", "discreet", *(str(word) for word in words)]
    code = subprocess.run(program, capture_output=True, check=False).returncode
    after = os.times()
    spent = after.children_user + after.children_system - before.children_user - before.children_system
    return code, spent, time.perf_counter() - start


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--times", type=int, default=5)
    given = parser.parse_args()
    print("| command | exit code | CPU seconds | seconds |\n| --- | --- | --- | --- |")
    with tempfile.TemporaryDirectory() as made:
        vault = prepared(Path(made))
        for name, words in commands(Path(made), vault).items():
            runs = [timed(words) for _ in range(given.times)]
            cpu, clock = median(cpu for _, cpu, _ in runs), median(clock for _, _, clock in runs)
            print(f"| {name} | {runs[0][0]} | {cpu:.2f} | {clock:.2f} |")


if __name__ == "__main__":
    main()

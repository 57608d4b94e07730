"""Time to answer against what was released, and what a quantum of time leaves of it.

    .venv/bin/python benchmarks/side_channels.py [--model smollm2-135m] [--questions 8] [--repeats 3] [--patients 240]
        [--voters 20] [--max-tokens 12] [--quantum SECONDS] [--seed 0]

Asks dp-sparse-vote-rag about the diseases of the made-up hospital, each question several times, in a simulation
(nothing is paid), and prints two Markdown tables: the questions with tokens, private tokens and seconds; and how time
goes with the number of tokens and of private tokens (Pearson's correlation), with the quantum and without.
"unexplained": the standard deviation of what is left of the time after a straight line in both numbers, in seconds and
as a part of the mean: all that the time can tell besides, since both numbers are on the receipt. The quantum is by
default half as much again as the longest answer without one took. Seeded, but for the time. One thread unless told
otherwise (OMP_NUM_THREADS).
"""

import argparse
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from discreet.algorithms import DPSparseVoteRAG
from discreet.demo.corpus import DISEASES, documents
from discreet.generation.loading import load_model
from discreet.generation.model import LanguageModel
from discreet.privacy.noise import InsecureSeededNoise
from discreet.vault import Vault
from discreet.waiting import at_a_multiple


@dataclass(frozen=True)
class Measured:
    """One answer."""

    question: int
    tokens: int
    private: int
    seconds: float


def questions(count: int) -> list[tuple[str, str]]:
    """Of two kinds: answered by documents, and by what everybody knows, which takes fewer private tokens."""
    about = [(f"What is the treatment for {disease.name}?", "The treatment is") for disease in DISEASES]
    known = [(f"What is {disease.symptoms[0]}? Answer in general.", "") for disease in DISEASES]
    return [pair for both in zip(about, known, strict=True) for pair in both][:count]


def measure(vault: Vault, model: LanguageModel, asked: argparse.Namespace, quantum: float) -> list[Measured]:
    """Every question, so many times, in turn."""
    noise, found = InsecureSeededNoise(asked.seed), []
    for _ in range(asked.repeats):
        for number, (question, prefix) in enumerate(questions(asked.questions)):
            algorithm = DPSparseVoteRAG(
                voters=asked.voters,
                epsilon=10,
                private_tokens=asked.max_tokens,
                max_tokens=asked.max_tokens,
                prefix=prefix,
            )
            begun = time.monotonic()
            with at_a_multiple(quantum):
                answer = vault.simulate(question, algorithm, noise=noise, model=model)
            found.append(Measured(number, answer.tokens, answer.private_tokens, time.monotonic() - begun))
    return found


def correlation(first: list[float], second: list[float]) -> str:
    """Pearson's; a dash where one of them does not vary."""
    if np.std(first) < 1e-12 or np.std(second) < 1e-12:
        return "-"
    return f"{float(np.corrcoef(first, second)[0, 1]):.2f}"


def row(name: str, found: list[Measured]) -> str:
    """How time goes with what was released."""
    seconds, tokens, private = ([float(value) for value in values] for values in zip(
        *((one.seconds, one.tokens, one.private) for one in found), strict=True
    ))  # fmt: skip
    lines = np.column_stack([np.ones(len(found)), tokens, private])
    line, *_ = np.linalg.lstsq(lines, np.array(seconds), rcond=None)
    left, mean = float(np.std(np.array(seconds) - lines @ line)), float(np.mean(seconds))
    cells = (
        name,
        f"{mean:.2f}",
        f"{min(seconds):.2f} to {max(seconds):.2f}",
        correlation(seconds, tokens),
        correlation(seconds, private),
        f"{left:.3f} s ({left / mean:.1%})",
    )
    return "| " + " | ".join(cells) + " |"


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="smollm2-135m")
    for name, value in (("questions", 8), ("repeats", 3), ("patients", 240), ("voters", 20), ("max-tokens", 12)):
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument("--quantum", type=float, default=0.0)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    model = load_model(asked.model)
    with tempfile.TemporaryDirectory() as folder:
        vault = Vault.create(Path(folder) / "vault", epsilon=20, delta=1e-6, embedder="hashing", model=asked.model)
        vault.add_documents(documents(asked.patients))
        measure(vault, model, argparse.Namespace(**{**vars(asked), "questions": 1, "repeats": 1}), 0.0)  # to warm up
        plain = measure(vault, model, asked, 0.0)
        quantum = asked.quantum or 1.5 * max(one.seconds for one in plain)
        waited = measure(vault, model, asked, quantum)
    print("| question | tokens | private tokens | seconds |\n| --- | --- | --- | --- |")
    for number, (question, prefix) in enumerate(questions(asked.questions)):
        own = [one for one in plain if one.question == number]
        lists = (", ".join(f"{getattr(one, name):.4g}" for one in own) for name in ("tokens", "private", "seconds"))
        print(f"| {question} {prefix} | " + " | ".join(lists) + " |")
    tokens, private = ([float(getattr(one, name)) for one in plain] for name in ("tokens", "private"))
    print(f"\nLength goes with private tokens: {correlation(tokens, private)}.")
    print("\n| quantum | mean seconds | range | with tokens | with private tokens | unexplained |")
    print("| --- | --- | --- | --- | --- | --- |")
    print(row("none", plain))
    print(row(f"{quantum:.2f} s", waited))


if __name__ == "__main__":
    main()

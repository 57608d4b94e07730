"""Votes by what was read before, beside voters that read: accuracy and time of open questions.

    .venv/bin/python -m benchmarks.read_votes VAULT QUESTIONS [--limit 48] [--seeds 1] [--voters-too]

VAULT was read (`discreet read`). Each question is paid by the vault's whole grant, in a simulation, at the default
price. "seconds" is the mean time of an answer, the first one and its cold start included.
"""

import argparse
import time
from pathlib import Path

from benchmarks.models import add_model_option, open_vault
from benchmarks.writing import TableWriter, add_csv_option

from discreet.algorithms.common.algorithm import Algorithm
from discreet.privacy.ledger import MemoryLedger
from discreet.privacy.noise import InsecureSeededNoise
from discreet.query.known_answers import read_questions
from discreet.registry import RAG, Consensus, MuRAGAda
from discreet_lab.evaluation.caching_model import CachingModel
from discreet_lab.evaluation.metrics import score


def main() -> None:
    """Ask and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("vault", type=Path)
    parser.add_argument("questions", type=Path)
    parser.add_argument("--limit", type=int, default=48)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--voters-too", action="store_true", help="also plain RAG and voters that read")
    add_model_option(parser)
    add_csv_option(parser)
    given = parser.parse_args()
    vault, questions = open_vault(given.vault, given.model), read_questions(given.questions, given.limit)
    compared: dict[str, Algorithm] = {"readings": MuRAGAda(inner=Consensus(readings=True))}
    if given.voters_too:
        compared |= {"plain RAG, no guarantee": RAG(), "voters that read": MuRAGAda(inner=Consensus())}
    table = TableWriter(["votes by", "accuracy", "released", "median seconds", "first seconds"], given.csv)
    for name, algorithm in compared.items():
        model = CachingModel(vault.model) if algorithm.needs_model else None
        scores, released, seconds = list[float](), 0, list[float]()
        for seed in range(given.seeds):
            for place, question in enumerate(questions):
                ledger = MemoryLedger(vault.ledger.budget, simulation=True) if algorithm.private else None
                noise, started = InsecureSeededNoise(1000 * seed + place), time.perf_counter()
                found = vault.simulate(question.question, algorithm, noise=noise, model=model, ledger=ledger)
                if seed == 0:
                    seconds.append(time.perf_counter() - started)
                released += found.stopped != "public"
                scores.append(score(found.text, question.answers, question.kind))
        asked = len(scores)
        numbers = [sum(scores) / asked, released / asked, sorted(seconds)[len(seconds) // 2], seconds[0]]
        table.write([name, *(f"{number:.2f}" for number in numbers)])
    print(f"\n{len(questions)} questions, {given.seeds} seeds; {vault.settings.model}, {vault.settings.embedder}")


if __name__ == "__main__":
    main()

"""Accuracy of all algorithms on a data set with known answers.

    .venv/bin/python -m benchmarks.accuracy DOCUMENTS QUESTIONS [--limit 40] [--seeds 3] [--epsilon 2 5 10 20]

Prints a Markdown table, with the parameters by the paper's names. The vault is made in a temporary folder, or kept
in --vault to be used again. Noise is seeded: a second run prints the same figures, but for the seconds.
"""

import argparse
import json
import tempfile
from pathlib import Path

from benchmarks.models import add_model_option, vault_in
from benchmarks.writing import add_csv_option, write_table

from discreet.algorithms.common.algorithm import Algorithm
from discreet.query.known_answers import read_questions
from discreet.registry import RAG, DPSparseVoteRAG, DPVoteRAG, NonRAG
from discreet_lab.baselines.vote_rag import VoteRAG
from discreet_lab.evaluation.experiment import run_experiment
from discreet_lab.evaluation.report import tabulate

DELTA = 1e-5


def algorithms(voters: int, epsilons: list[float], private_tokens: list[int]) -> list[Algorithm]:
    """The baselines, and each private algorithm at each epsilon."""
    made: list[Algorithm] = [NonRAG(), RAG(), VoteRAG(voters=voters)]
    for kind in (DPVoteRAG, DPSparseVoteRAG):
        for tokens in private_tokens:
            made += [kind(epsilon=epsilon, voters=voters, private_tokens=tokens) for epsilon in epsilons]
    return made


def main() -> None:
    """Run the experiment."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("documents", type=Path)
    parser.add_argument("questions", type=Path)
    parser.add_argument("--vault", type=Path)
    parser.add_argument("--limit", type=int, default=40)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--voters", type=int, default=40)
    parser.add_argument("--private-tokens", type=int, nargs="+", default=[4, 8])
    parser.add_argument("--epsilon", type=float, nargs="+", default=[2.0, 5.0, 10.0, 20.0])
    parser.add_argument("--out", type=Path, help="every answer, as JSON lines")
    parser.add_argument("--json", action="store_true")
    add_model_option(parser)
    add_csv_option(parser)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = given.vault or Path(folder) / "vault"
        vault = vault_in(path, given.model, epsilon=1.0, delta=DELTA)
        vault.add(given.documents)
        questions = read_questions(given.questions, given.limit)
        chosen = algorithms(given.voters, given.epsilon, given.private_tokens)
        rows = run_experiment(vault, questions, chosen, given.seeds, given.out)
    if given.json:
        print(json.dumps([row.describe() for row in rows]))
        return
    headings, lines = tabulate(rows)
    write_table(headings, lines, given.csv)
    print(
        f"\nm = {given.voters} voters, k = 1 unit each, delta_total = {DELTA:g}, tau = m/2, T_max = 32, "
        f"epsilon_token so that `bought` private tokens fit; {len(questions)} questions, "
        f"{given.seeds} seeds; model {vault.settings.model}, embedder {vault.settings.embedder}."
    )


if __name__ == "__main__":
    main()

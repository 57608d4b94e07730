"""One budget for many questions: accuracy against their number, beside a synthetic corpus that is asked for nothing.

    .venv/bin/python -m benchmarks.many_questions VAULT QUESTIONS CORPUS.jsonl ... [--epsilon 10] [--delta 1e-5]
        [--numbers 1 10 100 1000] [--limit 48] [--seeds 3] [--voters 40] [--dp-rag]

Everybody pays for every question out of `--epsilon` at `--delta`; half of delta is for costs that can fail. For each
number of questions, the largest price of a question of which so many fit, and the accuracy of a question at that price.
Prints Markdown; "nothing" where no price is large enough to release anything. Noise is seeded; a second run prints the
same figures.
"""

import argparse
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from benchmarks.models import add_model_option, open_vault
from benchmarks.writing import TableWriter, add_csv_option

from discreet.algorithms.common.algorithm import Algorithm
from discreet.privacy.accounting import Budget
from discreet.query.known_answers import Question, read_questions
from discreet.registry import DPRAG, RAG, Consensus, DPSparseVoteRAG
from discreet.retrieval.public import PublicTexts
from discreet.vault import Vault
from discreet_lab.bench.experiments.many_questions import find_fitting
from discreet_lab.evaluation.caching_model import CachingModel
from discreet_lab.evaluation.experiment import run_answers, summary
from discreet_lab.evaluation.metrics import mean_and_margin, score


def lines(given: argparse.Namespace, vault: Vault, questions: list[Question]) -> Iterator[tuple[str, list[str]]]:
    """A row for each way to answer, as it is done: its name, and a cell for each number of questions."""
    budget, model = Budget(given.epsilon, given.delta, 0.5 * given.delta), CachingModel(vault.model)
    for corpus in given.corpora:
        texts = PublicTexts.read(corpus, vault.embedder)
        drafts = RAG().read_all([(q.question, texts.unsealed_passages(q.question, 1)) for q in questions], vault.model)
        scores = [score(draft.text, q.answers, q.kind) for draft, q in zip(drafts, questions, strict=True)]
        mean, margin = mean_and_margin([[value] for value in scores])
        yield f"rag over {corpus.stem}, paid once", [f"{mean:.2f} ± {margin:.2f}"] * len(given.numbers)
    for name, priced in kinds(given).items():
        cells = []
        for number in given.numbers:
            delta = budget.failures / number
            algorithm = find_fitting(partial(priced, delta=delta), budget, number, vault.model.vocabulary_size)
            if algorithm is None:
                cells.append("nothing")
                continue
            row = summary(algorithm, run_answers(vault, questions, [algorithm], given.seeds, model=model)[algorithm])
            price = getattr(algorithm, "epsilon", 0.0)
            cells.append(f"{row.accuracy:.2f} ± {row.accuracy_margin:.2f} (epsilon {price:.2g})")
        yield name, cells


def kinds(given: argparse.Namespace) -> dict[str, Callable[..., Algorithm]]:
    """What answers single questions."""
    found: dict[str, Callable[..., Algorithm]] = {
        "consensus": lambda epsilon, delta: Consensus(voters=given.voters, epsilon=epsilon, delta=delta),
        "dp-sparse-vote-rag": lambda epsilon, delta: DPSparseVoteRAG(
            voters=given.voters, epsilon=epsilon, delta=given.delta
        ),
    }
    if given.dp_rag:
        found["dp-rag"] = lambda epsilon, delta: DPRAG(epsilon=epsilon, delta=given.delta)
    return found


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("vault", type=Path)
    parser.add_argument("questions", type=Path)
    parser.add_argument("corpora", type=Path, nargs="*", metavar="corpus")
    parser.add_argument("--epsilon", type=float, default=10.0)
    parser.add_argument("--delta", type=float, default=1e-5)
    parser.add_argument("--numbers", type=int, nargs="+", default=[1, 10, 100, 1000])
    parser.add_argument("--limit", type=int)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--voters", type=int, default=40)
    parser.add_argument("--dp-rag", action="store_true", help="also tokens from summed opinions: slow")
    add_model_option(parser)
    add_csv_option(parser)
    given = parser.parse_args()
    vault, questions = open_vault(given.vault, given.model), read_questions(given.questions, given.limit)
    table = TableWriter(["questions", *map(str, given.numbers)], given.csv)
    for name, cells in lines(given, vault, questions):
        table.write([name, *cells])
    print(f"\n{len(questions)} questions, {given.seeds} seeds; {vault.settings.model}, {vault.settings.embedder}")


if __name__ == "__main__":
    main()

"""What a public corpus saves: answers by voters with and without one of its texts in the public prompt.

    .venv/bin/discreet init VAULT --epsilon 20 --delta 1e-5
    .venv/bin/discreet add VAULT DOCUMENTS
    .venv/bin/discreet synthesize VAULT --epsilon 10 --out CORPUS.jsonl
    .venv/bin/python -m benchmarks.public_context VAULT CORPUS.jsonl QUESTIONS [--limit 24] [--seeds 3] [--voters 40]
        [--epsilon 10 20] [--consensus-epsilon 1 2]

Prints a Markdown table. "free": the share of answers that needed no private token. Nothing is paid. Noise is seeded;
both rows of a pair draw from the same seed, and a second run prints the same figures. Ctrl-C prints what is there.
"""

import argparse
import sys
from collections import defaultdict
from contextlib import suppress
from pathlib import Path

from benchmarks.models import add_model_option, open_vault
from benchmarks.writing import add_csv_option, write_table

from discreet.algorithms.common.algorithm import Algorithm
from discreet.query.known_answers import Question, read_questions
from discreet.registry import RAG, Consensus, DPSparseVoteRAG, NonRAG
from discreet.retrieval.public import PublicTexts
from discreet.vault import Vault
from discreet_lab.evaluation.caching_model import CachingModel
from discreet_lab.evaluation.experiment import Outcome, run_answers, summary
from discreet_lab.evaluation.metrics import mean_and_margin, score

WITHOUT, WITH = "no", "yes"
Found = dict[tuple[Algorithm, str], list[list[Outcome]]]
"""For each algorithm, without the corpus and with it, and for each question: the answers with different noise."""


def compared(given: argparse.Namespace) -> list[Algorithm]:
    """Algorithms that compare what the voters say with the public prompt, or fall back to it."""
    same = {"voters": given.voters, "delta": given.delta}
    return [
        *(DPSparseVoteRAG(epsilon=epsilon, **same) for epsilon in given.epsilon),
        *(Consensus(epsilon=epsilon, **same) for epsilon in given.consensus_epsilon),
    ]


def run(
    given: argparse.Namespace, vault: Vault, texts: PublicTexts, questions: list[Question]
) -> tuple[Found, dict[str, list[float]]]:
    """All answers, and how good the public ones are: without any text, and from the nearest one alone."""
    model = CachingModel(vault.model, given.rows)
    found: Found = defaultdict(list)
    public: dict[str, list[float]] = defaultdict(list)
    with suppress(KeyboardInterrupt):
        for number, question in enumerate(questions, 1):
            one: Found = {}
            for how, read in ((WITHOUT, None), (WITH, texts)):
                answers = run_answers(vault, [question], compared(given), given.seeds, model=model, public=read)
                one |= {(algorithm, how): groups for algorithm, groups in answers.items()}
            asked = question.question
            said = {
                "non-rag": vault.simulate(asked, NonRAG()).text,
                "rag over the corpus": RAG().read(asked, texts.unsealed_passages(asked, 1), vault.model).text,
            }
            for key, groups in one.items():  # a question counts when all of it is there
                found[key] += groups
            for name, text in said.items():
                public[name].append(score(text, question.answers, question.kind))
            print(f"{number}/{len(questions)}", file=sys.stderr, flush=True)
    return found, public


def write_pairs(found: Found, public: dict[str, list[float]], path: Path | None) -> None:
    """Write pairs of rows: without the corpus, and with it."""
    headings = "algorithm, epsilon, public corpus, accuracy, private tokens, free, released, epsilon spent".split(", ")
    lines = []
    for name, scores in public.items():
        mean, margin = mean_and_margin([[value] for value in scores])
        lines.append([name, "-", "-", f"{mean:.2f} ± {margin:.2f}", "-", "-", "-", "0"])
    pairs = [
        (algorithm, how) for algorithm in dict.fromkeys(algorithm for algorithm, _ in found) for how in (WITHOUT, WITH)
    ]
    for algorithm, how in pairs:
        groups = found[algorithm, how]
        row, flat = summary(algorithm, groups), [outcome for group in groups for outcome in group]
        tokens = isinstance(algorithm, DPSparseVoteRAG)
        free = sum(outcome.private_tokens == 0 for outcome in flat) / len(flat)
        lines.append(
            [
                algorithm.name,
                f"{getattr(algorithm, 'epsilon', 0):g}",
                how,
                f"{row.accuracy:.2f} ± {row.accuracy_margin:.2f}",
                f"{row.private_tokens:.2f}" if tokens else "-",
                f"{free:.2f}" if tokens else "-",
                "-" if tokens else f"{row.released:.2f}",
                f"{row.epsilon_spent or 0:.2f}",
            ]
        )
    write_table(headings, lines, path)


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("vault", type=Path)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("questions", type=Path)
    parser.add_argument("--limit", type=int, help="only so many questions, spread over the file")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--voters", type=int, default=40)
    parser.add_argument("--epsilon", type=float, nargs="*", default=[10.0, 20.0], help="of votes on tokens")
    parser.add_argument("--consensus-epsilon", type=float, nargs="*", default=[1.0, 2.0])
    parser.add_argument("--delta", type=float, default=1e-5)
    parser.add_argument("--rows", type=int, default=100, help="how many rows the model's caches may have (memory)")
    add_model_option(parser)
    add_csv_option(parser)
    given = parser.parse_args()
    vault, questions = open_vault(given.vault, given.model), read_questions(given.questions, given.limit)
    texts = PublicTexts.read(given.corpus, vault.embedder)
    found, public = run(given, vault, texts, questions)
    done = len(public["non-rag"])
    if not done:
        sys.exit("Interrupted before the first question was done.")
    write_pairs(found, public, given.csv)
    print(
        f"\n{done} of {len(questions)} questions, {given.seeds} seeds, {given.voters} voters, delta {given.delta:g} a "
        f"question; {len(texts)} texts in the corpus; {vault.settings.model}, {vault.settings.embedder}"
    )


if __name__ == "__main__":
    main()

"""Synthetic corpora against the documents they were made from: accuracy of plain RAG over either.

    .venv/bin/discreet init VAULT --epsilon 10 --delta 1e-5
    .venv/bin/discreet add VAULT DOCUMENTS
    .venv/bin/discreet synthesize VAULT --epsilon 10 --out CORPUS.jsonl
    .venv/bin/python -m benchmarks.synthesis VAULT QUESTIONS CORPUS.jsonl [CORPUS.jsonl ...] [--limit 48] [--texts 1]
        [--support 20 40 80 160]

Prints Markdown: accuracy (match), overall, by the kind of question, and, where the file knows how many units support
the answer, by their number; of each corpus, how many texts were written and kept, and for how many questions some text
holds an acceptable answer. Nothing is paid, and no noise is drawn: a corpus is made once (for one with seeded noise,
see corpora.py).
"""

import argparse
import json
import math
from collections import defaultdict
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from pathlib import Path

from benchmarks.models import add_model_option, open_vault
from benchmarks.writing import TableWriter, add_csv_option, name_part

from discreet.errors import BadData
from discreet.query.known_answers import Question, read_questions
from discreet.registry import RAG, NonRAG
from discreet.retrieval.public import PublicTexts
from discreet.synthesis.runner import receipt_path
from discreet.vault import Vault
from discreet_lab.bench.experiments.corpora import read_corpus, read_texts, share_told
from discreet_lab.evaluation.metrics import mean_and_margin, score

Answers = Callable[[list[str]], list[str]]


def ways(vault: Vault, corpora: list[Path], texts_read: int) -> dict[str, Answers]:
    """How each row of the table answers questions."""
    found: dict[str, Answers] = {
        "non-rag": lambda asked: [vault.simulate(question, NonRAG()).text for question in asked],
        "rag": lambda asked: [vault.simulate(question, RAG()).text for question in asked],
    }
    for corpus in corpora:
        try:
            texts = PublicTexts.read(corpus, vault.embedder)
        except BadData:  # nothing was kept
            texts = PublicTexts([""], vault.embedder)
        found[f"rag over {corpus.stem}"] = partial(read_corpus, vault, texts, count=texts_read)
    return found


def grouped(questions: list[Question], edges: list[int]) -> dict[str, list[int]]:
    """The questions of each column, by their places: of each kind, and of each range of support that has any."""
    found: dict[str, list[int]] = defaultdict(list)
    for place in sorted(range(len(questions)), key=lambda place: questions[place].kind):
        found[questions[place].kind].append(place)
    for low, high in pairwise([*edges, math.inf]):
        name = f"{low} units or more" if high == math.inf else f"{low} to {high - 1} units"
        found[name] += [place for place, q in enumerate(questions) if q.support is not None and low <= q.support < high]
    return {name: places for name, places in found.items() if places}


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("vault", type=Path)
    parser.add_argument("questions", type=Path)
    parser.add_argument("corpora", type=Path, nargs="+", metavar="corpus")
    parser.add_argument("--limit", type=int)
    parser.add_argument("--texts", type=int, default=1, help="how many texts of the corpus are read for a question")
    parser.add_argument("--support", type=int, nargs="*", default=[], help="where ranges of support begin")
    add_model_option(parser)
    add_csv_option(parser)
    given = parser.parse_args()
    vault, questions = open_vault(given.vault, given.model), read_questions(given.questions, given.limit)
    groups = grouped(questions, given.support)
    table = TableWriter(["how", "accuracy", *groups], given.csv)
    for name, answer in ways(vault, given.corpora, given.texts).items():
        said = answer([q.question for q in questions])
        scores = [score(text, q.answers, q.kind) for text, q in zip(said, questions, strict=True)]
        mean, margin = mean_and_margin([[value] for value in scores])
        cells = [f"{sum(scores[place] for place in places) / len(places):.2f}" for places in groups.values()]
        table.write([name, f"{mean:.2f} ± {margin:.2f}", *cells])
    print(f"\n{len(questions)} questions; {vault.settings.model}, {vault.settings.embedder}\n")
    columns = ["corpus", "method", "epsilon", "delta", "written", "kept", "an answer is in some text for"]
    table = TableWriter(columns, name_part(given.csv, "corpora"))
    for corpus in given.corpora:
        about = json.loads(receipt_path(corpus).read_text())
        method, receipt = about["plan"].get("method", "dp-synrag"), about["receipt"]
        counts = [str(about[name]) for name in ("written", "kept")]
        price = [f"{receipt['epsilon']:.3g}", f"{receipt['delta']:g}"]
        table.write([corpus.stem, method, *price, *counts, f"{share_told(read_texts(corpus), questions):.2f}"])


if __name__ == "__main__":
    main()

"""A synthetic corpus against the documents it was made from: accuracy of plain RAG over either.

    .venv/bin/discreet init VAULT --epsilon 10 --delta 1e-5
    .venv/bin/discreet add VAULT DOCUMENTS
    .venv/bin/discreet synthesize VAULT --epsilon 10 --out CORPUS.jsonl
    .venv/bin/python benchmarks/synthesis.py VAULT CORPUS.jsonl QUESTIONS [--limit 48]

Prints Markdown: accuracy (match), overall and by the kind of question; how many texts were written and kept; how many
of the keywords that some question asks for have a text. Nothing is paid, and no noise is drawn: a corpus is made once.
"""

import argparse
import json
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path

from discreet.algorithms import RAG, NonRAG
from discreet.evaluation.datasets import Question, read_questions
from discreet.evaluation.metrics import matches, mean_and_margin, score
from discreet.retrieval.public import PublicTexts
from discreet.synthesis import receipt_path
from discreet.vault import Vault

Answers = Callable[[str], str]


def ways(vault: Vault, corpus: Path, texts_read: int) -> dict[str, Answers]:
    """How each row of the table answers a question."""
    texts = PublicTexts.read(corpus, vault.embedder)
    reader = RAG(units=texts_read)
    return {
        "non-rag": lambda asked: vault.simulate(asked, NonRAG()).text,
        "rag": lambda asked: vault.simulate(asked, RAG()).text,
        f"rag over the corpus, {texts_read} text{'' if texts_read == 1 else 's'}": lambda asked: (
            reader.read(asked, texts.unsealed_passages(asked, texts_read), vault.model).text
        ),
    }


def told(corpus: Path, questions: list[Question]) -> float:
    """The share of questions of which some text of the corpus holds an acceptable answer: the most there is to find."""
    texts = [json.loads(line)["text"] for line in corpus.read_text(encoding="utf-8").splitlines()]
    return sum(any(matches(text, question.answers) for text in texts) for question in questions) / len(questions)


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("vault", type=Path)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("questions", type=Path)
    parser.add_argument("--limit", type=int)
    parser.add_argument("--texts", type=int, default=1, help="how many texts of the corpus are read for a question")
    given = parser.parse_args()
    vault, questions = Vault.open(given.vault), read_questions(given.questions, given.limit)
    kinds = sorted({question.kind for question in questions})
    print("| how | accuracy | " + " | ".join(kinds) + " |")
    print("| --- | --- |" + " --- |" * len(kinds))
    for name, answer in ways(vault, given.corpus, given.texts).items():
        scores: dict[str, list[float]] = defaultdict(list)
        for question in questions:
            scores[question.kind].append(score(answer(question.question), question.answers, question.kind))
        mean, margin = mean_and_margin([[value] for found in scores.values() for value in found])
        cells = [f"{sum(scores[kind]) / len(scores[kind]):.2f}" for kind in kinds]
        print(f"| {name} | {mean:.2f} ± {margin:.2f} | " + " | ".join(cells) + " |", flush=True)
    about = json.loads(receipt_path(given.corpus).read_text())
    print(
        f"\n{len(questions)} questions; {about['kept']} texts kept of {about['written']} written; an acceptable answer "
        f"is in some text for {told(given.corpus, questions):.2f} of the questions; epsilon "
        f"{about['receipt']['epsilon']:.3g} at delta {about['receipt']['delta']:g} for the whole corpus; "
        f"{vault.settings.model}, {vault.settings.embedder}"
    )


if __name__ == "__main__":
    main()

"""Questions of an analyst that should be refused before anything is paid: about one individual, or too fine.

    .venv/bin/python -m benchmarks.analyst_refusals

The questions were written before the rules were run on them. 11 of 15 and 4 of 10 were refused then, and rules for days
and for "by ..." were added. A vault of the demonstration's notes is asked by the rules of `discreet ask`. A question
that is not refused is answered as safely as any other: the refusal is a courtesy, and no part of the guarantee.
"""

import argparse
import tempfile
from collections import Counter
from pathlib import Path

from benchmarks.writing import TableWriter, add_csv_option

from discreet.cli.kinds import Chooser
from discreet.demo.corpus import documents
from discreet.errors import DiscreetError
from discreet.vault import Vault

QUESTIONS = {
    "one individual": (
        "Who has Winter Hand?",
        "Which patient has Winter Hand?",
        "Which of my patients have Glass Knee?",
        "List the patients with Marsh Fever.",
        "Give me the names of all patients with Copper Lung.",
        "Who suffers from Red Echo?",
        "Does Mrs Baker have Winter Hand?",
        "What is the diagnosis of Mr Baker?",
        "What is Mr. Lind's treatment?",
        "What does patient number 17 have?",
        "Show the records of patient 12.",
        "Which patient was treated by Dr Keller?",
        "Tell me about Ada Lindqvist.",
        "How many patients are called Ada Lindqvist?",
        "Has Ada Lindqvist got Winter Hand?",
    ),
    "too fine": (
        "How many patients over 93 have Winter Hand?",
        "How many patients were admitted on 4 March 2024?",
        "How many patients with Winter Hand were born in 1931?",
        "What share of patients between 40 and 42 have Glass Knee?",
        "How many patients have Winter Hand by day?",
        "How many patients have Winter Hand by street?",
        "Compare Winter Hand and Glass Knee by treatment.",
        "What is the age of the oldest patient?",
        "What is the highest age of patients with Winter Hand?",
        "How many patients have Winter Hand by ward?",
    ),
}


def main() -> None:
    """Print which questions are refused, and how many of each kind."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_csv_option(parser)
    given = parser.parse_args()
    refused: Counter[str] = Counter()
    passed: dict[str, list[str]] = {kind: [] for kind in QUESTIONS}
    with tempfile.TemporaryDirectory() as folder:
        vault = Vault.create(Path(folder) / "v", epsilon=20.0, delta=1e-6, embedder="hashing", unit_field="patient")
        vault.add_documents(documents(100))
        chooser = Chooser(vault, "", (), {})
        for kind, questions in QUESTIONS.items():
            for question in questions:
                try:
                    chooser.check()(question)
                except DiscreetError:
                    refused[kind] += 1
                else:
                    passed[kind].append(question)
        assert not vault.ledger.questions()
    table = TableWriter("kind,questions,refused,not refused".split(","), given.csv)
    for kind, questions in QUESTIONS.items():
        table.write([kind, str(len(questions)), str(refused[kind]), " ".join(passed[kind]) or "-"])


if __name__ == "__main__":
    main()

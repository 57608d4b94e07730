"""False alarms of the rules that name released answers which say nothing (`query.useless`), over gold answers.

    python -m benchmarks.useless DATA

For each question of the data sets every gold answer is judged as if it had been released: alone, and in sentences as
the public model writes them around an answer; beside it stands its canonical form, as voters would release it. Each
says something, so each that is named is a false alarm. They are printed: the data sets are public or made up. The last
columns count texts that should be named: the question itself, alone and in a sentence, and phrases that say nothing.
"""

import argparse
import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from discreet.algorithms.text.normalize import canonical
from discreet.query.useless import useless

SETS = ("nq_notes", "medical_synth", "chatdoctor", "movielens", "mail_pii", "medquad")
SENTENCES = ("{answer}", "{answer}.", "The answer is {answer}.", "It is {answer}.")
EMPTY = ("{question}", "The answer is: {question}", "No, no.", "The record does not say.", "Not mentioned.")


def pairs(folder: Path) -> Iterator[tuple[str, str]]:
    """Each question with each of its gold answers."""
    for path in sorted(folder.glob("questions*.jsonl")):
        for line in path.read_text(encoding="utf-8").splitlines():
            one = json.loads(line)
            for answer in one["answers"]:
                yield one["question"], answer


def main() -> None:
    """Print the table, and what was named."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    given = parser.parse_args()
    print("| data set | gold answers | sentences judged | false alarms | empty answers | named |")
    print("| --- | --- | --- | --- | --- | --- |")
    alarms: Counter[tuple[str, str]] = Counter()
    for name in SETS:
        known = list(pairs(given.data / name))
        judged = [
            (question, answer, form.format(answer=answer.rstrip(".") if form != "{answer}" else answer))
            for question, answer in known
            for form in SENTENCES
        ]
        false = [
            (question, answer)
            for question, answer, text in judged
            if useless(question, text, (canonical(answer, question) or answer,))
        ]
        alarms.update(false)
        asked = sorted({question for question, _ in known})
        empty = [(question, form.format(question=question)) for question in asked for form in EMPTY]
        named = sum(bool(useless(question, text, (text,))) for question, text in empty)
        print(f"| {name} | {len(known)} | {len(judged)} | {len(false)} | {len(empty)} | {named} |")
    for (question, answer), times in alarms.most_common():
        print(f"- {times} of {len(SENTENCES)}: {question} {answer[:80]!r}")


if __name__ == "__main__":
    main()

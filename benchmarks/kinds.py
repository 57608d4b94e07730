"""Which questions are said to be unanswerable before anything is paid: good ones that are refused, bad ones that pass.

    .venv/bin/python -m benchmarks.kinds DATA

First table: the questions of the data sets, in a folder for each. Those that ask for one fact should pass: what is
refused of them is a false alarm. MedQuAD's forms ("How many people are affected by ...?", "What are the symptoms of
...?", "Do you have information about ...", "Is ... inherited?") are told apart by how they begin.
Second table: questions written for this table by hand before it was run for the first time, and what they are taken
for. 48 of the 54 were right then; rules for three of the others were made after it.
"""

import argparse
import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from discreet.query.question_kinds import recognise

SETS = {
    "medical_synth": "patient",
    "medical_synth_small": "patient",
    "nq_notes": "author",
    "chatdoctor": "patient",
    "mail_pii": "sender",
    "movielens": "viewer",
    "medquad": "document",
}
"""By the folder's name: what one individual is called."""
MEDQUAD = {
    "how many people": "count",
    "what are the symptoms": "list",
    "what are the complications": "list",
    "what are the genetic changes": "list",
    "what causes": "fact",
    "do you have information": "summary",
    "is ": "yes-no",
}
HAND = {
    "fact": [
        "What do we give people with Zonkitis?",
        "Which medicine do patients with swollen feet receive?",
        "Against what is Blerpox prescribed?",
        "What dose of Blerpox is usual in children?",
        "What is the usual first complaint in Zonkitis?",
        "Which ward treats Zonkitis?",
        "When is the second dose of Blerpox given?",
        "How long does Zonkitis last?",
        "Where does the rash begin in Zonkitis?",
        "Why is Blerpox stopped in most cases?",
        "What should a nurse do first when a patient faints?",
        "Which is better against Zonkitis, Blerpox or Zibber Drops?",
    ],
    "yes-no": [
        "Is Zonkitis contagious?",
        "Do patients with Zonkitis get Blerpox?",
        "Was the review of the Orly bridge moved?",
        "Can Blerpox cause nausea?",
        "Are there patients who do not tolerate Blerpox?",
        "Has the supplier changed this year?",
    ],
    "count": [
        "How many people here got Blerpox last year?",
        "What proportion of our patients is diabetic?",
        "In how many notes is Zonkitis mentioned?",
        "How frequently is Blerpox prescribed?",
        "Number of patients with Zonkitis?",
        "What is the mean age of our patients?",
    ],
    "list": [
        "Give me a list of all drugs.",
        "Which side effects does Blerpox have?",
        "Name five diseases.",
        "What are all the diseases in these notes?",
        "Which diseases are there?",
        "Enumerate the signs of Zonkitis.",
    ],
    "follow-up": [
        "And the treatment?",
        "Is it dangerous?",
        "How do they treat it?",
        "What about children?",
        "What are its side effects?",
        "Which drug helps against that illness?",
    ],
    "summary": [
        "Summarize the notes.",
        "Give an overview of what is known about Zonkitis.",
        "What is in these documents about Blerpox?",
        "What do you know about Zonkitis?",
        "Tell me about Zonkitis.",
        "What are the main findings?",
    ],
    "other-language": [
        "Was hilft gegen Zonkitis?",
        "Ist Zonkitis ansteckend?",
        "Comment traite-t-on la Zonkitis ?",
        "¿Qué síntomas tiene la Zonkitis?",
        "Come si cura la Zonkitis?",
        "Jak se léčí Zonkitida?",
    ],
    "person": [
        "Who are the patients with Zonkitis?",
        "Which patient takes Blerpox?",
        "What does Mrs. Lind suffer from?",
        "Give me the names of patients with Zonkitis.",
        "Is Ada Lind ill?",
        "Who was diagnosed with Zonkitis last week?",
    ],
}
"""What each question should be taken for."""


def kind_of(name: str, question: str) -> str:
    """The kind of a question of a data set."""
    if name != "medquad":
        return "fact"
    return next((kind for begin, kind in MEDQUAD.items() if question.casefold().startswith(begin)), "fact")


def questions(folder: Path) -> Iterator[str]:
    """All questions of a data set."""
    for path in sorted(folder.glob("questions*.jsonl")):
        for line in path.read_text(encoding="utf-8").splitlines():
            yield json.loads(line)["question"]


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    given = parser.parse_args()
    print("| data set | kind | questions | refused | taken for yes/no |\n| --- | --- | --- | --- | --- |")
    facts, refused, as_choice = 0, 0, 0
    for name, unit in SETS.items():
        by_kind: dict[str, list[str]] = {}
        for question in questions(given.data / name):
            by_kind.setdefault(kind_of(name, question), []).append(question)
        for kind, asked in sorted(by_kind.items()):
            found = [recognise(question, unit=unit) for question in asked]
            no, choice = sum(bool(one.advice) for one in found), sum(one.name == "yes-no" for one in found)
            print(f"| {name} | {kind} | {len(asked)} | {no} | {choice} |")
            if kind == "fact":
                facts, refused, as_choice = facts + len(asked), refused + no, as_choice + choice
    print(f"\nOf {facts} questions for one fact, {refused} are refused and {as_choice} taken for yes/no.\n")
    print("| written as | questions | taken for |\n| --- | --- | --- |")
    missed = []
    for kind in HAND:
        taken = {question: recognise(question).name for question in HAND[kind]}
        counts = ", ".join(f"{count} {name}" for name, count in Counter(taken.values()).most_common())
        print(f"| {kind} | {len(taken)} | {counts} |")
        missed += [f"{kind} taken for {name}: {question}" for question, name in taken.items() if name != kind]
    print("\n" + "\n".join(missed))


if __name__ == "__main__":
    main()

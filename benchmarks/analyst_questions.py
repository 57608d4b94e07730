"""Thirty questions of an analyst: useful, honestly refused, honestly without an answer, wrong, or an invention.

    .venv/bin/python -m benchmarks.analyst_questions DATA/medical_synth_small [--vault FOLDER] [--runs 5]

Makes a vault of 1,000 notes with the default embedder, model and algorithm and epsilon 20, in a folder that is removed
at the end (or kept in --vault), reads it, and asks as an analyst does: `discreet ask --json`. Each run asks a copy of
the vault, with other noise. The first ten questions are those of the first analyst who tried it. What is right is taken
from the data set's own questions.

useful     the answer holds what is right
refused    said from the question alone that it cannot be answered yet; nothing was paid
no answer  nothing was released, and no text stands in its place
wrong      something was released that does not hold what is right
invention  nothing was released, and a text stands in its place
"""

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.models import add_model_option, model_name
from benchmarks.writing import add_csv_option, write_table

from discreet.vault import Vault

TREATMENT, SYMPTOM = "disease-to-treatment", "disease-to-symptoms"
COUNT, SHARE = "count", "share"
"""A number of patients with a disease, or their share: it is right if the interval holds the true one."""


@dataclass(frozen=True)
class Question:
    """A question, and what is right.

    Attributes:
        text: what is asked.
        disease: that it is about.
        right: the kind of the data set's question with the right answers, or one right answer, or "" if the notes hold
            none.
        choices: public choices, if it names any.
        after: the question before it, to which it refers.
    """

    text: str
    disease: str = ""
    right: str = ""
    choices: tuple[str, ...] = ()
    after: str = ""


AB = ("Blerpox treatment", "Flarglepox Discombobulation")
QUESTIONS = (
    Question("What is the treatment for Snurflaxitis?", "Snurflaxitis", TREATMENT),
    Question(f"Is Snurflaxitis treated with {AB[0]} or with {AB[1]}?", "Snurflaxitis", TREATMENT, choices=AB),
    Question("Is Flarglepox Discombobulation used to treat Snurflaxitis?", right="yes"),
    Question("How many patients have Zonkitis?", "Zonkitis", COUNT),
    Question("List the symptoms of Zonkitis.", "Zonkitis", SYMPTOM),
    Question("Summarise what the notes say about Flibberflamius Extremus.", "Flibberflamius Extremus", TREATMENT),
    Question("What is the capital of France?"),
    Question(
        "And which symptoms does that disease have?",
        "Zonkitis",
        SYMPTOM,
        after="What is the treatment for Zonkitis?",
    ),
    Question("Welche Behandlung gibt es bei Snurflaxitis?", "Snurflaxitis", TREATMENT),
    Question("Which of my patients have been treated by Dr Keller?"),
    Question("What helps against Burpdynia?", "Burpdynia", TREATMENT),
    Question("Which treatment do patients with Nerdledonsosis get?", "Nerdledonsosis", TREATMENT),
    Question("How is Snurflotron treated?", "Snurflotron", TREATMENT),
    Question("What do doctors prescribe for Snizzlejerk Fever?", "Snizzlejerk Fever", TREATMENT),
    Question("Which drugs are given against Zonkitis?", "Zonkitis", TREATMENT),
    Question("Name one symptom of Burpdynia.", "Burpdynia", SYMPTOM),
    Question("What do patients with Schnitzelploxia complain about?", "Schnitzelploxia", SYMPTOM),
    Question("I have vision blurring, dizzy spells and inflamed eyes. What is the disease?", right="Nerdledonsosis"),
    Question("Which disease causes nose twitching and bluish lips?", right="Snurflesauce Overdosis"),
    Question(
        "A patient has feverish rash and itchy eyes. What should the doctor prescribe?", "Snizzlejerk Fever", TREATMENT
    ),
    Question("Does Snurflesickness cause fatigue?", right="yes"),
    Question("Is Burpdynia treated with Blergonade Shots?", right="no"),
    Question("Is Zonkitis contagious?", right="not said"),
    Question("What dose of Blergonade Shots is given?"),
    Question("In which year was Flumplenaxosis discovered?"),
    Question("How common is Schnitzelploxia?", "Schnitzelploxia", SHARE),
    Question("Which symptoms does Snurflesickness have?", "Snurflesickness", SYMPTOM),
    Question("Who suffers from Burpdynia?"),
    Question("Quel est le traitement du Burpdynia ?", "Burpdynia", TREATMENT),
    Question(
        "What about Flumplenookitis?",
        "Flumplenookitis",
        SYMPTOM,
        after="Which symptoms does Snurflesickness have?",
    ),
)


def right_answers(folder: Path, question: Question) -> list[str]:
    """What the answer should hold one of."""
    if question.right in (COUNT, SHARE):
        return []
    if question.right not in (TREATMENT, SYMPTOM):
        return [question.right] if question.right else []
    lines = (folder / "questions.jsonl").read_text(encoding="utf-8").splitlines()
    known = (json.loads(line) for line in lines)
    return next(
        [str(answer) for answer in one["answers"]]
        for one in known
        if one["kind"] == question.right and one["meta"]["disease"] == question.disease
    )


def true_number(folder: Path, question: Question) -> float | None:
    """The true count or share that a question asks for; None if it asks for none."""
    if question.right not in (COUNT, SHARE):
        return None
    lines = (folder / "documents.jsonl").read_text(encoding="utf-8").splitlines()
    diseases = [json.loads(line)["meta"]["disease"] for line in lines]
    found = diseases.count(question.disease)
    return found / len(diseases) if question.right == SHARE else float(found)


def verdict(said: dict[str, Any], right: Sequence[str], number: float | None = None) -> str:
    """What an answer is worth, as `discreet ask --json` says it."""
    if number is not None and said.get("table"):
        first = said["table"][0]
        return "useful" if first["low"] <= number <= first["high"] else "wrong"
    if "error" in said:
        return "refused" if said["error"] == "CannotAnswer" else str(said["error"])
    if said["answer"] is None:
        return "no answer"
    if said["stopped"] == "public":
        return "invention"
    held = _words(str(said["answer"]))
    return "useful" if any(f" {_words(one)} " in f" {held} " for one in right) else "wrong"


def _words(text: str) -> str:
    return " ".join("".join(letter if letter.isalnum() else " " for letter in text.casefold()).split())


def asked(vault: Path, questions: Sequence[Question]) -> Iterator[dict[str, Any]]:
    """What is said to each: those without options by one program, which loads the model once."""
    plain = [question for question in questions if not _options(question)]
    answers = iter(_run(vault, [question.text for question in plain]))
    for question in questions:
        if options := _options(question):
            yield from _run(vault, [question.text], options)
        else:
            yield next(answers)


def _options(question: Question) -> list[str]:
    choices = [word for choice in question.choices for word in ("--choice", choice)]
    return choices + (["--after", question.after] if question.after else [])


def _run(vault: Path, texts: Sequence[str], options: Sequence[str] = ()) -> Iterator[dict[str, Any]]:
    if not texts:
        return
    program = [sys.executable, "-m", "discreet", "ask", str(vault), *texts, *options, "--json"]
    with subprocess.Popen(program, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as started:
        assert started.stdout is not None
        for line in started.stdout:
            yield json.loads(line)


def prepared(folder: Path, data: Path, model: str | None = None) -> Path:
    """The vault, made if it is not there."""
    if not folder.exists():
        Vault.create(folder, epsilon=20, delta=1e-6, model=model_name(model)).add(data / "documents.jsonl")
        Vault.open(folder).read()
    return folder


def run_once(vault: Path, data: Path, numbers: Sequence[int]) -> Iterator[tuple[int, str, dict[str, Any]]]:
    """Ask a copy of the vault. Yield the number of each question, its verdict, and what was said."""
    chosen = [QUESTIONS[number - 1] for number in numbers]
    with tempfile.TemporaryDirectory() as made:
        copy = Path(shutil.copytree(vault, Path(made) / "v"))
        for number, question, said in zip(numbers, chosen, asked(copy, chosen), strict=True):
            yield number, verdict(said, right_answers(data, question), true_number(data, question)), said


def main() -> None:
    """Print what became of each question, and how many of each in every run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--vault", type=Path)
    parser.add_argument("--only", type=int, nargs="+", help="the numbers of the questions to ask")
    parser.add_argument("--runs", type=int, default=1, help="so many times, each with other noise")
    add_csv_option(parser)
    add_model_option(parser)
    given = parser.parse_args()
    numbers = given.only or range(1, len(QUESTIONS) + 1)
    verdicts: dict[int, list[str]] = {number: [] for number in numbers}
    paid: dict[int, float] = {}
    with tempfile.TemporaryDirectory() as made:
        vault = prepared(given.vault or Path(made) / "v", given.data, given.model)
        for _ in range(given.runs):
            counts: Counter[str] = Counter()
            for number, found, said in run_once(vault, given.data, numbers):
                verdicts[number].append(found)
                counts[found] += 1
                paid[number] = max(paid.get(number, 0.0), (said.get("receipt") or {}).get("epsilon", 0.0))
                text = " / ".join(str(said.get("message") or said.get("answer") or "").split("\n"))
                print(f"{number}. {QUESTIONS[number - 1].text} - {found}: {text}", file=sys.stderr, flush=True)
            print(", ".join(f"{count} {name}" for name, count in counts.most_common()), flush=True)
    rows = [
        [str(number), _whole(QUESTIONS[number - 1]), _counted(verdicts[number]), f"{paid[number]:.2f}"]
        for number in numbers
    ]
    write_table(["number", "question", "verdicts", "most epsilon"], rows, given.csv)


def _whole(question: Question) -> str:
    return f"{question.text} (after: {question.after})" if question.after else question.text


def _counted(verdicts: Sequence[str]) -> str:
    return ", ".join(f"{count} {name}" for name, count in Counter(verdicts).most_common())


if __name__ == "__main__":
    main()

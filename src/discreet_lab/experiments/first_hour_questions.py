"""The questions of an analyst: answered usefully, refused unpaid, or answered by a false number."""

import argparse
import csv
import json
import os
import re
import shlex
import shutil
import socket
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from discreet.cli.kinds import Chooser
from discreet.demo.corpus import documents
from discreet.errors import DiscreetError
from discreet.vault import Vault
from discreet_lab.experiments.catalogue import ROOT
from discreet_lab.experiments.common import TableWriter, add_csv_option, add_model_option, model_name, write_table

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


def ask_questions(parser: argparse.ArgumentParser, arguments: Sequence[str]) -> None:
    """Thirty questions of an analyst: useful, honestly refused, honestly without an answer, wrong, or an invention.

    Makes a vault of 1,000 notes with the default embedder, model and algorithm and epsilon 20, in a folder that is
    removed at the end (or kept in --vault), reads it, and asks as an analyst does: `discreet ask --json`. Each run
    asks a copy of the vault, with other noise. The first ten questions are those of the first analyst who tried it.
    What is right is taken from the data set's own questions.

    useful     the answer holds what is right
    refused    said from the question alone that it cannot be answered yet; nothing was paid
    no answer  nothing was released, and no text stands in its place
    wrong      something was released that does not hold what is right
    invention  nothing was released, and a text stands in its place
    """
    parser.add_argument("data", type=Path)
    parser.add_argument("--vault", type=Path)
    parser.add_argument("--only", type=int, nargs="+", help="the numbers of the questions to ask")
    parser.add_argument("--runs", type=int, default=1, help="so many times, each with other noise")
    add_csv_option(parser)
    add_model_option(parser)
    given = parser.parse_args(arguments)
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


TO_REFUSE = {
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


def count_refusals(parser: argparse.ArgumentParser, arguments: Sequence[str]) -> None:
    """Questions of an analyst that should be refused before anything is paid: about one individual, or too fine.

    The questions were written before the rules were run on them. 11 of 15 and 4 of 10 were refused then, and rules
    for days and for "by ..." were added. A vault of the demonstration's notes is asked by the rules of `discreet
    ask`. A question that is not refused is answered as safely as any other: the refusal is a courtesy, and no part
    of the guarantee.
    """
    add_csv_option(parser)
    given = parser.parse_args(arguments)
    refused: Counter[str] = Counter()
    passed: dict[str, list[str]] = {kind: [] for kind in TO_REFUSE}
    with tempfile.TemporaryDirectory() as folder:
        vault = Vault.create(Path(folder) / "v", epsilon=20.0, delta=1e-6, embedder="hashing", unit_field="patient")
        vault.add_documents(documents(100))
        chooser = Chooser(vault, "", (), {})
        for kind, questions in TO_REFUSE.items():
            for question in questions:
                try:
                    chooser.check(question)
                except DiscreetError:
                    refused[kind] += 1
                else:
                    passed[kind].append(question)
        assert not vault.ledger.questions()
    table = TableWriter("kind,questions,refused,not refused".split(","), given.csv)
    for kind, questions in TO_REFUSE.items():
        table.write([kind, str(len(questions)), str(refused[kind]), " ".join(passed[kind]) or "-"])


INPUT = """
near 200    ask one "How many patients have Winter Hand or Glass Knee?"
near 100    ask one "How many patients have numb thumbs and a weak grip?"
near 200    ask one "How many patients have either Winter Hand or Glass Knee?"
refused     ask one "How many patients have Winter Hand/Glass Knee?"
near 100    ask one "How many patients have Winter Hand & numb thumbs?"
near 0      ask one "How many patients are HIV+?"
refused     ask one "How many patients have CD4 < 200?"
near 100    ask one "How many patients have hepatitis A?"
near 0      ask one "How many patients are on dialysis?"
near 0      ask one "How many patients had fever before surgery?"
refused     ask one "How many patients had numb thumbs in March?"
near 50     ask one "How many patients had numb thumbs in January 2026?"
refused     ask one "How many patients have Winter Hand and what do they take for it?"
near 67     ask one "What share of patients have Winter Hand or Glass Knee?"
refused     ask one "How many women have Winter Hand?"
refused     ask one "How many patients have diabtes?"
near 100    ask one "How many patients have Winter Hand?" --where "date<=2026"
near 50     ask one "How many patients have Winter Hand?" --where "date=2026-01"
near 50     ask one "How many patients have Winter Hand?" --where sex=w
near 100    ask one "How many patients have Winter Hand?"
near 0      ask two "How many patients have fever?" --where month=6
near 0      ask two "How many patients have a rash?" --where month=1
near 0      ask two "How many patients have a rash?" --where "date>=2026-02-01" --where "date<=2026-05-31"
refused     ask one "What is the average satisfaction?" --kind fact
refused     ask one "What share of patients have Winter Hand?" --kind fact
refused     ask one "How often do patients have Winter Hand?" --kind fact
refused     ask one "What is the main problem?"
refused     ask one "What is the worst symptom?"
refused     ask one "Does Mr Keller have Winter Hand?"
near 100    ask spent "How many patients have Winter Hand?" --anew --epsilon 4
near 100    ask spent "How many patients have Winter Hand?" --anew --epsilon 4
exhausted   ask spent "How many patients have Winter Hand?" --anew --epsilon 4
near 22     ask denied "How many patients have nausea?"
refused     serve one --port 8931
noted "300 added" add joined notes.csv --text-field note --text-field sex
"""
TESTS: tuple[str, ...] = ("tests/guarantee/server/test_clocks.py",)
"""The clocks, the desk and what else no command line shows."""
_NEAR, _LONGEST = 15, 120.0
_FIELDS = ("--field", "sex:category", "--field", "date:date", "--field", "month:number")


@dataclass(frozen=True)
class Line:
    """A line of the input: what must come of it, and the arguments of `discreet`."""

    wanted: str
    arguments: tuple[str, ...]


def read_input() -> Iterator[Line]:
    """Yield the lines of the input."""
    for text in INPUT.strip().splitlines():
        wanted, command = re.split(r"\s+(?=ask |serve |add )", text, maxsplit=1)
        yield Line(wanted.strip(), tuple(shlex.split(command)))


class Run:
    """The lines of the input, run with the sources of one commit in a folder of its own."""

    def __init__(self, sources: Path, folder: Path) -> None:
        self._folder = folder
        self._environment = {**os.environ, "PYTHONPATH": str(sources), "COLUMNS": "200", "DISCREET_QUIET": "1"}
        write_files(folder)
        for vault, grant in {"one": 100, "two": 100, "spent": 8.5, "denied": 100, "joined": 20}.items():
            self._call(
                *("init", vault, "--epsilon", grant, "--delta", 1e-6, "--unit-field", "patient", "--force"),
                *("--embedder", "hashing", *_FIELDS),
            )
        for vault, file in {"one": "notes", "two": "visits", "spent": "notes", "denied": "denials"}.items():
            self._call("add", vault, f"{file}.csv", "--text-field", "note")

    def look(self, line: Line) -> tuple[str, bool]:
        """Return the beginning of what a line prints, and whether that is as it should be."""
        vault = line.arguments[1]
        before = self._entries(vault)
        with socket.socket() as taken:
            if line.arguments[0] == "serve":
                taken.bind(("127.0.0.1", 8931))
                taken.listen()
            try:
                done = self._call(*line.arguments)
            except subprocess.TimeoutExpired:
                return f"(no answer within {_LONGEST:g} s)", False
        said = f"{done.stdout}\n{done.stderr}"
        shown = " ".join((done.stdout.strip() or done.stderr.strip()).split())
        if line.wanted in ("refused", "exhausted"):
            fine = (
                done.returncode == (2 if line.wanted == "refused" else 3)
                and self._entries(vault) == before
                and "Ready" not in said
            )
        elif line.wanted.startswith("near "):
            number = re.match(r"About (\d+)", done.stdout)
            fine = number is not None and abs(int(number[1]) - int(line.wanted.split()[1])) <= _NEAR
        else:
            fine = done.returncode == 0 and line.wanted.split('"')[1] in said
        return shown, fine

    def _entries(self, vault: str) -> str:
        return self._call("ledger", vault, "--json").stdout

    def _call(self, *arguments: object) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [sys.executable, "-m", "discreet", *map(str, arguments)],
            cwd=self._folder,
            env=self._environment,
            capture_output=True,
            text=True,
            timeout=_LONGEST,
        )


def write_files(folder: Path) -> None:
    """Write the files of the hospital."""
    said = ("Winter Hand with white hands, numb thumbs and a weak grip", "Glass Knee with a sharp pain", "a cold")
    notes = [
        (
            f"P{number:03d}",
            "wm"[number % 2],
            f"2026-{number % 6 + 1:02d}-15",
            number % 6 + 1,
            f"The patient has {said[number % 3]}. HIV-. CD4 {150 + number}. Hepatitis {'ABC'[number % 3]} was seen.",
        )
        for number in range(300)
    ]
    visits = [
        (f"P{number:03d}", "w", f"2026-{month:02d}-15", month, f"The patient has {what}.")
        for number in range(100)
        for month, what in ((1, "fever"), (6, "a rash"))
    ]
    denials = [
        (f"P{number:03d}", "w", "2026-01-15", 1, "Nausea since Monday." if number < 22 else "Denies nausea. A cough.")
        for number in range(200)
    ]
    for name, rows in (("notes", notes), ("visits", visits), ("denials", denials)):
        with (folder / f"{name}.csv").open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(("patient", "sex", "date", "month", "note"))
            writer.writerows(rows)


def ask_before_and_now(parser: argparse.ArgumentParser, arguments: Sequence[str]) -> int:
    """Questions whose answers were false numbers, asked before and now: what is not understood is refused unpaid.

    Each line of `INPUT` is a command line, typed by an analyst or a custodian of a small made-up hospital: 300
    patients with one note each (`one`), 100 patients with two notes each (`two`), and 200 of whom most deny nausea
    (`denied`). A line runs with the sources of the commit `--before` and with those of this checkout, each in a
    folder of its own. The script shows the beginning of what each printed. It ends with 1 if a line that must be
    refused is paid now, or if a number is printed where none may be, or none where one must be.

    refused   the command ends with an error, and the ledger of the vault has no new entry
    exhausted the same with exit code 3: earlier questions may have used up the grant of all
    noted     a number is printed, and so is the note in quotes
    near N    the number that is printed is at most 15 from N

    Tests at the end compare the clocks, and what else no command line shows.
    """
    parser.add_argument("--before", default="26ea044", help="a commit; empty for none")
    parser.add_argument("--only", default="", help="only lines with this word")
    parser.add_argument("--width", type=int, default=100, help="characters of an output that are shown")
    given = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        lines = [line for line in read_input() if given.only in " ".join((line.wanted, *line.arguments))]
        sources = {"now": ROOT / "src"}
        if given.before:
            tree = folder / "tree"
            subprocess.run(["git", "worktree", "add", "-q", "--detach", str(tree), given.before], cwd=ROOT, check=True)
            sources = {"before": tree / "src", **sources}
        try:
            wrong = compare(lines, sources, folder, given.width) if lines else 0
        finally:
            if given.before:
                subprocess.run(["git", "worktree", "remove", "--force", str(tree)], cwd=ROOT, check=False)
    print(f"{wrong} of {len(lines)} lines are not as they should be. The other cases have tests:", flush=True)
    return subprocess.call([sys.executable, "-m", "pytest", *TESTS], cwd=ROOT) or int(wrong > 0)


def compare(lines: list[Line], sources: dict[str, Path], folder: Path, width: int) -> int:
    """Print what each line prints with each of the sources. Return the number of lines that are wrong now."""
    runs = {}
    for name, path in sources.items():
        (folder / name).mkdir()
        runs[name] = Run(path, folder / name)
    wrong = 0
    for line in lines:
        print(f"\n{shlex.join(('discreet', *line.arguments))}   [{line.wanted}]", flush=True)
        for name, run in runs.items():
            shown, fine = run.look(line)
            print(f"  {name:7} {'ok   ' if fine else 'WRONG'} {shown[:width]}", flush=True)
        wrong += not fine
    return wrong

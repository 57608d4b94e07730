"""The first hour of a custodian and an analyst, step by step."""

import argparse
import csv
import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.reading import samples

DISCREET = [sys.executable, "-m", "discreet"]
TELLING = ("added", "unchanged", "units", "bad", "answer", "people", "epsilon", "released")
"""What is shown of an output that is JSON."""


@dataclass(frozen=True)
class Outcome:
    """What a command did."""

    code: int
    out: str
    err: str
    cpu: float

    @property
    def said(self) -> str:
        """All that it printed."""
        return f"{self.out}\n{self.err}"

    @property
    def content(self) -> dict[str, object]:
        """The JSON object that it printed; nothing if it printed none."""
        try:
            found: dict[str, object] = json.loads(self.out.strip().splitlines()[-1])
        except (ValueError, IndexError):
            return {}
        return found


@dataclass(frozen=True)
class Step:
    """One thing that a new user tries.

    Attributes:
        tried: what.
        before: what happened at commit 85b4be3.
        commands: arguments of `discreet`, one command after the other; the last one is looked at.
        good: whether the outcome is as it should be.
        slow: whether it needs the packaged models.
        entered: what is typed on standard input.
        times: how often the last command runs at the same moment; their outputs are looked at together.
        broken_off: after so many seconds Ctrl-C is pressed; never if 0.
        measured: the benchmark that measures it, and the page with its figures; nothing is run here.
    """

    tried: str
    before: str
    commands: Sequence[Sequence[object]]
    good: Callable[[Outcome], bool]
    slow: bool = False
    entered: str = ""
    times: int = 1
    broken_off: float = 0.0
    measured: str = ""


def run(folder: Path, step: Step, arguments: Sequence[object]) -> Outcome:
    """Run one command in `folder`: of `discreet`, or of Python if it begins with -c; as often as the step says."""
    program = [sys.executable] if arguments[0] == "-c" else DISCREET
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    started = [
        subprocess.Popen(
            [*program, *map(str, arguments)],
            cwd=folder,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=os.environ | {"HF_HUB_OFFLINE": "1", "COLUMNS": "200"},
        )
        for _ in range(step.times)
    ]
    if step.broken_off:
        time.sleep(step.broken_off)
        started[0].send_signal(signal.SIGINT)
    printed = [one.communicate(step.entered) for one in started]
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    code = max(one.returncode for one in started)
    return Outcome(code, "".join(out for out, _ in printed), "".join(err for _, err in printed), cpu)


def paid(one: Outcome) -> list[float]:
    """What each answer that was printed as JSON cost, epsilon."""
    answers = [json.loads(line) for line in one.out.splitlines() if line.startswith("{")]
    return [float(answer["receipt"]["epsilon"]) for answer in answers if answer.get("receipt")]


def shown(folder: Path, step: Step, width: int) -> bool:
    """Run a step, and print its row, so many characters of the output; whether it is as it should be."""
    if step.measured:
        print(f"| {step.tried} | {step.before} | see {step.measured} | | | |", flush=True)
        return True
    *before, last = step.commands
    for command in before:
        run(folder, Step(step.tried, "", [], step.good), command)
    one = run(folder, step, last)
    fine = step.good(one)
    said = beginning(one, width)
    verdict = "ok" if fine else "**NOT AS IT SHOULD BE**"
    print(f"| {step.tried} | {step.before} | {said} | {one.code} | {one.cpu:.1f} | {verdict} |", flush=True)
    return fine


def beginning(one: Outcome, width: int) -> str:
    """What is most telling of an output: the figures of JSON, or the first line, of errors before the rest."""
    if one.content:
        told = {name: value for name, value in one.content.items() if name in TELLING}
        return _cut(", ".join(f"{name} {json.dumps(value)}" for name, value in told.items()), width)
    every = [line.strip() for line in (one.err + "\n" + one.out).splitlines() if line.strip()]
    lines = [line for line in every if not line.endswith((" so far", " left"))]  # progress
    return _cut(lines[0] if lines else "", width)


def _cut(text: str, width: int) -> str:
    plain = text.replace("|", "/")
    return plain if len(plain) <= width else f"{plain[:width].rsplit(' ', 1)[0]} ..."


PATIENTS, NOTES, TEXTS = 250, 500, 20
SOON = 1.0
"""CPU seconds: half of one is the aim, and an old machine is given twice that."""
IN_A_THREAD = """
import threading
from discreet import Vault
from discreet.generation.toy import ToyModel
vault = Vault.open("a")
vault.model, said = ToyModel("Stable continue .".split()), []
thread = threading.Thread(target=lambda: said.append(vault.ask("What was seen?")))
thread.start()
thread.join()
print("answered" if said else "not answered")
"""


def write_files(folder: Path) -> None:
    """The files that a custodian has."""
    texts = [f"Seen in March. Numb thumbs, week {week}. Stable, continue." for week in range(TEXTS)]
    rows = [
        (f"P{number % PATIENTS:04d}", f"2026-03-{1 + number % 28:02d}", texts[number % TEXTS])
        for number in range(NOTES)
    ]
    _write_csv(folder / "export.csv", ("patient_id", "note_date", "note"), rows)
    _write_csv(folder / "german.csv", ("patient_id", "note_date", "note"), rows[:50], delimiter=";", encoding="latin-1")
    _write_csv(folder / "erased.csv", ("patient_id", "note_date", "note"), rows[:20])
    _write_csv(folder / "spellings.csv", ("patient_id", "note"), [
        *(("Ada Weiß", "Numb thumbs."), ("ADA WEISS", "White hands."), ("Ada\u200b Weiß", "Weak grip.")),
        *(("7", "Cough."), ("7.0", "Fever."), ("Μαΐα Ρούσου", "Chills."), ("Μαΐα Ρούσου".upper(), "Rash.")),
    ])  # fmt: skip
    letters = folder / "letters"
    letters.mkdir(exist_ok=True)
    for number in range(30):
        name = f"{('adler_ada', 'baum_bo', 'cerny_cy')[number % 3]}_2026-03-{1 + number // 3:02d}.txt"
        (letters / name).write_text(f"Dear colleague, numb thumbs, letter {number}. Kind regards.")
    mixed = folder / "mixed"
    mixed.mkdir(exist_ok=True)
    for number in range(5):
        (mixed / f"p{number}.txt").write_text(f"Numb thumbs, text {number}.")
    (mixed / "sound.pdf").write_bytes(samples.pdf("Numb thumbs, in a PDF."))
    (mixed / "sound.docx").write_bytes(samples.docx("Numb thumbs, in a DOCX."))
    (mixed / "scan.pdf").write_bytes(b"%PDF-1.4 broken")
    (mixed / "photo.heic").write_bytes(b"\x00\x00\x00 ftypheic")


def _write_csv(
    path: Path, header: Sequence[str], rows: Sequence[Sequence[str]], *, delimiter: str = ",", encoding: str = "utf-8"
) -> None:
    with path.open("w", newline="", encoding=encoding) as file:
        writer = csv.writer(file, delimiter=delimiter)
        writer.writerow(header)
        writer.writerows(rows)


def vault(name: str, *options: object) -> tuple[object, ...]:
    """The command that makes a vault."""
    grant = ("--epsilon", 20, "--delta", 1e-6, "--embedder", "hashing", "--unit-field", "patient_id")
    return ("init", name, *grant, *options)


def steps() -> list[Step]:
    """All steps, in the order of the table in which they were found."""
    add = ("--text-field", "note", "--yes")
    refused = "refused, in words"
    return [
        Step(
            "discreet --help",
            "1.0 s of CPU",
            [("--help",)],
            lambda one: one.code == 0 and one.cpu < 0.4,
        ),
        Step(
            "a CSV of 500 notes of 250 patients, without ids",
            "20 documents stored, 480 refused",
            [vault("a"), ("add", "a", "export.csv", *add, "--json")],
            lambda one: one.code == 0 and one.content.get("added") == NOTES and one.content.get("units") == PATIENTS,
        ),
        Step(
            "the same file again",
            "480 refused",
            [("add", "a", "export.csv", *add, "--json")],
            lambda one: one.code == 0 and one.content.get("unchanged") == NOTES,
        ),
        Step(
            "the unit field is not in the file",
            "exit 0 and a note; every row is a person of its own",
            [
                ("init", "b", "--epsilon", 20, "--delta", 1e-6, "--embedder", "hashing"),
                ("add", "b", "export.csv", *add),
            ],
            lambda one: one.code in (2, 4) and "patient_id" in one.said,
        ),
        Step(
            "a wrong but existing column as unit",
            "accepted without a word",
            [vault("c"), ("add", "c", "export.csv", *add, "--unit-field", "note_date")],
            lambda one: "patient_id" in one.said and "note_date" in one.said,
        ),
        Step(
            "undo of that, and the right column",
            "every record refused; no undo",
            [("undo", "c", 1, "--yes"), ("add", "c", "export.csv", *add, "--json")],
            lambda one: one.code == 0 and one.content.get("added") == NOTES,
        ),
        Step(
            "a folder with a PDF, a DOCX, a broken PDF and a photograph among texts",
            "'30 added', exit 0; both skipped in silence",
            [vault("d"), ("add", "d", "mixed", "--each-file-a-unit", "--yes", "--json")],
            lambda one: one.code == 4
            and one.content.get("added") == 7
            and all(name in str(one.content["bad"]) for name in ("scan.pdf", "photo.heic")),
        ),
        Step(
            "several letters of one patient as files, without saying whose they are",
            "each file is a person with a budget of its own",
            [vault("e"), ("add", "e", "letters", "--yes")],
            lambda one: one.code == 2 and "--unit-from" in one.said,
        ),
        Step(
            "the same, with a pattern",
            "not possible",
            [("add", "e", "letters", "--unit-from", "{unit}_*.txt", "--yes", "--json")],
            lambda one: one.code == 0 and one.content.get("units") == 3,
        ),
        Step(
            "a patient erased on request, next week's export added",
            "the patient is back, nothing is said",
            [("remove", "a", "--unit", "P0007"), ("add", "a", "erased.csv", *add, "--json")],
            lambda one: one.code == 4 and one.content.get("added") == 0 and "P0007" in str(one.content["bad"]).upper(),
        ),
        Step(
            "what was erased, for the patient",
            "no such command",
            [("erasure-report", "a", "--unit", "P0007")],
            lambda one: one.code == 0 and "erased on 2" in one.said.lower(),
        ),
        Step(
            "asking an empty vault",
            "minutes of model work, an answer without documents, a receipt of epsilon 2, exit 0",
            [vault("empty"), ("ask", "empty", "What helps against numb thumbs?")],
            lambda one: one.code == 2 and "add" in one.said and one.cpu < SOON,
        ),
        Step(
            "init with delta 0.5",
            "the vault is made, for good",
            [("init", "f", "--epsilon", 2, "--delta", 0.5, "--embedder", "hashing")],
            lambda one: one.code == 2,
        ),
        Step(
            "init with a model that does not exist",
            "the vault is made, for good",
            [vault("g", "--model", "mistralai/Mistral-7B")],
            lambda one: one.code == 2 and one.cpu < SOON,
        ),
        Step(
            "init at an epsilon at which no question can be answered",
            "the vault is made, for good",
            [("init", "h", "--epsilon", 0.5, "--delta", 1e-6, "--embedder", "hashing")],
            lambda one: one.code == 2,
        ),
        Step(
            "init without numbers, not on a terminal",
            "Missing option '--epsilon'; no hint what to choose",
            [("init", "i")],
            lambda one: one.code == 2 and "discreet plan" in one.said,
        ),
        Step(
            "one person in several spellings, one number in two",
            "seven units, seven budgets",
            [vault("j"), ("add", "j", "spellings.csv", *add, "--json")],
            lambda one: one.content.get("units") == 3,
        ),
        Step(
            "a German spreadsheet's CSV (semicolons, Latin-1)",
            "no column 'note' in its first line",
            [vault("k"), ("add", "k", "german.csv", *add, "--json")],
            lambda one: one.code == 0 and one.content.get("added") == 50,
        ),
        Step(
            "records on standard input",
            "not possible",
            [vault("l"), ("add", "l", "-", "--yes", "--json")],
            lambda one: one.code == 0 and one.content.get("added") == 2,
            entered='{"patient_id": "P1", "text": "Cough."}\n{"patient_id": "P2", "text": "Fever."}\n',
        ),
        Step(
            "a file that does not exist",
            f"{refused} after 34 seconds",
            [("add", "a", "nope.csv")],
            lambda one: one.code == 2 and one.cpu < SOON,
        ),
        Step(
            "a missing column",
            "after 31 seconds; the columns that there are not named",
            [("add", "a", "export.csv", "--yes")],
            lambda one: one.code in (2, 4) and "note_date" in one.said and one.cpu < SOON,
        ),
        Step(
            "a question that is too dear",
            f"{refused} after 19 seconds",
            [("ask", "a", "What helps against numb thumbs?", "--epsilon", 50)],
            lambda one: one.code == 3 and one.cpu < SOON,
        ),
        Step(
            "a price that is too low",
            "the answer is on another scale than the question",
            [("ask", "a", "What helps against numb thumbs?", "--epsilon", 0.7)],
            lambda one: one.code in (2, 3) and "It takes" in one.said and one.cpu < SOON,
        ),
        Step(
            "a baseline that has no guarantee",
            "refused",
            [("ask", "a", "What helps against numb thumbs?", "--algorithm", "rag")],
            lambda one: one.code == 2 and "--not-private" in one.said and one.cpu < SOON,
        ),
        Step(
            "a misspelt vault",
            "an invitation to make a wrong one",
            [("add", "leters", "export.csv"), ("budget", "emtpy")],
            lambda one: one.code == 2 and "empty" in one.said,
        ),
        *(
            Step(
                f"a question that cannot be answered: {question}",
                happened,
                [("ask", "a", question)],
                lambda one: one.code == 2 and "--anyway" in one.said and one.cpu < SOON,
            )
            for question, happened in (
                ("List the symptoms of Zonkitis.", "the prompt's own examples, 2.5 paid"),
                ("And which symptoms does that disease have?", "the prompt's own example, 2.5 paid"),
                ("Which of my patients have been treated by Dr Keller?", "an invention as 'answer' in JSON, 2.5 paid"),
            )
        ),
        *(
            Step(
                f"a question that was not understood: {question}",
                happened,
                [("ask", "a", question, "--plan")],
                lambda one: one.code == 0 and "Kind:" in one.said and one.cpu < SOON,
            )
            for question, happened in (
                ("How many patients have Zonkitis?", "'One patient has Zonkitis' (true: 83), 2.5 paid"),
                ("Welche Behandlung gibt es bei Snurflaxitis?", "'The answer is not snurflaxitis.', 2.5 paid"),
            )
        ),
        Step(
            "what a grant pays for, before a vault is made",
            "no such command",
            [("plan", "--people", 5000, "--epsilon", 8, "--json")],
            lambda one: one.code == 0,
        ),
        Step("a look at the vault's health", "no such command", [("doctor", "a")], lambda one: one.code == 0),
        Step(
            "a copy, restored and used",
            "cp -r, and no word on two copies",
            [("backup", "a", "a.tar.gz"), ("restore", "a.tar.gz", "a2"), ("budget", "a2")],
            lambda one: one.code == 0,
        ),
        Step(
            "a report for the one who signs",
            "no such command",
            [("report", "a", "--out", "dpo.html")],
            lambda one: one.code == 0,
        ),
        Step(
            "Vault.ask from another thread (the toy model)",
            "'restore the vault from a copy'",
            [("-c", IN_A_THREAD)],
            lambda one: one.code == 0 and one.out == "answered\n",
        ),
        Step(
            "a vault whose ledger is gone",
            "refused",
            [("-c", "import os; os.remove('a2/ledger.sqlite')"), ("ask", "a2", "What helps against numb thumbs?")],
            lambda one: one.code in (1, 2, 4) and "ledger" in one.said and one.cpu < SOON,
        ),
        Step(
            "how long murag-ada takes if all relevant units have used up their budget",
            "2.3 s with 2,000 such units, 0.34 s with none",
            [],
            lambda _: True,
            measured="side-channels time --used-up, privacy.md",
        ),
        Step(
            "ten questions of an analyst, and twenty more",
            "two useful answers; five inventions in the place of an answer",
            [],
            lambda _: True,
            measured="first-hour questions",
        ),
        Step(
            "a question about which too few agree",
            "the public model's invention in the place of an answer",
            [("ask", "a", "What is the treatment for Wernicke's rash?", "--json")],
            lambda one: one.code == 0 and one.content.get("answer") is None,
            slow=True,
        ),
        Step(
            "the same question again",
            "paid again; if there was an answer, free after 10 seconds",
            [("ask", "a", "What is the treatment for Wernicke's rash?", "--json")],
            lambda one: one.code == 0 and one.cpu < SOON and paid(one) == [0.0],
            slow=True,
        ),
        Step(
            "three identical questions at the same moment",
            "paid three times",
            [("ask", "a", "What is said of week 3?", "--json")],
            lambda one: one.code == 0 and len(paid(one)) == 3 and sum(cost > 0 for cost in paid(one)) == 1,
            slow=True,
            times=3,
        ),
        Step(
            "Ctrl-C while voters are asked",
            "exit 1, and no word on what was paid",
            [("ask", "a", "What is said of week 4?")],
            lambda one: one.code == 130 and "paid" in one.said,
            slow=True,
            broken_off=8.0,
        ),
    ]  # fmt: skip


def try_steps(parser: argparse.ArgumentParser, arguments: Sequence[str]) -> int:
    """The first hour of a custodian and an analyst, step by step: what happens now where it went wrong once.

    Runs each step as its user would, on the command line, in a new folder, and prints a Markdown table: what was
    tried, what version 0.1.0 did at commit 85b4be3, what happens now (the beginning of the output), the exit code,
    the CPU seconds that the step took (user and system, of all processes: other work on the machine hardly changes
    them), and whether it is as it should be. Exits with 1 if one is not. Steps use the embedder `hashing`; with
    `--model` also those that need the packaged models, which take some minutes. Nothing is seeded: texts and names
    are made up here and always the same; answers of the model are private, so they may differ.
    """
    parser.add_argument("--model", action="store_true", help="also steps that need the packaged models")
    parser.add_argument("--only", default="", help="steps that have this word")
    parser.add_argument("--width", type=int, default=160, help="how many characters of an output are shown")
    parser.add_argument("--folder", type=Path, help="where to work; a temporary folder if not given")
    asked = parser.parse_args(arguments)
    bad = 0
    signal.signal(signal.SIGINT, signal.default_int_handler)  # steps started in the background would not hear of it
    with tempfile.TemporaryDirectory() as made:
        folder = asked.folder or Path(made)
        write_files(folder)
        print("| tried | at 85b4be3 | now | exit | CPU seconds | |\n| --- | --- | --- | --- | --- | --- |")
        for step in steps():
            if asked.only not in step.tried or (step.slow and not asked.model):
                continue
            bad += not shown(folder, step, asked.width)
    print(f"\n{bad} of the steps are not as they should be." if bad else "\nAll steps are as they should be.")
    return bool(bad)

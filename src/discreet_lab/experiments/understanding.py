"""Sixty questions of a new analyst to a clinic: understood, answered usefully, refused, paid for nothing, or wrong."""

import argparse
import math
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from discreet.algorithms.base import Answer
from discreet.cli.ask import complete, turn
from discreet.errors import BudgetExhausted, DiscreetError
from discreet.models.protocol import VotingModel
from discreet.questions.vocabulary import parse_synonyms
from discreet.statistics.statistic import Statistic
from discreet.vault import Vault
from discreet.vault.vault import change_settings
from discreet_lab.experiments.clinic import Clinic, make_clinic
from discreet_lab.experiments.clinic_questions import ClinicQuestion, read_questions, true_numbers
from discreet_lab.experiments.clinic_verdicts import (
    ASKED_BACK,
    MISSES,
    USEFUL,
    VERDICTS,
    WIDE,
    WRONG,
    Judge,
    Said,
    Verdict,
)
from discreet_lab.experiments.common import TableWriter, add_csv_option, name_part, write_table

EPSILON, DELTA, PEOPLE = "10", "1e-6", "340"
FIELDS = (
    "Datum:date",
    "Geschlecht:category(w=women/female patients/Frauen, m=men/male patients/Männer)",
    "Alter:number",
    "Station:category(Nord=north ward, Süd=south ward, Ost=east ward)",
)
GERMAN_DAYS, ISO_DAYS = "%d.%m.%Y", "%Y-%m-%d"
COLUMNS = ("number", "question", "kind", "understood", "result", "epsilon", "verdict", "why")
AGAIN = 4
"""Intervals that seem to miss are drawn so many times as often again: of 40, 1 in 20 right ones miss five by chance."""
FEWER, SLOW = 4, 40
"""Facts are drawn so many times less often, and again those for which a model reads at that moment."""
_CUT = 160


def make_vault(path: Path, clinic: Clinic) -> str:
    """Make the vault of a clinic by the documented commands, and read it. Return the form of dates that was added."""
    declared = [word for one in FIELDS for word in ("--field", one)]
    grant = ["--epsilon", EPSILON, "--delta", DELTA, "--people", PEOPLE]
    _run("init", path, *grant, "--unit-field", "Patientennummer", *declared)
    for day in (GERMAN_DAYS, ISO_DAYS):
        clinic.write_csv(path.with_suffix(".csv"), day)
        added = _run("add", path, path.with_suffix(".csv"), "--text-field", "Notiz", "--yes", check=False)
        if added == 0:
            _run("code", path, "--statements")
            return day
    raise RuntimeError("The vault takes no form of dates of the clinic.")


def _run(*arguments: object, check: bool = True) -> int:
    done = subprocess.run([sys.executable, "-m", "discreet", *map(str, arguments)], check=check, stdout=sys.stderr)
    return done.returncode


@dataclass(frozen=True)
class Session:
    """The questions of one analyst to a copy of a vault.

    Attributes:
        vault: the copy, which is asked.
        other: another copy, in which answers are drawn again.
        clinic: what the notes state.
        draws: how often the interval of each statistic is drawn.
    """

    vault: Vault
    other: Path
    clinic: Clinic
    draws: int

    def ask(self, question: ClinicQuestion) -> tuple[Said, Verdict]:
        """Ask a question, and judge what is said."""
        said, verdict = self._ask(question, question.text)
        if verdict.name == ASKED_BACK and said.error is not None:
            offer = self._judge.right_offer(question, said.error)
            then, found = self._ask(question, offer)
            return replace(then, error=said.error), Verdict(ASKED_BACK, f"then {found.name} {found.why}".strip())
        return said, verdict

    @cached_property
    def _judge(self) -> Judge:
        return Judge(self.clinic, self.vault)

    def _ask(self, question: ClinicQuestion, text: str) -> tuple[Said, Verdict]:
        state, first = self.other.with_name("state"), self.other.with_name("first")
        _copy_state(self.vault.path, state)
        if not first.exists():
            _copy_state(state, first)
        said, text_asked = self._say(text, question.after)
        if said.answer and not said.epsilon and not said.answer.unable:
            state = first  # it repeats or combines what was released when all could pay
        truth, verdict, drawn = true_numbers(self.clinic, question), Verdict(""), list[Answer]()
        for more in (self.draws, AGAIN * self.draws):
            if said.decision and said.answer:
                model = self.vault.model if said.decision.algorithm.spec.needs_model else None
                fact = not isinstance(said.decision.algorithm, Statistic)
                number = more // (SLOW if model else FEWER if fact else 1)
                drawn += self._draw(text_asked, state, model, number, said.answer.unable)
            verdict = self._judge.judge(question, truth, said, drawn)
            if not (verdict.name == WRONG and MISSES in verdict.why):
                break
        return said, verdict

    def _say(self, text: str, after: str) -> tuple[Said, str]:
        """Ask a question as a program does. Return what was said, and the question that stands alone."""
        whole, decision = text, None
        try:
            whole = complete(self.vault, text, [turn("user", after)]) if after else text
            decision = self.vault.decide(whole)
            self.vault.estimate(whole)
            return Said(decision, answer=self.vault.ask(whole)), whole
        except DiscreetError as error:
            return Said(decision, error), whole

    def _draw(
        self, text: str, state: Path, model: VotingModel | None, number: int, unable: int | None
    ) -> Iterator[Answer]:
        """Yield answers from the state before a question.

        A copy of the state serves until its own draws have changed how many units may be unable to pay.
        """
        vault: Vault | None = None
        for _ in range(number):
            answer: Answer | None = None
            if vault is not None:
                with suppress(BudgetExhausted):
                    answer = vault.ask(text, anew=True)
            if answer is None or answer.unable != unable:
                _copy_state(state, self.other)
                vault = Vault.open(self.other, model=model)
                answer = vault.ask(text, anew=True)
            yield answer


def _copy_state(vault: Path, into: Path) -> None:
    """Copy the files that a question changes, and no documents."""
    into.mkdir(exist_ok=True)
    for old in into.iterdir():
        if old.is_file():
            old.unlink()
    for file in vault.iterdir():
        if file.is_file():
            shutil.copy(file, into / file.name)


def ask_clinic(parser: argparse.ArgumentParser, arguments: Sequence[str]) -> None:
    """Sixty questions of a new analyst to a clinic of 340 patients: what is understood, and what an answer is worth.

    Makes a clinic with 1,100 messy notes and a vault of it by the documented commands: init with declared fields and a
    grant of epsilon 10, add, and code --statements by the packaged model. The questions, their right requests and their
    true numbers are in clinic_questions.jsonl; they were written before the product was asked any of them.
    One analyst asks all of them in turn at default prices, so that earlier questions use up grants. Each answer is
    drawn again so many times (`--draws`), in copies of the vault from the moment before the question.

    useful            the request is right, each interval holds the truth, and its half width is at most a quarter of
                      it or ten people; or a right answer; or three of the eight most frequent values of a list
    too wide          the same, but the half width is larger: paid, and little learned
    rightly refused   nothing was paid, and the vault cannot answer it
    asked back        nothing was paid, and a right request was offered; it is asked then
    refused           nothing was paid, and the vault could have answered it
    paid for nothing  nothing was released
    wrong             another thing was counted, or more than 1 of 10 intervals or answers miss; where they seem to,
                      four times as many are drawn again, since 5 of 40 may miss by chance
    invented          what an answer released stands in no record

    A verdict is about all draws: wrong and invented first, else what most of them are. The result is that of the run.
    Facts are answered by the packaged model. Of 40 draws there are 10 where it read before, and 1 where it reads then.
    """
    parser.add_argument("--vault", type=Path, help="a vault of the clinic; made if it is not there")
    parser.add_argument("--synonyms", type=Path, help="a file of synonyms that the vault gets (clinic_synonyms.txt)")
    parser.add_argument("--book", type=Path, help="a codebook by which the vault is coded (clinic_codebook.yaml)")
    parser.add_argument("--draws", type=int, default=40, help="how often each interval is drawn")
    parser.add_argument("--only", type=int, nargs="+", help="the numbers of the questions to ask")
    parser.add_argument("--seed", type=int, default=31, help="the seed of the clinic")
    add_csv_option(parser)
    given = parser.parse_args(arguments)
    clinic = make_clinic(given.seed)
    questions = [one for one in read_questions() if not given.only or one.number in given.only]
    with tempfile.TemporaryDirectory() as made:
        folder = given.vault or Path(made) / "vault"
        if not folder.exists():
            day = make_vault(folder, clinic)
            print(f"Dates were added in the form {day}.", file=sys.stderr)
        if given.synonyms or given.book:
            folder = Path(shutil.copytree(folder, Path(made) / "widened"))
        if given.synonyms:
            change_settings(folder, {}, synonyms=parse_synonyms(given.synonyms.read_text()))
        if given.book:
            _run("code", folder, "--book", given.book)
        own, other = (Path(shutil.copytree(folder, Path(made) / name)) for name in ("own", "other"))
        session = Session(Vault.open(own), other, clinic, given.draws)
        table, results = TableWriter(COLUMNS, given.csv), []
        for question in questions:
            said, verdict = session.ask(question)
            results.append((question, said, verdict))
            table.write(row_of(question, said, verdict))
    print()
    write_table(("what", "number"), total(results), name_part(given.csv, "totals"))


def row_of(question: ClinicQuestion, said: Said, verdict: Verdict) -> list[str]:
    """Return the row of a question."""
    text = f"{question.text} (after: {question.after})" if question.after else question.text
    cells = [text, said.kind, said.echo, said.result, f"{said.epsilon:.2f}", verdict.name, verdict.why]
    return [str(question.number), *(_cell(one) for one in cells)]


def _cell(text: str) -> str:
    plain = " ".join(text.replace("|", "/").split())
    return plain if len(plain) <= _CUT else f"{plain[:_CUT].rsplit(' ', 1)[0]} ..."


def total(asked: Sequence[tuple[ClinicQuestion, Said, Verdict]]) -> list[list[str]]:
    """Return the totals: of each verdict, and what a useful answer costs."""
    counts = Counter(verdict.name for _, _, verdict in asked)
    answerable = [(question, verdict) for question, _, verdict in asked if question.answerable]
    useful = [verdict for _, verdict in answerable if verdict.name == USEFUL]
    back = sum(verdict.name == ASKED_BACK and verdict.why.startswith(f"then {USEFUL}") for *_, verdict in asked)
    wide = sum(verdict.name == WIDE for *_, verdict in asked)
    epsilon = sum(said.epsilon for _, said, _ in asked)
    each = epsilon / counts[USEFUL] if counts[USEFUL] else math.inf
    rows = [["questions", str(len(asked))], ["answerable", str(len(answerable))]]
    rows += [[name, str(counts[name])] for name in VERDICTS]
    missed = sum(verdict.name == WRONG and MISSES in verdict.why for *_, verdict in asked)
    rows += [
        ["wrong: intervals miss", str(missed)],
        ["wrong: another thing", str(counts[WRONG] - missed)],
        ["useful of answerable", f"{len(useful)} of {len(answerable)}"],
        ["understood and answered, useful or too wide", f"{counts[USEFUL] + wide}"],
        ["useful when asked back", str(back)],
        ["epsilon of all receipts", f"{epsilon:.1f}"],
        ["epsilon for each useful answer", f"{each:.2f}"],
    ]
    return rows

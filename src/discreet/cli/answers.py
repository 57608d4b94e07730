"""Questions in turn, and the output of an answer and its receipt: as text, as CSV or as a picture."""

import csv
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from discreet.algorithms.base import Answer, Figure
from discreet.cli.output import doing, err, print_error, print_json, say
from discreet.errors import DiscreetError, Interrupted, UsageError
from discreet.planning.plan import check_plot
from discreet.questions.sentences import NOT_SAID
from discreet.statistics.cells import MAY_LACK
from discreet.system.files import check_output_path
from discreet.system.words import could_not_pay
from discreet.vault import Vault

_OF_A_PHRASE = ("count", "share", "compare")
"""The statistics in which a phrase that no text says gives 0."""


def print_answer(answer: Answer, *, show_public: bool = False, verbose: bool = False) -> None:
    """Print an answer and its cost.

    Args:
        answer: the answer.
        show_public: whether to print the model's answer without documents if nothing was released.
        verbose: whether to print the ledger's details: the reason for the end, mechanisms, payments.
    """
    lacks = MAY_LACK in answer.text
    say(
        "said.txt",
        answer=answer,
        support=asdict(answer.support) if answer.support else None,
        not_said=NOT_SAID,
        may_be_none=answer.algorithm in _OF_A_PHRASE and not lacks and _may_be_none(answer.table),
        unable="" if lacks else could_not_pay(answer.unable),
        show_public=show_public,
        verbose=verbose,
    )
    if not answer.kept:
        err.print(
            "[yellow]Note:[/] the answer could not be written to the history, so asking again charges again. Free disk "
            "space."
        )


def _may_be_none(table: Sequence[Figure]) -> bool:
    """Return whether all numbers of the first one's kind may be 0: the count, or the shares."""
    return all(figure.low <= 0 for figure in table if figure.kind == table[0].kind)


def print_receipt(answer: Answer, *, verbose: bool = False) -> None:
    """Print the cost of an answer; with `verbose`, also the ledger's details."""
    say("paid.txt", answer=answer, verbose=verbose)


COLUMNS = ("name", "kind", "value", "low", "high")
_BAR, _LEAST = 0.4, 1.5
"""The height of a bar, and the least height of a picture, in inches."""


@dataclass(frozen=True)
class TableFiles:
    """The files to which the numbers of an answer are written.

    Attributes:
        csv: a file with one row for each number; None for none.
        plot: a picture: .svg, .png or .pdf; None for none.
    """

    csv: Path | None = None
    plot: Path | None = None

    def check(self, questions: int, vault: Path) -> None:
        """Check the files before anything is paid.

        Raises:
            UsageError: if there are several questions, or a file cannot be written.
            MissingPart: if a picture is wanted and matplotlib is not installed.
        """
        if (self.csv or self.plot) and questions != 1:
            raise UsageError(f"--csv and --plot are for one question, not for {questions}. Ask them one by one.")
        for path in (self.csv, self.plot):
            if path is not None:
                check_output_path(path, vault, force=True)
        if self.plot is not None:
            check_plot(self.plot)

    def write(self, answer: Answer) -> None:
        """Write the numbers. An answer without numbers leaves the files, and a note says so."""
        if (self.csv or self.plot) and not answer.table:
            err.print("[yellow]Note:[/] the answer has no numbers, so no file was written.")
            return
        if self.csv is not None:
            with self.csv.open("w", newline="", encoding="utf-8") as file:
                rows = csv.writer(file)
                rows.writerow(COLUMNS)
                rows.writerows([getattr(figure, name) for name in COLUMNS] for figure in answer.table)
        if self.plot is not None:
            draw_table(answer.table, self.plot)


def draw_table(table: tuple[Figure, ...], out: Path) -> None:
    """Draw the numbers of the kind of the first one as bars, with their intervals."""
    import matplotlib
    from matplotlib.figure import Figure as Picture

    shown = [figure for figure in table if figure.kind == table[0].kind]
    names, values = [figure.name for figure in shown], [figure.value for figure in shown]
    ends = [
        [figure.value - figure.low for figure in shown],
        [figure.high - figure.value for figure in shown],
    ]
    with matplotlib.rc_context({"svg.hashsalt": "discreet", "svg.fonttype": "none"}):
        picture: Any = Picture(figsize=(8, max(_LEAST, _BAR * len(shown) + 1)), layout="constrained")
        axes = picture.subplots()
        axes.barh(range(len(shown)), values, xerr=ends, color="teal", alpha=0.7, capsize=3)
        axes.set_yticks(range(len(shown)), names, parse_math=False)
        axes.invert_yaxis()
        axes.set_xlabel(f"{shown[0].kind}, with 95 % intervals of the noise")
        picture.savefig(out, metadata={"Date": None} if out.suffix.lower() == ".svg" else None)


# --- questions in turn ------------------------------------------------------------------------------------------------
# Questions of the command line: check them, ask them in turn, and print the answers.

Check = Callable[[str], None]
Ask = Callable[[str], Answer]


@dataclass(frozen=True)
class AnswerForm:
    """The form in which answers are printed.

    Attributes:
        as_json: whether to print one JSON object a line; of several questions, each object has its question.
        public: whether to print the model's answer without documents if nothing was released.
        verbose: whether to print the ledger's details.
        named: whether a JSON object has its question, even if there is only one.
    """

    as_json: bool = False
    public: bool = False
    verbose: bool = False
    named: bool = False


def ask_each(
    vault: Vault, given: Sequence[str], ask: Ask, check: Check | None = None, *, shown: AnswerForm | None = None
) -> int:
    """Ask the questions in turn with one loaded model, and print the answers.

    With several questions, an error is printed, and the next question is asked.

    Args:
        vault: the vault.
        given: the questions; "-" stands for those on standard input, one a line.
        ask: the function that asks a question.
        check: a function that raises an error for a question that may not be asked.
        shown: the form of the answers.

    Returns:
        0, or the exit code of the first error.

    Raises:
        DiscreetError: if the only question cannot be answered.
        Interrupted: if Ctrl-C was pressed.
    """
    shown = shown or AnswerForm()
    questions = [question for one in given for question in (_lines() if one == "-" else [one])]
    if not questions:
        raise UsageError("Standard input has no question. Write one question a line.")
    codes = []
    for question in questions:
        named = question if len(questions) > 1 or shown.named else None
        if len(questions) > 1 and not shown.as_json:
            err.print(f"> {question}", markup=False)
        try:
            answer = answered(vault, question, ask, check)
        except Interrupted:
            raise
        except DiscreetError as error:
            if len(questions) == 1:
                raise
            print_error(error, shown.as_json, named)
            codes.append(error.exit_code)
            continue
        _show(answer, named, shown)
    return next(iter(codes), 0)


def answered(vault: Vault, question: str, ask: Ask, check: Check | None = None) -> Answer:
    """Check and ask one question. Return the answer.

    Raises:
        Interrupted: if Ctrl-C was pressed. It states the charge, of which the ledger knows: a statistic needs no model.
    """
    if check:
        check(question)
    before = len(vault.components.asked)
    try:
        with doing("Answering"):
            return ask(question)
    except KeyboardInterrupt:
        if "model" in vault.components.built:
            raise
    own, ledger = vault.components.asked[before:], vault.ledger
    raise Interrupted(ledger.budget.spent(ledger.spent_at_most(own)) if own else 0.0)


def _show(answer: Answer, question: str | None, shown: AnswerForm) -> None:
    if shown.as_json:
        print_json(answer.shown(shown.public, question))
    else:
        print_answer(answer, show_public=shown.public, verbose=shown.verbose)


def _lines() -> list[str]:
    try:
        text = sys.stdin.buffer.read().decode("utf-8-sig")
    except KeyboardInterrupt:
        raise Interrupted(0.0) from None
    except UnicodeDecodeError:
        raise UsageError("Standard input is not UTF-8. Encode the questions in UTF-8, one a line.") from None
    return [line.strip() for line in text.split("\n") if line.strip()]

"""Questions on the command line: checked, asked one after the other, and their answers printed."""

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from discreet.algorithms.common.answer import Answer
from discreet.cli.answers import print_answer
from discreet.cli.output import err, print_error, print_json
from discreet.cli.progress import doing
from discreet.errors import DiscreetError, Interrupted, UsageError
from discreet.query.question_kinds import check_answerable
from discreet.vault import Vault

Check = Callable[[str], None]
Ask = Callable[[str], Answer]


def answerable(vault: Vault, choices: Sequence[str] = ()) -> Check:
    """A check of a question: it raises `CannotAnswer` if the question is of a kind that cannot be answered yet."""

    def check(question: str) -> None:
        check_answerable(question, language=vault.components.language, unit=vault.settings.unit_field, choices=choices)

    return check


@dataclass(frozen=True)
class Shown:
    """How answers are shown.

    Attributes:
        as_json: as one JSON object a line; of several questions, each with its question.
        public: whether what the model says without documents is shown, if nothing was released.
        verbose: whether the words of the ledger are shown, too.
    """

    as_json: bool = False
    public: bool = False
    verbose: bool = False


def ask_each(
    vault: Vault, given: Sequence[str], ask: Ask, check: Check | None = None, *, shown: Shown | None = None
) -> int:
    """Ask one question after the other, the model loaded once, and print the answers.

    What is wrong with one of several is printed, and the others are asked all the same.

    Args:
        vault: to be asked.
        given: the questions; "-" stands for those on standard input, one a line.
        ask: asks a question.
        check: raises an error for a question that is not to be asked.
        shown: how answers are shown.

    Returns:
        0, or the exit code of the first error.

    Raises:
        DiscreetError: the only question cannot be answered.
        Interrupted: Ctrl-C.
    """
    shown = shown or Shown()
    questions = [question for one in given for question in (_lines() if one == "-" else [one])]
    if not questions:
        raise UsageError("There is no question on standard input. Write one a line.")
    codes = []
    for question in questions:
        about = {"question": question} if len(questions) > 1 else {}
        if about and not shown.as_json:
            err.print(f"> {question}", markup=False)
        try:
            answer = answered(vault, question, ask, check)
        except Interrupted:
            raise
        except DiscreetError as error:
            if not about:
                raise
            print_error(error, shown.as_json, about)
            codes.append(error.exit_code)
            continue
        _show(answer, about, shown)
    return next(iter(codes), 0)


def answered(vault: Vault, question: str, ask: Ask, check: Check | None = None) -> Answer:
    """One question, checked and asked.

    Raises:
        Interrupted: Ctrl-C. It says what was paid: nothing, as long as no model is loaded.
    """
    if check:
        check(question)
    try:
        with doing("Asking the voters"):
            return ask(question)
    except KeyboardInterrupt:
        if "model" in vault.components.built:
            raise
    raise Interrupted(0.0)


def _show(answer: Answer, about: dict[str, Any], shown: Shown) -> None:
    if shown.as_json:
        print_json(about | answer.describe(shown.public))
    else:
        print_answer(answer, show_public=shown.public, verbose=shown.verbose)


def _lines() -> list[str]:
    try:
        text = sys.stdin.buffer.read().decode("utf-8-sig")
    except KeyboardInterrupt:
        raise Interrupted(0.0) from None
    except UnicodeDecodeError:
        raise UsageError("Standard input is not UTF-8. Write the questions in UTF-8, one a line.") from None
    return [line.strip() for line in text.split("\n") if line.strip()]

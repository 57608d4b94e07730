"""Questions of the command line: check them, ask them in turn, and print the answers."""

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from discreet.algorithms.common.algorithm import Answer
from discreet.cli.answers import print_answer
from discreet.cli.output import err, print_error, print_json
from discreet.cli.progress import doing
from discreet.errors import DiscreetError, Interrupted, UsageError
from discreet.vault import Vault

Check = Callable[[str], None]
Ask = Callable[[str], Answer]


@dataclass(frozen=True)
class Shown:
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
    vault: Vault, given: Sequence[str], ask: Ask, check: Check | None = None, *, shown: Shown | None = None
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
    shown = shown or Shown()
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
        Interrupted: if Ctrl-C was pressed. It states the charge, which is 0 before the model is loaded.
    """
    if check:
        check(question)
    try:
        with doing("Answering"):
            return ask(question)
    except KeyboardInterrupt:
        if "model" in vault.components.built:
            raise
    raise Interrupted(0.0)


def _show(answer: Answer, question: str | None, shown: Shown) -> None:
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

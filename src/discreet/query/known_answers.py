"""Questions with known answers: their file, and whether an answer matches."""

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

from pydantic import Field, TypeAdapter
from pydantic.dataclasses import dataclass as checked_dataclass

from discreet.errors import BadData, UsageError
from discreet.system.files import numbered, value_of


@checked_dataclass(frozen=True, config={"coerce_numbers_to_str": True})
class KnownQuestion:
    """A question, the answers that count (any one does), and how many units support them, if known."""

    id: str
    question: str
    answers: tuple[str, ...] = ()
    support: Annotated[int, Field(ge=0)] | None = None
    kind: str = ""


def read_questions(path: Path, limit: int | None = None, *, answered: bool = True) -> list[KnownQuestion]:
    """Return the questions of a JSONL file; with `limit`, so many of them, spread evenly over the file.

    Args:
        path: the file.
        limit: the maximum number of questions.
        answered: whether each question must have answers.

    Raises:
        UsageError: if there is no such file.
        BadData: if a line is not a question; the error names the line.
    """
    try:
        if not path.is_file():
            raise UsageError(f"There is no file {path}. It should hold one question a line, as JSON.")
        lines = list(numbered(path.read_bytes()))
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}. It should hold questions, one a line.") from error
    except UnicodeDecodeError as error:
        raise BadData(f"{path} is not UTF-8. Save it as UTF-8.") from error
    questions = [_parse(path, number, line, answered) for number, line in lines]
    if not questions:
        raise BadData(f"{path} holds no question.")
    if limit is None or limit >= len(questions):
        return questions
    return [questions[index * len(questions) // limit] for index in range(limit)]


def matches(answer: str, acceptable: Iterable[str]) -> bool:
    """Return the match accuracy: whether an acceptable answer occurs in `answer`, as whole words, ignoring case."""
    return any(re.search(rf"(?<!\w){re.escape(text)}(?!\w)", answer, re.IGNORECASE) for text in acceptable)


def _parse(path: Path, number: int, line: str, answered: bool) -> KnownQuestion:
    try:
        question = _QUESTION.validate_python({"id": str(number)} | value_of(line))
        if answered and not question.answers:
            raise ValueError
        return question
    except (ValueError, TypeError):
        expected = '{"question": "...", "answers": ["..."]}' if answered else '{"question": "..."}'
        raise BadData(
            f'{path.name} line {number} is not a question: expected {expected}; if it has a "support", that is a '
            "number of units."
        ) from None


_QUESTION = TypeAdapter(KnownQuestion)

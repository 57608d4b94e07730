"""What a machine must do to reprint a table: tokens of a language model, by what is recorded of the table.

An upper bound for most tables. Each row of a table is taken to ask all its questions anew; in truth settings that
differ in epsilon alone share what the model reads, and many rows have no votes. Each answer is taken to have 40 voters.
Not counted: texts that a synthetic corpus writes. A table whose set-up states no number of questions, people or
canaries counts one question a row, which is too few (`attack-votes`, `synthesis-speed`).
"""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

SHARED, OWN, STEPS, ROWS = 328, 187, 32, 41
"""Tokens that the prompts of a question share, tokens of each row, tokens of an answer, rows: those of `decoding`."""
RECORD = 500
"""Tokens to read one record with its instructions, and to write what it states."""
MODEL = "SmolLM2"


@dataclass(frozen=True)
class Work:
    """The work of one table.

    Attributes:
        answers: how many answers are written.
        records: how many records are read one by one.
    """

    answers: int = 0
    records: int = 0

    @property
    def prefilled(self) -> int:
        """Return the tokens that are read."""
        return self.answers * (SHARED + OWN * ROWS) + self.records * RECORD

    @property
    def steps(self) -> int:
        """Return the steps that write a token in all rows of an answer; records are written in as many rows."""
        return self.answers * STEPS + self.records // ROWS * STEPS


@dataclass(frozen=True)
class Machine:
    """A language model on a machine.

    Attributes:
        parameters: of the model.
        arithmetic: operations a second that products of matrices reach.
        bandwidth: bytes a second that weights are read with.
    """

    parameters: float
    arithmetic: float
    bandwidth: float

    def hours(self, work: Work) -> float:
        """Return the hours of some work: two operations a parameter and token, and the weights once a step."""
        reading = 2 * self.parameters * work.prefilled / self.arithmetic
        writing = work.steps * 2 * self.parameters / self.bandwidth
        return (reading + writing) / 3600

    @property
    def gibibytes(self) -> float:
        """Return the memory of weights and of one question's keys and values.

        A model of a billion parameters keeps some 64 KiB a token, and the square root of its size scales it: the shapes
        of `decoding gpu` lie within a factor of two.
        """
        kept = 65_536 * math.sqrt(self.parameters / 1e9) * (SHARED + ROWS * (OWN + STEPS))
        return (2 * self.parameters + kept) / 2**30


def number_in(text: str, pattern: str) -> int:
    """Return the number of the first match of a pattern, or 0."""
    found = re.search(pattern, text)
    return int(found[1].replace(",", "")) if found else 0


def work_of(name: str, told: Mapping[str, Any], rows: int) -> Work | None:
    """Return the work of a table, or None if it has none for a language model, as far as its set-up says."""
    if not told["model"].startswith(MODEL):
        return None
    data, script = told["data"], "\n".join(told.get("commands", ()))
    seeds = number_in(script, r"--seeds (\d+)") or 1
    questions = number_in(data, r"([\d,]+)(?: of [\d,]+)?(?: \w+)? (?:questions|prompts)")
    people = 2 * number_in(data, r"([\d,]+) (?:people|members)") + 4 * number_in(data, r"(\d+) planted documents")
    asked = questions or people or 1
    reads = any(one in script for one in ("read VAULT", "synthesis make", "readings"))
    records = number_in(data, r"([\d,]+) (?:patients|dialogues|notes|viewers|mails|documents)") if reads else 0
    return Work(asked * seeds * max(1, rows), records)

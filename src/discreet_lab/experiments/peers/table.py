"""The tables of a comparison with peers."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from discreet.query.known_answers import Question, matches
from discreet_lab.attacks.rates import Rate

COLUMNS = ("system", "accuracy", "claimed epsilon", "true epsilon", "time", "questions")
PAIR_COLUMNS = ("peer", "what one individual changes", "claimed", "measured")
BASE = "plain RAG"


@dataclass(frozen=True)
class System:
    """A system and its answers.

    Attributes:
        name: its name.
        answers: its answers in the order of the questions, with seconds; fewer than all if its time was up.
        claimed, true: the epsilon that it states, and the one that it has.
        reason: why it did not run, if it did not.
    """

    name: str
    answers: Sequence[dict[str, Any]]
    claimed: str = "-"
    true: str = "-"
    reason: str = ""


def seconds(system: System, asked: int) -> float:
    """Return the mean of a system's seconds for the first questions."""
    return float(sum(answer["seconds"] for answer in system.answers[:asked])) / asked


def table_rows(systems: Sequence[System], questions: Sequence[Question]) -> list[list[str]]:
    """Return a row for each system, over the questions that all of those that ran have answered."""
    ran = [system for system in systems if system.answers]
    asked = min((len(system.answers) for system in ran), default=0)
    base = next((seconds(system, asked) for system in ran if system.name == BASE), 0.0)
    return [_row(system, questions[:asked], base) for system in systems]


def _row(system: System, questions: Sequence[Question], base: float) -> list[str]:
    if not system.answers:
        return [system.name, "-", "-", f"not run: {system.reason}", "-", "0"]
    pairs = zip(system.answers, questions, strict=False)
    rate = Rate.among(sum(matches(answer["text"], question.answers) for answer, question in pairs), len(questions))
    time = f"{seconds(system, len(questions)) / base:.1f}" if base else "-"
    return [
        system.name,
        f"{rate.value:.2f} ({rate.low:.2f}-{rate.high:.2f})",
        system.claimed,
        system.true,
        time,
        str(len(questions)),
    ]


def pair_rows(pairs: Sequence[dict[str, Any]]) -> list[list[str]]:
    """Return a row for each measurement of neighbouring inputs."""
    return [[pair["peer"], pair["change"], pair["claimed"], pair["measured"]] for pair in pairs]

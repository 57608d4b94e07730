"""The findings of checks of a vault, with their remedies."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

Level = Literal["ok", "warning", "problem"]


@dataclass(frozen=True)
class Finding:
    """The result of one check.

    Attributes:
        check: the subject of the check, such as "ledger", "key" or "store".
        level: "ok"; "warning": the vault works, but should be repaired; "problem": the vault must be repaired.
        what: the finding in words.
        remedy: the repair; empty if none is needed.
    """

    check: str
    level: Level
    what: str
    remedy: str = ""


def sound(check: str, what: str) -> Finding:
    """Make a finding without a problem."""
    return Finding(check, "ok", what)


def warning(check: str, what: str, remedy: str) -> Finding:
    """Make a finding that should be repaired."""
    return Finding(check, "warning", what, remedy)


def problem(check: str, what: str, remedy: str) -> Finding:
    """Make a finding that must be repaired."""
    return Finding(check, "problem", what, remedy)


def problems(findings: Iterable[Finding]) -> list[Finding]:
    """Return the findings that must be repaired."""
    return [finding for finding in findings if finding.level == "problem"]

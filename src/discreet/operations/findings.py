"""What was found when a vault was looked over: each check's finding, and what to do."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Literal

Level = Literal["ok", "warning", "problem"]


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at.

    Attributes:
        check: what was looked at: "ledger", "key", "store".
        level: "ok"; "warning": the vault works, and something should be mended; "problem": it must be mended.
        what: what was found.
        remedy: what to do; empty if nothing is.
    """

    check: str
    level: Level
    what: str
    remedy: str = ""

    def describe(self) -> dict[str, str]:
        """The finding as plain data."""
        return asdict(self)


def sound(check: str, what: str) -> Finding:
    """A finding that all is well."""
    return Finding(check, "ok", what)


def warning(check: str, what: str, remedy: str) -> Finding:
    """A finding that should be mended."""
    return Finding(check, "warning", what, remedy)


def problem(check: str, what: str, remedy: str) -> Finding:
    """A finding that must be mended."""
    return Finding(check, "problem", what, remedy)


def problems(findings: Iterable[Finding]) -> list[Finding]:
    """The findings that must be mended."""
    return [found for found in findings if found.level == "problem"]

"""Tables of audits, for a terminal and for a page."""

from collections import Counter
from collections.abc import Sequence

from rich.box import SIMPLE_HEAD
from rich.table import Table

from discreet_lab.audit.case import AuditFinding

HEADINGS = ("audited", "neighbouring inputs", "draws of each", "delta", "claimed epsilon", "shown at least", "verdict")
UNREMARKABLE = "no violation found"
"""The verdict of a sound case without a violation."""


def verdict(finding: AuditFinding, *, twin: bool = False) -> str:
    """Return the verdict. A mutant is flagged or missed. A sound case without a violation is no proof.

    A case with a fault was not audited: its draws show nothing.
    """
    if twin:
        return "flagged" if finding.violated else "MISSED"
    if finding.violated:
        return "VIOLATION"
    return "FAULT" if finding.fault else UNREMARKABLE


def cells(finding: AuditFinding, *, twin: bool = False) -> tuple[str, ...]:
    """Return a row as text, in the order of `HEADINGS`."""
    return (
        finding.name,
        finding.inputs,
        str(finding.draws),
        f"{finding.delta:.3g}",
        f"{finding.claimed:.3f}",
        f"{finding.bound.epsilon:.3f} ({finding.tight:.0%})",
        verdict(finding, twin=twin),
    )


def table(findings: Sequence[AuditFinding], *, twin: bool = False) -> Table:
    """Return the rows as a table for a terminal."""
    # Without lines between columns, no word of a heading and no verdict is cut in a terminal of 80 characters.
    rich_table = Table(box=SIMPLE_HEAD, padding=0)
    for heading in HEADINGS:
        rich_table.add_column(heading, overflow="fold", min_width=max(map(len, heading.split())))
    for finding in findings:
        rich_table.add_row(*cells(finding, twin=twin))
    return rich_table


def remarkable(findings: Sequence[AuditFinding], *, twin: bool = False) -> list[str]:
    """Return a line for each verdict other than "no violation found": the names, with their numbers of rows."""
    rows = Counter((verdict(finding, twin=twin), finding.name) for finding in findings)
    names: dict[str, list[str]] = {}
    for (found, name), number in rows.items():
        if found != UNREMARKABLE:
            names.setdefault(found, []).append(f"{name} ({number})")
    return [f"Rows with the verdict {found}: {', '.join(own)}" for found, own in names.items()]


def markdown(findings: Sequence[AuditFinding], *, twin: bool = False) -> str:
    """Return the rows as a table in Markdown."""
    lines = [HEADINGS, ("---",) * len(HEADINGS), *(cells(finding, twin=twin) for finding in findings)]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)

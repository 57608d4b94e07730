"""Tables of audits, for a person and for a page."""

from collections.abc import Sequence

from rich.table import Table

from discreet.audit.case import Finding

HEADINGS = ("audited", "neighbouring inputs", "draws of each", "delta", "claimed epsilon", "shown at least", "verdict")


def verdict(finding: Finding, *, twin: bool = False) -> str:
    """In a word. A broken twin is flagged, or it was missed; what is sound shows nothing, which proves nothing."""
    if twin:
        return "flagged" if finding.violated else "MISSED"
    return "VIOLATION" if finding.violated else "no violation found"


def cells(finding: Finding, *, twin: bool = False) -> tuple[str, ...]:
    """A row as text, in the order of `HEADINGS`."""
    return (
        finding.name,
        finding.inputs,
        str(finding.draws),
        f"{finding.delta:.3g}",
        f"{finding.claimed:.3f}",
        f"{finding.bound.epsilon:.3f} ({finding.tight:.0%})",
        verdict(finding, twin=twin),
    )


def table(findings: Sequence[Finding], *, twin: bool = False) -> Table:
    """The rows for a terminal."""
    made = Table(*HEADINGS)
    for finding in findings:
        made.add_row(*cells(finding, twin=twin))
    return made


def markdown(findings: Sequence[Finding], *, twin: bool = False) -> str:
    """The rows for a page."""
    lines = [HEADINGS, ("---",) * len(HEADINGS), *(cells(finding, twin=twin) for finding in findings)]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)

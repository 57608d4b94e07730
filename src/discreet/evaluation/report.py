"""Tables of experiments, for a person."""

from collections.abc import Sequence

from rich.table import Table

from discreet.evaluation.experiment import Row

# "bought": how many private tokens the question's epsilon was made to fit; "private": how many were used.
HEADINGS = ("algorithm", "epsilon", "bought", "accuracy", "tokens", "private", "undecided", "epsilon spent", "seconds")


def cells(row: Row) -> tuple[str, ...]:
    """A row as text, in the order of `HEADINGS`."""
    epsilon = getattr(row.algorithm, "epsilon", None)
    return (
        row.algorithm.name,
        "-" if epsilon is None else f"{epsilon:g}",
        str(getattr(row.algorithm, "private_tokens", "-")),
        f"{row.accuracy:.2f} ± {row.accuracy_margin:.2f}",
        f"{row.tokens:.1f}",
        f"{row.private_tokens:.1f}",
        f"{row.undecided:.2f}",
        "no guarantee" if row.epsilon_spent is None else f"{row.epsilon_spent:.2f}",
        f"{row.seconds:.2f}",
    )


def table(rows: Sequence[Row]) -> Table:
    """The rows for a terminal."""
    made = Table(*HEADINGS)
    for row in rows:
        made.add_row(*cells(row))
    return made


def markdown(rows: Sequence[Row]) -> str:
    """The rows for a page."""
    lines = ["| " + " | ".join(HEADINGS) + " |", "| " + " | ".join("---" for _ in HEADINGS) + " |"]
    return "\n".join([*lines, *("| " + " | ".join(cells(row)) + " |" for row in rows)])

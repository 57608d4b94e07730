"""Tables of experiments, for the terminal and for a page."""

import math
from collections.abc import Sequence

from discreet_lab.evaluation.experiment import AccuracyRow
from discreet_lab.evaluation.metrics import Likeness

# "bought": the number of private tokens that the epsilon pays for; "private": the number that was used.
HEADINGS = tuple(
    "algorithm, epsilon, bought, accuracy, tokens, private, undecided, released, epsilon spent, seconds".split(", ")
)


# Of answers that are compared with references.
LIKENESS = ("algorithm", "epsilon", "F1", "ROUGE-1", "ROUGE-L", "Levenshtein", "released", "seconds")
BERT_SCORE = "BERTScore"


def cells(row: AccuracyRow) -> tuple[str, ...]:
    """Return a row as text, in the order of `HEADINGS`."""
    epsilon = getattr(row.algorithm, "epsilon", None)
    return (
        row.algorithm.name,
        "-" if epsilon is None else f"{epsilon:g}",
        str(getattr(row.algorithm, "private_tokens", "-")),
        _with_margin(row),
        f"{row.tokens:.1f}",
        f"{row.private_tokens:.1f}",
        f"{row.undecided:.2f}",
        f"{row.released:.2f}",
        "no guarantee" if row.epsilon_spent is None else f"{row.epsilon_spent:.2f}",
        f"{row.seconds:.2f}",
    )


def _with_margin(row: AccuracyRow) -> str:
    margin = "" if math.isnan(row.accuracy_margin) else f" ± {row.accuracy_margin:.2f}"  # one question has no spread
    return f"{row.accuracy:.2f}{margin}"


def likeness_cells(row: AccuracyRow, likeness: Likeness) -> tuple[str, ...]:
    """Return a row as text, in the order of `LIKENESS`."""
    numbers = (likeness.f1, likeness.rouge_1, likeness.rouge_l, likeness.levenshtein, row.released)
    return (*cells(row)[:2], *(f"{value:.3f}" for value in numbers), f"{row.seconds:.2f}")


def table(rows: Sequence[AccuracyRow]) -> str:
    """Return the rows as lines for a terminal, each column as wide as its longest text: no name is cut."""
    headings, lines = tabulate(rows)
    whole = [headings, *lines]
    widths = [max(map(len, column)) for column in zip(*whole, strict=True)]
    return "\n".join("  ".join(map(str.ljust, line, widths)).rstrip() for line in whole)


def tabulate(rows: Sequence[AccuracyRow]) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Return headings and rows: likeness if all questions had references, accuracy otherwise; BERTScore if measured."""
    like = [likeness_cells(row, row.likeness) for row in rows if row.likeness]
    headings, lines = (LIKENESS, like) if len(like) == len(rows) else (HEADINGS, [cells(row) for row in rows])
    if not any(row.bert_score is not None for row in rows):
        return headings, lines
    scores = ["-" if row.bert_score is None else f"{row.bert_score:.3f}" for row in rows]
    return (*headings, BERT_SCORE), [(*line, score) for line, score in zip(lines, scores, strict=True)]

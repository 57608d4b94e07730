"""Tables I to XV of Koga, Wu and Chaudhuri: accuracy by voters, epsilon_token and total epsilon."""

import csv
from pathlib import Path

from discreet_lab.bench.table import Data, Reported

VOTERS, TOKENS, TOTALS = (30, 40, 50), (1.0, 2.0, 5.0), (5.0, 10.0, 20.0, 40.0)
Figures = dict[tuple[str, int, float, float], float]
"""The figure of each algorithm, voters, epsilon_token and total epsilon."""
KINDS = {"Trivia": Data.KNOWLEDGE, "NQ": Data.KNOWLEDGE, "ChatDoctor": Data.DIALOGUES}


def read_tables() -> dict[tuple[str, str, str], Figures]:
    """Return the figures of each table, by its number, data and model.

    In a row of the file, the column "10: 40" has the accuracy at a total epsilon of 10 with 40 voters.
    """
    tables: dict[tuple[str, str, str], Figures] = {}
    with Path(__file__).with_suffix(".csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            figures = tables.setdefault((row["table"], row["data"], row["model"]), {})
            name, token = row["algorithm"], float(row["epsilon_token"])
            for total in TOTALS:
                figures |= {(name, many, token, total): float(row[f"{total:g}: {many}"]) for many in VOTERS}
    return tables


REPORTED = {name: (figures, KINDS[name[1]]) for name, figures in read_tables().items()}


def choose_best(figures: Figures) -> dict[tuple[str, float], float]:
    """Return the best figure of each algorithm and total epsilon."""
    return {
        (name, total): max(figure for (one, _, _, at), figure in figures.items() if (one, at) == (name, total))
        for name, total in {(name, total): None for name, _, _, total in figures}
    }


def printed(told: str) -> tuple[Reported, ...]:
    """Return the figures of "printed", by all that the tables vary, or the best ones, of "printed, best"."""
    best = told == "printed, best"
    return tuple(
        Reported(
            f"{'best of ' if best else ''}Table {number} ({data}, {model})",
            # The paper calls it match accuracy. References of several sentences never match.
            "BERTScore" if kind is Data.DIALOGUES else "accuracy",
            ("algorithm", "epsilon") if best else ("algorithm", "voters", "epsilon_token", "epsilon"),
            choose_best(figures) if best else figures,
            kind,
        )
        for (number, data, model), (figures, kind) in REPORTED.items()
    )

"""The share of questions that no private method without candidates can answer: by arithmetic alone.

    .venv/bin/python -m benchmarks.out_of_reach DATA/nq_notes [--delta 1e-5] [--csv PATH]

A method without candidates releases no answer that no unit gives. Let p(n) be the probability with which it releases
one answer that n units give, all else equal. Then p(0) = 0. If a unit that gives it is removed or replaced, p falls by
(epsilon, delta) at most: p(n) <= e^epsilon p(n-1) + delta, and 1 - p(n-1) <= e^epsilon (1 - p(n)) + delta. The curve of
optimal selection is the largest that keeps both (docs/mechanisms.md). So no such method exceeds it, whatever it reads
and however it counts, and with one question for the whole budget.

A question is out of reach if this curve is below 0.5 at its support: the number of notes that have a right answer.
All of them are taken to give the same answer. The column "failures" has the delta of the release as a vault has it by
default, half of its delta; the last columns are for the whole delta.
"""

import argparse
import json
from pathlib import Path

from benchmarks.writing import TableWriter, add_csv_option

from discreet.planning.prices import LIKELY, vault_budget
from discreet.privacy.mechanisms.selection_curves import least_votes, unseen_curve

EPSILONS = (1.0, 2.0, 3.0, 5.0, 10.0)
DELTA = 1e-5
COLUMNS = ("epsilon", "failures", "votes", "out of reach", "votes at delta", "out of reach at delta")


def supports(folder: Path) -> list[int]:
    """Return the support of each question of a data set; 0 where its reference names nothing that could be shared."""
    lines = (folder / "questions.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line)["support"] or 0 for line in lines]


def votes_for_half(epsilon: float, delta: float) -> int:
    """Return the fewest units whose common answer the best method releases at least half of the time."""
    votes = least_votes(unseen_curve(epsilon, delta), LIKELY)
    assert votes is not None  # the curve reaches 1
    return votes


def share_below(found: list[int], votes: int) -> float:
    """Return the share of questions with fewer supporting units than `votes`."""
    return sum(support < votes for support in found) / len(found)


def row(found: list[int], epsilon: float, delta: float) -> list[str]:
    """Return a row of the table."""
    failures = vault_budget(epsilon, delta).failures
    half, whole = votes_for_half(epsilon, failures), votes_for_half(epsilon, delta)
    shares = [f"{share_below(found, votes):.2f}" for votes in (half, whole)]
    return [f"{epsilon:g}", f"{failures:g}", str(half), shares[0], str(whole), shares[1]]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="a data set with questions.jsonl")
    parser.add_argument("--delta", type=float, default=DELTA)
    add_csv_option(parser)
    given = parser.parse_args()
    found = supports(given.folder)
    table = TableWriter(COLUMNS, given.csv)
    for epsilon in EPSILONS:
        table.write(row(found, epsilon, given.delta))
    print(f"\n{len(found)} questions of {given.folder.name}, delta {given.delta:g}")


if __name__ == "__main__":
    main()

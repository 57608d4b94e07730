"""How many private tokens of DPSparseVoteRAG a total epsilon buys, under the paper's accounting and ours.

    .venv/bin/python -m benchmarks.accounting [--json]

A private token is one run of the sparse vector and one selection, each of half of epsilon_token. "paper": the larger
of plain and advanced composition (Dwork, Rothblum and Vadhan 2010) of epsilon_token. "corrected": the same, with the
selection charged twice, as it costs when a vote is replaced rather than added or removed. "ours": a Renyi filter at
an order fixed in advance, everything charged for replacement. The last line is the time that one charge takes to be
added up and admitted.
"""

import argparse
import json
import time

from benchmarks.writing import add_csv_option, write_table

from discreet.privacy.accounting import Budget, Spending
from discreet.privacy.costs import Pure
from discreet_lab.bench.experiments.accounting import DELTA, count_tokens


def table() -> list[dict[str, float]]:
    """A row for each epsilon_token and epsilon."""
    return [
        count_tokens(epsilon_token, epsilon)
        for epsilon_token in (0.5, 1.0, 2.0, 5.0)
        for epsilon in (1.0, 2.0, 5.0, 10.0, 20.0)
    ]


def microseconds(charges: int = 2000) -> float:
    """Time of one charge: its curve, the sum, and the budget's verdict."""
    budget, spent = Budget(1e6, DELTA), Spending.nothing()
    begin = time.perf_counter()
    for number in range(charges):
        spent += Spending.of(Pure(0.5 + 1e-6 * number))
        budget.admits(spent)
    return (time.perf_counter() - begin) / charges * 1e6


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true")
    add_csv_option(parser)
    given = parser.parse_args()
    rows, each = table(), microseconds()
    if given.json:
        print(json.dumps({"rows": rows, "microseconds_per_charge": each}))
        return
    write_table(list(rows[0]), ([f"{cell:g}" for cell in row.values()] for row in rows), given.csv)
    print(f"\ndelta {DELTA:g}; {each:.0f} microseconds a charge")


if __name__ == "__main__":
    main()

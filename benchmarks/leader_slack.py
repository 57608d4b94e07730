"""What the leader's selection costs: the price that is proved, beside the exact one over all states.

    .venv/bin/python -m benchmarks.leader_slack [--largest] [--csv PATH]

For each epsilon of a law and each number of voters: the price that `leader_certificate` proves at delta 1e-6, and the
least price that covers every neighbouring pair of count vectors, found by listing them all. The second is at most the
first; the difference is what the proof gives away. `--largest` lists all vectors of 34 voters, which takes minutes.
"""

import argparse
import math
import time
from itertools import chain

from benchmarks.writing import TableWriter, add_csv_option
from tests.guarantee.privacy.test_leader import Counts, Law, every_move, law_of

from discreet.privacy.mechanisms.leader_certificate import certified_cost

DELTA = 1e-6
CASES = ((3.0, 16), (5.0, 16), (2.0, 22), (5.0, 22))
LARGEST = ((1.0, 34),)
_STEPS = 20


def exact_cost(inner: float, voters: int) -> tuple[float, int]:
    """Return the least epsilon that covers every move, to 1e-5, and the number of moves."""
    law, epsilon, moves = law_of(voters, inner, DELTA), inner, 0
    for before, after in every_move(voters):
        moves += 1
        if not covers(law, before, after, epsilon):
            epsilon = least(law, before, after, epsilon)
    return epsilon, moves


def covers(law: Law, before: Counts, after: Counts, epsilon: float) -> bool:
    """Return whether the divergence of a move at epsilon is at most delta."""
    growth = math.exp(epsilon)
    return sum(max(0.0, p - growth * q) for p, q in zip(law(before), law(after), strict=True)) <= DELTA


def least(law: Law, before: Counts, after: Counts, low: float) -> float:
    """Return the least epsilon above `low` that covers a move."""
    high = 2 * low + 1
    for _ in range(_STEPS):
        middle = (low + high) / 2
        low, high = (low, middle) if covers(law, before, after, middle) else (middle, high)
    return high


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--largest", action="store_true", help="also 34 voters at epsilon 1")
    add_csv_option(parser)
    given = parser.parse_args()
    columns = ["law at epsilon", "voters", "pairs", "proved", "seconds of the proof", "exact"]
    table = TableWriter(columns, given.csv)
    for inner, voters in chain(CASES, LARGEST if given.largest else ()):
        begun = time.perf_counter()
        proved = certified_cost(inner, DELTA, voters)
        took = time.perf_counter() - begun
        exact, moves = exact_cost(inner, voters)
        table.write(
            [f"{inner:g}", str(voters), f"{moves:,}", f"{proved or math.inf:.3f}", f"{took:.1f}", f"{exact:.3f}"]
        )
    print(f"\ndelta {DELTA:g}; a vote is replaced, comes or goes")


if __name__ == "__main__":
    main()

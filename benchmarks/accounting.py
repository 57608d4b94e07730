"""How many private tokens of DPSparseVoteRAG a total epsilon buys, under the paper's accounting and ours.

    .venv/bin/python benchmarks/accounting.py

A private token is one run of the sparse vector and one selection, each of half of epsilon_token. "paper": the larger
of plain and advanced composition (Dwork, Rothblum and Vadhan 2010) of epsilon_token. "corrected": the same, with the
selection charged twice, as it costs when a vote is replaced rather than added or removed. "ours": a Renyi filter at
an order fixed in advance, everything charged for replacement.
"""

import argparse
import math

from discreet.privacy.accounting import budget_for
from discreet.privacy.costs import BoundedRange, Pure, Together

DELTA = 1e-5


def plain(epsilon_token: float, epsilon: float) -> int:
    """As many as the sum allows."""
    return math.floor(epsilon / epsilon_token + 1e-9)


def advanced(epsilon_token: float, epsilon: float, delta: float) -> int:
    """As many as advanced composition allows."""
    count = 0
    while True:
        k = count + 1
        total = epsilon_token * math.sqrt(2 * k * math.log(1 / delta)) + k * epsilon_token * math.expm1(epsilon_token)
        if total > epsilon:
            return count
        count = k


def ours(epsilon_token: float, epsilon: float) -> int:
    """As many as the filter admits."""
    token = Together((Pure(epsilon_token / 2), BoundedRange(epsilon_token / 2)))
    return budget_for(token, epsilon, DELTA).affordable(token)


def main() -> None:
    """Print the table."""
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    print("| epsilon_token | epsilon | plain | advanced | paper | corrected | ours |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for epsilon_token in (0.5, 1.0, 2.0, 5.0):
        for epsilon in (1.0, 2.0, 5.0, 10.0, 20.0):
            sums = plain(epsilon_token, epsilon), advanced(epsilon_token, epsilon, DELTA)
            twice = 1.5 * epsilon_token
            corrected = max(plain(twice, epsilon), advanced(twice, epsilon, DELTA))
            row = (epsilon_token, epsilon, *sums, max(sums), corrected, ours(epsilon_token, epsilon))
            print("| " + " | ".join(f"{cell:g}" for cell in row) + " |")


if __name__ == "__main__":
    main()

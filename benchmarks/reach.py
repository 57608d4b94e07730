"""How many questions a unit can take part in, and what it would cost if everybody paid for all: by arithmetic alone.

    .venv/bin/python -m benchmarks.reach [--epsilon 10] [--questions 100]

First table: questions at `--epsilon` per unit, under a pure, a zCDP and a Renyi filter, where a question may buy 8
private tokens of the sizes given (DPSparseVoteRAG: sparse vector and selection; DPVoteRAG: selection alone).
Second table: the epsilon at which a stream of `--questions` paid by everybody (naive-multi-rag) has the private
tokens of MuRAG with M = 1 at each epsilon: as precise, and as many.
"""

import argparse

from benchmarks.writing import TableWriter, add_csv_option, name_part

from discreet.algorithms.common.ensemble import calibrate_to_uses
from discreet.algorithms.common.token_voting import TokenVoting
from discreet.privacy.accounting import Accountant, Budget, Spending, largest
from discreet.registry import DPSparseVoteRAG, DPVoteRAG

DELTA = 1e-5
WORDS = 1000  # costs do not depend on it
ACCOUNTANTS: tuple[Accountant, ...] = ("pure", "zcdp", "renyi")


def budget(epsilon: float, accountant: Accountant) -> Budget:
    """What a unit may spend; nothing of delta is kept for failures, since these mechanisms cannot fail."""
    return Budget(epsilon, 0.0 if accountant == "pure" else DELTA, accountant=accountant)


def questions(inner: TokenVoting, epsilon: float, accountant: Accountant) -> int:
    """How many questions a unit can take part in."""
    wide = Budget(1e5, DELTA)
    most = calibrate_to_uses(inner, wide, 1, 0.0, WORDS).plan.max_cost
    low, high, granted = 0, 100_000, budget(epsilon, accountant)
    while high > low:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if granted.admits(most.times(middle)) else (low, middle - 1)
    return low


def paid_by_everybody(epsilon: float, asked: int, accountant: Accountant) -> float:
    """The epsilon of a stream in which everybody pays for tokens as precise as MuRAG's at `epsilon`, M = 1."""
    once: Spending = calibrate_to_uses(DPSparseVoteRAG(), budget(epsilon, accountant), 1, 0.0, WORDS).plan.max_cost
    whole = once.times(asked)
    # The order is chosen anew for each epsilon that is tried, as a vault made with it would have it.
    low = epsilon
    high = epsilon * asked * 1.001
    return low + high - largest(lambda less: budget(low + high - less, accountant).admits(whole), low, high)


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--epsilon", type=float, default=10.0)
    parser.add_argument("--questions", type=int, default=100)
    add_csv_option(parser)
    given = parser.parse_args()
    table = TableWriter(["algorithm", "epsilon_token", "pure (the paper's)", "zCDP", "Rényi"], given.csv)
    for kind in (DPSparseVoteRAG, DPVoteRAG):
        for token in (0.1, 0.25, 0.5, 1.0):
            inner = kind(epsilon_token=token, private_tokens=8, max_tokens=8)
            found = [str(questions(inner, given.epsilon, accountant)) for accountant in ACCOUNTANTS]
            table.write([kind.name, f"{token:g}", *found])
    print(f"\nepsilon {given.epsilon:g} per unit, delta {DELTA:g}, 8 private tokens a question\n")
    columns = ["epsilon per unit", "everybody pays, pure", "everybody pays, Rényi", "times as much"]
    table = TableWriter(columns, name_part(given.csv, "corpus"))
    for epsilon in (2.0, 5.0, 10.0, 20.0):
        pure, renyi = (paid_by_everybody(epsilon, given.questions, kind) for kind in ("pure", "renyi"))
        table.write([f"{epsilon:g}", f"{pure:.0f}", f"{renyi:.0f}", f"{renyi / epsilon:.0f}"])
    print(f"\n{given.questions} questions, M = 1, delta {DELTA:g}")


if __name__ == "__main__":
    main()

"""How many agreeing voters an answer needs to be released, under each release of votes: by arithmetic alone.

    .venv/bin/python -m benchmarks.votes_needed [--csv PATH]

First table: one question, delta 1e-6; votes for a release with probability 0.5 / 0.9 / 0.99. "observed" is the
selection among observed values, and "leader" that of `consensus`, certified for 40 voters: without candidates, for one
of 20 candidates, and for another answer beside them. These are for a replaced vote. The others are for a vote that
comes or goes. Candidates are public, with the prior.
Second table: streams. A unit pays for M questions from (epsilon, 1e-5), half of delta for failures; votes for 0.5 /
0.9, and the release that is chosen. "observed" is one such selection for each question, of the largest epsilon
that the same budget admits M times.
Third table: the least epsilon that releases the answer of 60 % of the units with probability 0.95, and what each unit
pays if it takes part by a secret coin, such that 80 units vote on average.
Fourth table: `murag-ada` over `consensus`, where a unit has (20, 1e-5). The nearest 40 vote at the default price; then
all admitted units, at the same price, at the least price at which they need no more votes, and at a share of the
budget. The counts of the units are paid in each row.
Fifth table: `murag-ada` with public candidates, at several grants and numbers of questions: votes for 0.5 / 0.9 of
an answer that is no candidate, and of one of 1, 5 and 20 candidates.
"""

import argparse
from collections.abc import Callable

from benchmarks.writing import TableWriter, add_csv_option, name_part

from discreet.algorithms.common.private_rag import PRICE
from discreet.algorithms.murag_ada import MuRAGAda
from discreet.planning.prices import VOCABULARY, times, vault_budget
from discreet.privacy.accounting import Budget, Spending, largest
from discreet.privacy.mechanisms.counted_selection import CountedSelection
from discreet.privacy.mechanisms.leader_selection import MOST_CANDIDATES, LeaderSelection
from discreet.privacy.mechanisms.limited_domain import ObservedSelection
from discreet.privacy.mechanisms.optimal_selection import OptimalSelection
from discreet.privacy.mechanisms.selection_curves import candidate_curve, least_votes
from discreet.privacy.mechanisms.thresholded_counts import ThresholdedCounts
from discreet.privacy.partition import ADD_REMOVE_ONE
from discreet.privacy.private import Change, Relation
from discreet.privacy.sampled_costs import amplified_epsilon
from discreet.privacy.vote_prices import cheapest_release, counted_selection_for, least_epsilon, thresholded_counts_for

DELTA, STREAM_DELTA = 1e-6, 1e-5
CHANCES = (0.5, 0.9, 0.99)
REPLACED = Change(1, Relation.REPLACE)
SAMPLED, VOTERS = 80, 40


def list_votes(needed: Callable[[float], int | None], chances: tuple[float, ...] = CHANCES) -> str:
    """Return the votes for each chance, as in 14/16/18."""
    return "/".join(str(needed(chance)) for chance in chances)


def single_question(epsilon: float) -> list[str]:
    """Return a row of the first table."""
    today = ObservedSelection.calibrated(epsilon, DELTA, REPLACED)
    moved = ObservedSelection.calibrated(epsilon, DELTA, ADD_REMOVE_ONE)
    optimal: OptimalSelection[str] = OptimalSelection.calibrated(epsilon, DELTA, ADD_REMOVE_ONE)
    candidates = [candidate_curve(epsilon, prior) for prior in (0.01, 0.001)]
    proposing = LeaderSelection(epsilon, DELTA, VOTERS, tuple(range(MOST_CANDIDATES)))
    return [
        f"{epsilon:g}",
        list_votes(today.votes_needed),
        list_votes(LeaderSelection(epsilon, DELTA, VOTERS).votes_needed),
        list_votes(proposing.candidate_votes_needed) if proposing.proposes else "not proved",
        list_votes(proposing.votes_needed) if proposing.proposes else "not proved",
        list_votes(moved.votes_needed),
        list_votes(optimal.votes_needed),
        *(list_votes(lambda chance, curve=curve: least_votes(curve, chance)) for curve in candidates),  # type: ignore[misc]
    ]


def observed_for(budget: Budget, uses: int) -> ObservedSelection | None:
    """Return the selection among observed values of the largest epsilon that fits `uses` times, for replaced votes."""
    delta = budget.failures / uses * (1 - 1e-9)

    def fits(epsilon: float) -> bool:
        cost = ObservedSelection.calibrated(epsilon, delta, REPLACED).cost(REPLACED)
        return budget.admits(Spending.of(cost, uses))

    epsilon = largest(fits, 1e-4, 64.0)
    return ObservedSelection.calibrated(epsilon, delta, REPLACED) if fits(epsilon) else None


def stream(epsilon: float, uses: int) -> list[str]:
    """Return a row of the second table."""
    budget, chances = Budget(epsilon, STREAM_DELTA, STREAM_DELTA / 2), CHANCES[:2]
    today, optimal = observed_for(budget, uses), counted_selection_for(budget, uses)
    counts, chosen = thresholded_counts_for(budget, uses), cheapest_release(budget, uses)
    return [
        f"{epsilon:g}",
        str(uses),
        list_votes(today.votes_needed, chances) if today else "refused",
        list_votes(optimal.votes_needed, chances) if optimal else "refused",
        list_votes(counts.votes_needed, chances) if counts else "refused",
        str(chosen.mechanism),
    ]


def support(units: int) -> list[str]:
    """Return a row of the third table."""
    price = least_epsilon(units, DELTA, 0.6, 0.95)
    probability = min(1.0, SAMPLED / units)
    of_sample = least_epsilon(min(units, SAMPLED), DELTA / probability, 0.6, 0.95)
    return [str(units), f"{price:.3f}", f"{amplified_epsilon(of_sample, probability):.3f}"]


def votes_of(algorithm: MuRAGAda, budget: Budget, chance: float) -> int:
    """Return how many units must agree for a release with probability `chance`."""
    voters, rounds = algorithm.count_votes(budget, VOCABULARY)
    selection = voters.mechanisms(rounds.epsilon, rounds.delta, rounds.change, VOCABULARY)[0]
    return int(selection.votes_needed(chance))  # type: ignore[attr-defined]


def prices() -> list[list[str]]:
    """Return the rows of the fourth table."""
    budget = vault_budget(20.0, STREAM_DELTA)
    former = MuRAGAda(all_vote=False)
    wanted = votes_of(former, budget, 0.9)
    hundredths = range(50, round(100 * PRICE) + 1)
    cheapest = next(h / 100 for h in hundredths if votes_of(MuRAGAda(epsilon=h / 100), budget, 0.9) <= wanted)
    uses = max(uses for uses in range(1, 60) if votes_of(MuRAGAda(uses=uses), budget, 0.9) <= wanted)
    ways = {
        "the nearest 40": former,
        "all": MuRAGAda(epsilon=PRICE),
        "all, as many votes": MuRAGAda(epsilon=cheapest),
        f"all, M={uses}": MuRAGAda(uses=uses),
        "all, by default": MuRAGAda(),
    }
    return [
        [
            name,
            f"{algorithm.plan(budget, VOCABULARY).price(budget):.3g}",
            list_votes(lambda chance, algorithm=algorithm: votes_of(algorithm, budget, chance), CHANCES[:2]),  # type: ignore[misc]
            str(times(budget, algorithm.calibrate(budget, VOCABULARY).plan.max_cost)),
        ]
        for name, algorithm in ways.items()
    ]


def candidates(epsilon: float, uses: int | None) -> list[str]:
    """Return a row of the fifth table."""
    voters, rounds = MuRAGAda(uses=uses).count_votes(vault_budget(epsilon, STREAM_DELTA), VOCABULARY)
    selection = voters.mechanisms(rounds.epsilon, rounds.delta, rounds.change, VOCABULARY)[0]
    assert isinstance(selection, CountedSelection | ThresholdedCounts)
    kind = "selection" if isinstance(selection, CountedSelection) else "counts"
    known = [selection.with_candidates(range(number)) for number in (1, 5, MOST_CANDIDATES)]
    votes = [list_votes(one.candidate_votes_needed, CHANCES[:2]) for one in known]
    return [f"{epsilon:g}", str(uses or "default"), kind, list_votes(selection.votes_needed, CHANCES[:2]), *votes]


def main() -> None:
    """Print the five tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_csv_option(parser)
    given = parser.parse_args()
    columns = [
        *("epsilon", "observed", "leader", "leader, a candidate", "leader, beside candidates"),
        *("observed, a vote comes or goes", "optimal", "candidate, prior 0.01"),
        "prior 0.001",
    ]
    table = TableWriter(columns, given.csv)
    for epsilon in (0.25, 0.5, 1.0, 2.0, 3.0, 5.0):
        table.write(single_question(epsilon))
    print(f"\none question, delta {DELTA:g}\n")
    columns = ["epsilon per unit", "M", "observed", "optimal", "thresholded counts", "chosen"]
    table = TableWriter(columns, name_part(given.csv, "streams"))
    for epsilon, uses in ((2, 1), (5, 1), (5, 5), (10, 2), (10, 5), (10, 10), (10, 20), (20, 20)):
        table.write(stream(epsilon, uses))
    print(f"\nM questions a unit, delta {STREAM_DELTA:g}, half of it for failures\n")
    table = TableWriter(["units", "all vote", f"a secret sample of {SAMPLED}"], name_part(given.csv, "support"))
    for units in (22, 40, 80, 160, 524, 5000):
        table.write(support(units))
    print(f"\nan answer of 60 % of the units, released with probability 0.95, delta {DELTA:g}\n")
    columns = ["who votes", "epsilon of a question", "votes", "questions a unit"]
    table = TableWriter(columns, name_part(given.csv, "prices"))
    for row in prices():
        table.write(row)
    print(f"\nmurag-ada over consensus, (20, {STREAM_DELTA:g}) a unit, counts included\n")
    columns = ["epsilon per unit", "M", "release", "another answer", "1 candidate", "one of 5", "one of 20"]
    table = TableWriter(columns, name_part(given.csv, "candidates"))
    for granted, each in ((2, 1), (5, 1), (5, 5), (10, 5), (10, 10), (20, 20), (20, None)):
        table.write(candidates(granted, each))
    print(f"\nmurag-ada with public candidates, delta {STREAM_DELTA:g} a unit, counts included")


if __name__ == "__main__":
    main()

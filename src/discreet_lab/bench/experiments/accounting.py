"""Arithmetic: the private tokens that an epsilon buys, and the lengths of reference answers."""

import math
from collections import Counter

from discreet.privacy.accounting import budget_for
from discreet.privacy.costs import BoundedRange, Pure, Together
from discreet_lab.bench.run import BenchRun
from discreet_lab.bench.table import Row

DELTA = 1e-5
LONGEST = 8
"""The number of words from which answers are counted together."""


def by_sum(epsilon_token: float, epsilon: float) -> int:
    """Return the number of tokens by plain composition."""
    return math.floor(epsilon / epsilon_token + 1e-9)


def by_advanced_composition(epsilon_token: float, epsilon: float, delta: float) -> int:
    """Return the number of tokens by advanced composition (Dwork, Rothblum and Vadhan 2010)."""
    count = 0
    while True:
        k = count + 1
        total = epsilon_token * math.sqrt(2 * k * math.log(1 / delta)) + k * epsilon_token * math.expm1(epsilon_token)
        if total > epsilon:
            return count
        count = k


def by_filter(epsilon_token: float, epsilon: float) -> int:
    """Return the number of tokens that a Renyi filter admits, everything charged for replacement."""
    token = Together((Pure(epsilon_token / 2), BoundedRange(epsilon_token / 2)))
    return budget_for(token, epsilon, DELTA).affordable(token)


def count_tokens(epsilon_token: float, epsilon: float) -> dict[str, float]:
    """Return the number of tokens by each accounting: the paper's, the corrected one, and ours."""
    sums = by_sum(epsilon_token, epsilon), by_advanced_composition(epsilon_token, epsilon, DELTA)
    twice = 1.5 * epsilon_token  # the selection costs twice as much where a vote is replaced
    return {
        "epsilon_token": epsilon_token,
        "epsilon": epsilon,
        "plain": sums[0],
        "advanced": sums[1],
        "paper": max(sums),
        "corrected": max(by_sum(twice, epsilon), by_advanced_composition(twice, epsilon, DELTA)),
        "ours": by_filter(epsilon_token, epsilon),
    }


def run_tokens(given: BenchRun) -> list[Row]:
    """Return a row for each epsilon_token and epsilon."""
    return [
        dict(count_tokens(token, epsilon))
        for token in given.values["epsilon_token"]
        for epsilon in given.values["epsilon"]
    ]


def run_lengths(given: BenchRun) -> list[Row]:
    """Return how many reference answers have so many words."""
    words = [min(len(answer.split()) for answer in one.answers) for one in given.questions]
    counted = Counter(min(number, LONGEST) for number in words)
    return [
        {
            "words": f"{number} or more" if number == LONGEST else str(number),
            "answers": counted[number],
            "share": counted[number] / len(words),
        }
        for number in range(1, LONGEST + 1)
    ]

"""Bounds on an attacker's belief, in the worst case over all questions and all background knowledge."""

import math

FOUND = 0.01
"""The least share of the vault's individuals that a counted attack accuses."""


def odds(epsilon: float) -> str:
    """Return the factor by which the odds may grow, e^epsilon, in words: "2,980 to 1", "10^43 to 1"."""
    power = epsilon / math.log(10)
    if power >= 15:
        return f"10^{power:.0f} to 1"
    digits = max(0, 2 - math.floor(power))
    return f"{round(math.exp(epsilon), 2 - math.floor(power)):,.{digits}f} to 1"


def posterior(prior: float, epsilon: float, delta: float, found: float = FOUND) -> float:
    """Return the largest posterior probability that an accused individual is in the vault.

    An attack accuses the individual if the transcript lies in a set S. With the individual, P[S] is at least `found`.
    Without the individual, P[S] is at least (P[S] - delta) / e^epsilon. Bayes' rule gives the posterior.

    Args:
        prior: the probability that the individual is in the vault, before the first answer.
        epsilon: the epsilon of one answer, or of a whole grant.
        delta: the delta of that answer or grant.
        found: the least share of the vault's individuals that an attack must find to be counted.
    """
    if delta >= found:
        return 1.0
    kept = (found - delta) / found  # the share of the odds against that remains after delta
    for_it = math.log(prior) + epsilon
    against = math.log1p(-prior) + math.log(kept)
    return 1 / (1 + math.exp(min(against - for_it, 700.0)))

"""What an attacker may come to believe: the worst case over all questions and all that they know besides."""

import math

FOUND = 0.01
"""Of the individuals who are in the vault, the attack accuses at least this share."""


def posterior(prior: float, epsilon: float, delta: float, found: float = FOUND) -> float:
    """The most that an attacker may believe of an individual whom the attack accuses.

    An attack accuses the individual if the transcript lies in a set S. With the individual, P[S] is at least `found`;
    without, it is at least (P[S] - delta) / e^epsilon. Bayes' rule gives the rest.

    Args:
        prior: the probability that the individual is in the vault, before the first answer.
        epsilon: of one answer, or of a whole grant.
        delta: of the same.
        found: an attack that finds fewer than this share of those who are in the vault is not counted.
    """
    if delta >= found:
        return 1.0
    kept = (found - delta) / found  # of the odds against: what delta leaves of them
    for_it = math.log(prior) + epsilon
    against = math.log1p(-prior) + math.log(kept)
    return 1 / (1 + math.exp(min(against - for_it, 700.0)))

"""The meaning of a budget for one person, as probabilities."""

import math

PRIORS = (0.01, 0.1, 0.5)
"""An attacker's beliefs that a person is in the vault, before the first answer."""

_LEAST = 1e-6


def at_most(prior: float, epsilon: float) -> float:
    """Return the largest posterior belief of an attacker with the prior belief. Odds grow by at most e^epsilon."""
    return 1 / (1 + (1 / prior - 1) * math.exp(-epsilon))


def percent(share: float) -> str:
    """Return a share in percent. A share just below 1 gets enough digits not to appear as 100 %."""
    left = (1 - share) * 100
    if left >= 1:
        return f"{share:.0%}".replace("%", " %")
    if left < _LEAST:
        return "nearly 100 %"
    digits = math.ceil(-math.log10(left))
    return f"{100 - math.floor(left * 10**digits) / 10**digits:.{digits}f} %"

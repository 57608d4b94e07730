"""What a budget means for one person, in numbers that need no mathematics."""

import math

PRIORS = (0.01, 0.1, 0.5)
"""How sure an attacker is beforehand that a person is in a vault."""

_LEAST = 1e-6


def at_most(prior: float, epsilon: float) -> float:
    """How sure an attacker may become, at most, who was sure to the degree `prior`: odds grow by e^epsilon at most."""
    return 1 / (1 + (1 / prior - 1) * math.exp(-epsilon))


def percent(share: float) -> str:
    """A share in words. One that is nearly everything has as many nines as it takes, and is never all of it."""
    left = (1 - share) * 100
    if left >= 1:
        return f"{share:.0%}".replace("%", " %")
    if left < _LEAST:
        return "nearly 100 %"
    digits = math.ceil(-math.log10(left))
    return f"{100 - math.floor(left * 10**digits) / 10**digits:.{digits}f} %"

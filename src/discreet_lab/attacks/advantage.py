"""How well an attacker tells draws with a person from draws without, beside what (epsilon, delta) allows any attacker.

All else is the same, and known to the attacker. The draws are independent. So these figures may be compared with the
guarantee itself, without the reservations of an attack on answers in words.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from discreet_lab.attacks.bounds import epsilon_by_threshold
from discreet_lab.attacks.rates import CONFIDENCE, Auc, most_auc


@dataclass(frozen=True)
class Advantage:
    """The result of an attack.

    Attributes:
        auc: the area under the curve of true against false positives.
        value: true less false positives at one threshold.
        shown: a lower bound of the privacy loss epsilon at the claim's delta, with confidence 0.95.
        epsilon, delta: the claim.
    """

    auc: Auc
    value: float
    shown: float
    epsilon: float
    delta: float

    @staticmethod
    def of(ins: Sequence[float], outs: Sequence[float], epsilon: float, delta: float) -> "Advantage":
        """Return the advantage of scores with the person over as many scores without, at least four of each.

        One half of the scores chooses the threshold, and the other half is counted.
        """
        half = len(ins) // 2
        threshold = max({*ins[:half], *outs[:half]}, key=lambda at: _apart(ins[:half], outs[:half], at))
        value = _apart(ins[half:], outs[half:], threshold)
        shown = epsilon_by_threshold(ins, outs, delta, 1 - CONFIDENCE).epsilon
        return Advantage(Auc.of(ins, outs), value, shown, epsilon, delta)

    @property
    def most_auc(self) -> float:
        """The largest area that the claim allows."""
        return most_auc(self.epsilon, self.delta)

    @property
    def most(self) -> float:
        """The largest advantage that the claim allows at any threshold."""
        return most_advantage(self.epsilon, self.delta)

    @property
    def exceeded(self) -> bool:
        """Whether the claim is refuted."""
        return self.shown > self.epsilon


def most_advantage(epsilon: float, delta: float) -> float:
    """Return the largest difference of true and false positives that (epsilon, delta) allows."""
    more = math.exp(min(epsilon, 700.0))
    return min(1.0, (more - 1 + 2 * delta) / (more + 1))


def _apart(ins: Sequence[float], outs: Sequence[float], threshold: float) -> float:
    """Return the true less the false positives of "in" at or above a threshold."""
    return sum(one >= threshold for one in ins) / len(ins) - sum(one >= threshold for one in outs) / len(outs)

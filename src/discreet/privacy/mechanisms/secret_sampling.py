"""A mechanism in which each share takes part by a fresh secret coin: privacy-spec, part 10.7.

The coins are tossed inside the draw, one for each share and each draw, and leave no trace: a caller can neither supply
a coin nor use one again. All admitted units pay, whether their coin let them take part or not.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Generic, TypeVar

from discreet.privacy.costs import BoundedRange, Cost, Pure
from discreet.privacy.filter import Mechanism
from discreet.privacy.noise import WHOLE, Noise
from discreet.privacy.private import Change, Relation
from discreet.privacy.sampled_costs import amplify

S = TypeVar("S")
R = TypeVar("R")


@dataclass(frozen=True)
class SecretSample(Generic[S, R]):
    """A mechanism on a secret sample of its shares.

    Attributes:
        mechanism: what is drawn from the sample.
        probability: with which each share takes part: public.
    """

    mechanism: Mechanism[S, R]
    probability: float

    def __post_init__(self) -> None:
        if not 0 < self.probability <= 1:
            raise ValueError(f"A share takes part with a probability above 0 and up to 1, not {self.probability}.")

    def __str__(self) -> str:
        return f"a secret sample of {self.probability:.6g}: {self.mechanism}"

    def cost(self, change: Change) -> Cost:
        """Return the amplified cost (`amplify`) for a share that comes or goes.

        A replaced share goes, and another one comes: two steps of (e, d), together (2 e, (1 + e^e) d).

        Raises:
            NotImplementedError: if the change is of several shares, or of a replaced one and the cost is not pure.
        """
        if change.shares != 1:
            raise NotImplementedError("Secret sampling is analysed for one share a unit.")
        once = self.mechanism.cost(Change(1, Relation.ADD_REMOVE))
        sampled = amplify(once, self.probability)
        if change.relation is Relation.ADD_REMOVE:
            return sampled
        if not isinstance(once, Pure | BoundedRange) or not isinstance(sampled, Pure):
            raise NotImplementedError("Secret sampling of a replaced share is analysed for pure costs.")
        return Pure(2 * sampled.epsilon, (1 + math.exp(sampled.epsilon)) * sampled.delta)

    def draw(self, shares: Sequence[S], noise: Noise) -> R:
        """Draw from the shares whose coin, tossed here, lets them take part."""
        weight = math.floor(Fraction(self.probability) * WHOLE)
        return self.mechanism.draw([share for share in shares if noise.toss(weight)], noise)

"""What is audited, and what came of it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from discreet.attacks.bounds import Bound, Key, epsilon_at_least
from discreet.privacy.accounting import Spending, largest, zcdp_epsilon
from discreet.privacy.costs import Cost
from discreet.privacy.noise import Noise

CONFIDENCE = 0.95
"""That no bound of a whole audit is above the truth."""
DELTA = 1e-3
"""At which claims are looked at that need a delta to be converted: large enough to matter among some thousand draws."""
FAILURE = 0.01
"""The delta of what may fail: large enough to be seen."""
Told = Callable[[int], None]
"""Told how many more draws were made."""


class Case(Protocol):
    """A pair of neighbouring inputs of one mechanism or algorithm, and what is claimed of it."""

    @property
    def name(self) -> str:
        """Of the mechanism or algorithm."""

    @property
    def inputs(self) -> str:
        """The pair, in words."""

    @property
    def claim(self) -> tuple[float, float]:
        """(epsilon, delta), as the accounting says."""

    @property
    def draws(self) -> int:
        """How many draws of each input are enough, and do not take too long."""

    def sample(self, draws: int, noise: Noise, told: Told) -> tuple[Sequence[Key], Sequence[Key]]:
        """What came out of so many independent draws on each of the two inputs."""


@dataclass(frozen=True)
class Finding:
    """One row of an audit.

    Attributes:
        name, inputs: of the case.
        claimed: epsilon, as the accounting says.
        delta: of the claim, and of the bound.
        bound: what the draws show at least.
        draws: of each input; half of them chose the set of outcomes, the other half was counted.
        confidence: that no bound of the audit is above the truth.
    """

    name: str
    inputs: str
    claimed: float
    delta: float
    bound: Bound
    draws: int
    confidence: float

    @property
    def violated(self) -> bool:
        """Whether more is lost than is claimed."""
        return self.bound.epsilon > self.claimed

    @property
    def tight(self) -> float:
        """The part of the claim that was shown to be lost."""
        return self.bound.epsilon / self.claimed

    def describe(self) -> dict[str, Any]:
        """The row as plain data."""
        return {
            "name": self.name,
            "inputs": self.inputs,
            "claimed": self.claimed,
            "delta": self.delta,
            "at_least": self.bound.epsilon,
            "violated": self.violated,
            "likely": self.bound.likely,
            "rare": self.bound.rare,
            "trials": self.bound.trials,
        }


def run(
    cases: Sequence[Case],
    noise: Noise,
    *,
    draws: int | None = None,
    confidence: float = CONFIDENCE,
    told: Callable[[Finding], None] = lambda _: None,
    drawn: Told = lambda _: None,
) -> list[Finding]:
    """Audit every case. The doubt is shared out among them, so that all bounds hold together with `confidence`.

    Args:
        cases: what is audited.
        noise: from which outcomes are drawn.
        draws: how many of each input; what each case takes for enough if not given.
        confidence: that no bound is above the truth.
        told: told each finding as it is made.
        drawn: told how many draws were made.
    """
    found = []
    for case in cases:
        claimed, delta = case.claim
        first, second = case.sample(draws or case.draws, noise, drawn)
        bound = epsilon_at_least(first, second, delta, (1 - confidence) / len(cases))
        found.append(Finding(case.name, case.inputs, claimed, delta, bound, len(first), confidence))
        told(found[-1])
    return found


def claim_of(cost: Cost) -> tuple[float, float]:
    """(epsilon, delta) that a cost amounts to.

    What fails with a probability but loses no more than a certain epsilon otherwise is looked at at that probability;
    what has no such epsilon, at `DELTA` more.
    """
    spent = Spending.of(cost)
    bounded = bool(spent.curve[-1] < float("inf"))
    delta = spent.delta if bounded else spent.delta + DELTA
    return spent.epsilon(delta), delta


def rho_of(epsilon: float) -> float:
    """Return the zCDP that amounts to `epsilon` at `DELTA`."""
    return largest(lambda rho: zcdp_epsilon(rho, DELTA) <= epsilon, 1e-6, 1e3)

"""The cases and findings of an audit."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from discreet.privacy.accounting import Spending, largest, zcdp_epsilon
from discreet.privacy.costs import Cost
from discreet.privacy.noise import Noise
from discreet_lab.attacks.bounds import Bound, Key, epsilon_at_least

CONFIDENCE = 0.95
"""The probability that no bound of a whole audit is above the true loss."""
DELTA = 1e-3
"""The delta for claims that need a conversion: large enough to matter in some thousand draws."""
FAILURE = 0.01
"""The failure probability for mechanisms that can fail: large enough to be observed."""
ProgressCallback = Callable[[int], None]
"""Receives the number of further draws that were made."""


class Case(Protocol):
    """A pair of neighbouring inputs of one mechanism or algorithm, with the claim."""

    @property
    def name(self) -> str:
        """The name of the mechanism or algorithm."""

    @property
    def inputs(self) -> str:
        """A description of the pair."""

    @property
    def claim(self) -> tuple[float, float]:
        """(epsilon, delta) by the accounting."""

    @property
    def draws(self) -> int:
        """The number of draws of each input that suffices in acceptable time."""

    def sample(self, draws: int, noise: Noise, on_progress: ProgressCallback) -> tuple[Sequence[Key], Sequence[Key]]:
        """Return the outcomes of `draws` independent draws on each of the two inputs."""


@runtime_checkable
class Fallible(Protocol):
    """A case whose draws can fail: what was to be audited may have released nothing."""

    def find_fault(self, first: Sequence[Key], second: Sequence[Key]) -> str:
        """Return why the outcomes of the two inputs show nothing; "" if they show something."""


@dataclass(frozen=True)
class AuditFinding:
    """One row of an audit.

    Attributes:
        name, inputs: the name and inputs of the case.
        claimed: epsilon by the accounting.
        delta: the delta of the claim and of the bound.
        bound: the lower bound from the draws.
        draws: the number of draws of each input. One half chose the event, and the other half was counted.
        confidence: the probability that no bound of the audit is above the true loss.
        fault: why the draws show nothing, such as a refusal of each; "" if they show something.
    """

    name: str
    inputs: str
    claimed: float
    delta: float
    bound: Bound
    draws: int
    confidence: float
    fault: str = ""

    @property
    def violated(self) -> bool:
        """Whether the measured loss is above the claim."""
        return self.bound.epsilon > self.claimed

    @property
    def tight(self) -> float:
        """The ratio of the measured loss to the claim."""
        return self.bound.epsilon / self.claimed


def run(
    cases: Sequence[Case],
    noise: Noise,
    *,
    draws: int | None = None,
    confidence: float = CONFIDENCE,
    on_progress: ProgressCallback = lambda _: None,
) -> list[AuditFinding]:
    """Audit every case; return the findings. All bounds hold together with `confidence`, by a union bound.

    Args:
        cases: the cases to audit.
        noise: the source of randomness of the draws.
        draws: the number of draws of each input; the default of each case if None.
        confidence: the probability that no bound is above the true loss.
        on_progress: receives the number of further draws that were made.
    """
    findings = []
    for case in cases:
        claimed, delta = case.claim
        first, second = case.sample(draws or case.draws, noise, on_progress)
        bound = epsilon_at_least(first, second, delta, (1 - confidence) / len(cases))
        fault = case.find_fault(first, second) if isinstance(case, Fallible) else ""
        findings.append(AuditFinding(case.name, case.inputs, claimed, delta, bound, len(first), confidence, fault))
    return findings


def claim_of(cost: Cost) -> tuple[float, float]:
    """Return the (epsilon, delta) of a cost.

    A cost with a finite epsilon outside its failures is evaluated at its failure probability. Any other cost is
    evaluated at `DELTA` more.
    """
    spent = Spending.of(cost)
    bounded = bool(spent.curve[-1] < float("inf"))
    delta = spent.delta if bounded else spent.delta + DELTA
    return spent.epsilon(delta), delta


def rho_of(epsilon: float) -> float:
    """Return the zCDP that amounts to `epsilon` at `DELTA`."""
    return largest(lambda rho: zcdp_epsilon(rho, DELTA) <= epsilon, 1e-6, 1e3)

"""BROKEN on purpose: noise of a part of the requested scale, and a case that is drawn with it."""

from collections.abc import Sequence
from dataclasses import dataclass

from discreet.privacy.noise import Noise, Whole
from discreet_lab.attacks.rates import Key
from discreet_lab.audit.case import Case, ProgressCallback
from discreet_lab.audit.vote_mutants import SharperCoins

MORE = {
    "threshold-choice": 80_000,
    "observed-selection": 40_000,
    "limited-domain": 40_000,
    "dp-sparse-vote-rag": 4000,
    "dp-rag-pure": 4000,
    "naive-multi-rag": 4000,
    "adaptive": 4000,
    "dp-synth": 1000,
}
"""The number of draws for cases in which fewer draws would show the missing noise only for some seeds."""


@dataclass(frozen=True)
class BrokenNoise(SharperCoins):
    """BROKEN: noise of a part of the requested scale."""

    noise: Noise
    part: float
    secure = False

    def laplace(self, scale: float) -> int:
        """Return too little noise."""
        return self.noise.laplace(self.part * scale)

    def gaussian(self, scale: float) -> int:
        """Return too little noise."""
        return self.noise.gaussian(self.part * scale)

    def gaussians(self, scale: float, count: int) -> Whole:
        """Return too little noise."""
        return self.noise.gaussians(self.part * scale, count)

    def select(self, scores: Sequence[float], scale: float) -> int:
        """Return a selection with too little noise."""
        return self.noise.select(scores, self.part * scale)

    def permute_and_flip(self, scores: Sequence[float], scale: float) -> int:
        """Return a selection with too little noise."""
        return self.noise.permute_and_flip(scores, self.part * scale)

    def below(self, bound: int) -> int:
        """Return a uniformly random integer."""
        return self.noise.below(bound)

    def beside(self) -> "BrokenNoise":
        """Return a source with the same mistake."""
        return BrokenNoise(self.noise.beside(), self.part)


@dataclass(frozen=True)
class Quiet:
    """BROKEN: a case that is drawn with a part of its noise."""

    case: Case
    part: float

    @property
    def name(self) -> str:
        """The name of the sound case."""
        return self.case.name

    @property
    def inputs(self) -> str:
        """The inputs of the sound case, with the part of its noise."""
        return f"{self.part:.0%} of its noise ({self.case.inputs})"

    @property
    def claim(self) -> tuple[float, float]:
        """The claim of the sound case."""
        return self.case.claim

    @property
    def draws(self) -> int:
        """The draws of the sound case, or more if chance would decide whether the mutant is flagged."""
        return max(self.case.draws, MORE.get(self.name, 0))

    def sample(self, draws: int, noise: Noise, on_progress: ProgressCallback) -> tuple[Sequence[Key], Sequence[Key]]:
        """Return outcomes with too little noise."""
        return self.case.sample(draws, BrokenNoise(noise, self.part), on_progress)

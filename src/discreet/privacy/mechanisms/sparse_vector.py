"""The sparse vector technique: AboveThreshold (Dwork and Roth 2014, Algorithm 1), one run at a time.

Privacy-spec, part 3. A query counts the true shares. A run answers any number of queries, and stops when it fires. Its
cost depends neither on the number of queries nor on whether it fires. The next run draws a new threshold.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from discreet.privacy.costs import Cost, Pure
from discreet.privacy.noise import Noise
from discreet.privacy.private import Change


@dataclass(frozen=True)
class SparseVector:
    """A run that fires if the number of true shares is, up to noise, at most (or at least) a threshold.

    Attributes:
        threshold: a public integer.
        threshold_scale: the discrete Laplace scale of the threshold, drawn once a run.
        query_scale: the discrete Laplace scale of each count.
        fires: "below" to fire at counts up to the threshold (few agree), "above" at counts from it on.
    """

    threshold: int
    threshold_scale: float
    query_scale: float
    fires: str = "below"

    def __str__(self) -> str:
        return (
            f"sparse vector that fires {self.fires} {self.threshold}, "
            f"scales {self.threshold_scale:.6g} and {self.query_scale:.6g}"
        )

    @staticmethod
    def calibrated(
        epsilon: float, threshold: int, change: Change, fires: str = "below", *, split: float = 2 ** (2 / 3)
    ) -> "SparseVector":
        """Return the run that costs `epsilon` under `change`.

        `split` is the ratio of the queries' part to the threshold's part. Lyu, Su and Li 2017 find 2^(2/3) best for one
        firing. The textbook's scales, 2/epsilon and 4/epsilon, are `split=1`.
        """
        for_threshold = epsilon / (1 + split)
        return SparseVector(
            threshold,
            change.shares / for_threshold,
            change.moves / (epsilon - for_threshold),
            fires,
        )

    def cost(self, change: Change) -> Cost:
        """Return pure shares/threshold_scale + 2 shares/query_scale.

        If counts move in one direction only, the factor 2 is 1.
        """
        return Pure(change.shares / self.threshold_scale + change.moves / self.query_scale)

    def start(self, noise: Noise) -> Callable[[Sequence[bool]], tuple[bool, bool]]:
        """Begin a run with a new noisy threshold; return a function from shares to (fired, over)."""
        noisy_threshold = self.threshold + noise.laplace(self.threshold_scale)

        def ask(shares: Sequence[bool]) -> tuple[bool, bool]:
            noisy_count = sum(map(bool, shares)) + noise.laplace(self.query_scale)
            fired = noisy_count <= noisy_threshold if self.fires == "below" else noisy_count >= noisy_threshold
            return fired, fired

        return ask

"""Broken twins are drawn in batches, each twice as large as the one before: most are flagged by a few draws."""

from collections.abc import Sequence

from discreet.privacy.noise import InsecureSeededNoise
from discreet_lab.audit.case import Case, run


def find_unflagged(twins: Sequence[Case], draws: int, first: int) -> list[str]:
    """Return the inputs of the twins that no batch flags, from `first` draws to `draws`."""
    left, drawn = list(twins), first
    while left and drawn <= draws:
        found = run(left, InsecureSeededNoise(1), draws=drawn)
        left = [twin for twin, finding in zip(left, found, strict=True) if not finding.violated]
        drawn = draws if drawn < draws < 2 * drawn else 2 * drawn
    return [twin.inputs for twin in left]

"""Exported vectors in an experiment: their noise is seeded, so that of a real vault is refused."""

import pytest

from discreet.errors import UsageError
from discreet.export import draw_matrix
from discreet.privacy.noise import InsecureSeededNoise, SystemNoise
from discreet_lab.attacks.targets import SimulatedExport


def test_noise_of_a_real_vault_is_refused() -> None:
    with pytest.raises(UsageError, match="seeded"):
        SimulatedExport(draw_matrix(16, 8, InsecureSeededNoise(0)), SystemNoise(), epsilon=1.0)

"""Exported vectors in an experiment: the noise that is paid for, and none of it secure."""

import numpy as np
import pytest

from discreet.errors import UsageError
from discreet.export.vectors import GRAIN, draw_matrix
from discreet.privacy.costs import ZeroConcentrated
from discreet.privacy.mechanisms.vectors import spectral_norm
from discreet.privacy.noise import InsecureSeededNoise, SystemNoise
from discreet.retrieval.vectors import LARGEST
from discreet_lab.attacks.exports import SimulatedExport

NOISE = InsecureSeededNoise(0)
MATRIX = draw_matrix(16, 8, NOISE)


def test_its_noise_is_what_the_price_asks_for() -> None:
    made = SimulatedExport(MATRIX, NOISE, epsilon=4.0)
    vectors = np.random.default_rng(0).standard_normal((400, 16)).astype(np.float32)
    off = made.documents(vectors) - made.questions(vectors)
    sigma = 2 * spectral_norm(MATRIX) / GRAIN * LARGEST / (LARGEST - 1) / np.sqrt(2 * made.rho)
    assert np.std(off) == pytest.approx(sigma, rel=0.05)
    assert ZeroConcentrated(made.rho).rho < 4.0


def test_noise_of_a_real_vault_is_refused() -> None:
    with pytest.raises(UsageError, match="seeded"):
        SimulatedExport(MATRIX, SystemNoise(), epsilon=1.0)

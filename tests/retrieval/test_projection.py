"""Random projection: the paper's transform, the baseline with noise, and what is refused."""

import math
from pathlib import Path

import numpy as np
import pytest

from discreet.errors import BadData, UsageError
from discreet.export.vectors import GRAIN, draw_matrix
from discreet.privacy.noise import InsecureSeededNoise, SystemNoise
from discreet_lab.baselines.brute_force_knn import Neighbours
from discreet_lab.projection import NoisyProjection, Projection, Transform, Untouched, kept_matrix

CHOOSE = np.random.default_rng(0)


def vectors(count: int, dimension: int = 32) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
    return CHOOSE.standard_normal((count, dimension)).astype(np.float32)


def test_golden_a_projection_by_hand() -> None:
    """(3, 4) is shortened to length 2, which is (1.2, 1.6); (0.3, 0.4) is made longer, to length 1."""
    matrix = np.array([[GRAIN], [-2 * GRAIN]], dtype=np.int64)
    made = Projection(matrix, sigma=0.5)
    found = made.documents(np.array([[3, 4], [0.3, 0.4], [0.9, 1.2]], dtype=np.float32))
    assert found[:, 0] == pytest.approx([0.5 * (1.2 - 3.2), 0.5 * (0.6 - 1.6), 0.5 * (0.9 - 2.4)], rel=1e-6)


@pytest.mark.parametrize("k", [0, 33, -1])
def test_k_is_between_one_and_the_dimension(k: int) -> None:
    with pytest.raises(UsageError, match="k ="):
        draw_matrix(32, k, InsecureSeededNoise(0))


@pytest.mark.parametrize(("gamma", "longest"), [(0.0, 2.0), (2.0, 2.0), (3.0, 2.0), (-1.0, 1.0), (1.0, math.nan)])
def test_the_bounds_must_be_bounds(gamma: float, longest: float) -> None:
    with pytest.raises(UsageError, match="gamma < Delta"):
        Projection(draw_matrix(4, 2, InsecureSeededNoise(0)), gamma, longest)


@pytest.mark.parametrize("bad", [0.0, math.nan, math.inf])
def test_refusal_of_a_zero_embedding_does_not_show_numbers(bad: float) -> None:
    made = Projection(draw_matrix(4, 2, InsecureSeededNoise(0)))
    with pytest.raises(BadData, match="1 of 2 embeddings"):
        made.documents(np.array([[1, 2, 3, 4], [bad] * 4], dtype=np.float32))


def test_another_dimension_is_refused() -> None:
    with pytest.raises(BadData, match="4 numbers"):
        Projection(draw_matrix(4, 2, InsecureSeededNoise(0))).documents(vectors(2, 5))


def test_a_fingerprint_tells_matrices_and_parameters_apart() -> None:
    one, other = (draw_matrix(8, 4, InsecureSeededNoise(seed)) for seed in (0, 1))
    made = [Projection(one), Projection(other), Projection(one, sigma=0.2), Projection(one, gamma=0.5)]
    made += [Projection(one, longest=3.0)]
    noisy = [NoisyProjection(made[0], SystemNoise()), NoisyProjection(made[0], SystemNoise(), epsilon=1.0)]
    all_of_them: list[Transform] = [*made, *noisy, Untouched(8), Untouched(9)]
    prints = {thing.fingerprint for thing in all_of_them}
    assert len(prints) == 9
    assert Projection(one.copy()).fingerprint == made[0].fingerprint


def test_golden_the_noise_of_dp_rp_g() -> None:
    """A matrix whose longest row is (3, 4), over the root of 2; sqrt(2 ln(1.25/1e-5)) = 4.844806."""
    base = Projection(np.array([[3, 4], [1, 0]], dtype=np.int64) * GRAIN)
    made = NoisyProjection(base, InsecureSeededNoise(0), epsilon=1.0, delta=1e-5, beta=1.0)
    assert made.scale == pytest.approx(5 / math.sqrt(2) * 4.844806, rel=1e-6)
    many = np.ones((4000, 2), dtype=np.float32)
    assert np.std(made.documents(many) - made.questions(many)) == pytest.approx(made.scale, rel=0.05)
    with pytest.raises(UsageError):
        NoisyProjection(base, InsecureSeededNoise(0), epsilon=0.0)


def test_a_matrix_is_drawn_once_and_kept(tmp_path: Path) -> None:
    file = tmp_path / "claims" / "matrix.npy"
    first = kept_matrix(file, 8, 4, SystemNoise())
    assert np.array_equal(kept_matrix(file, 8, 4, SystemNoise()), first)
    assert not np.array_equal(kept_matrix(None, 8, 4, SystemNoise()), first)
    with pytest.raises(BadData, match="8 by 5"):
        kept_matrix(file, 8, 5, SystemNoise())
    file.write_bytes(b"something else")
    with pytest.raises(BadData, match="damaged"):
        kept_matrix(file, 8, 4, SystemNoise())


class TestNeighbours:
    def test_they_are_the_nearest_of_all(self) -> None:
        keys, asked = vectors(300, 6), vectors(7, 6)
        distances, places = Neighbours.of(keys).nearest(asked, 10)
        all_of_them = np.sum((asked[:, None] - keys[None]) ** 2, axis=2)
        expected = np.argsort(all_of_them, axis=1, kind="stable")[:, :10]
        assert np.array_equal(places, expected)
        assert distances == pytest.approx(np.take_along_axis(all_of_them, expected, axis=1), rel=1e-3, abs=1e-4)

    def test_fewer_keys_than_asked_for(self) -> None:
        distances, places = Neighbours.of(vectors(3, 4)).nearest(vectors(2, 4), 10)
        assert places.shape == distances.shape == (2, 3)
        assert Neighbours.of(vectors(3, 4)).nearest(vectors(0, 4), 10)[1].shape == (0, 3)
        assert Neighbours.of(vectors(0, 4)).nearest(vectors(2, 4), 10)[1].shape == (2, 0)

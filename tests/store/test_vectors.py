"""Scores are exact: whole numbers, whatever the order, place or number of rows."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from discreet.store.vectors import HEAD, Vector, VectorFile, whole_numbers

QUICK = settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def unit(size: int, seed: int) -> Vector:
    made = np.random.default_rng(seed).normal(size=size)
    return np.asarray(made / np.linalg.norm(made), dtype=np.float32)


@QUICK
@given(st.sampled_from([1, 3, 384, 1024, 4096]), st.integers(1, 70), st.integers(0, 2**32))
def test_scores_are_those_of_whole_numbers(tmp_path: Path, size: int, rows: int, seed: int) -> None:
    file = VectorFile(tmp_path / f"{size}.i16", size)
    made = [unit(size, seed + row) for row in range(rows - 1)]
    query = unit(size, seed)  # the first row is the question itself: the largest score there is
    file.write(range(rows), np.zeros(rows, HEAD), file.packed([query, *made][:rows]))
    vectors = file.open(rows)[1][:rows]
    exact = vectors.astype(np.int64) @ np.rint(query.astype(np.float64) * file.scale).astype(np.int64)
    assert (file.scores(vectors, query).astype(np.int64) == exact).all()
    assert exact.max() < 2**24
    assert file.scores(vectors, query) / file.scale**2 == pytest.approx(
        [float(row.astype(np.float64) @ query) for row in [query, *made][:rows]], abs=2e-2 if size > 1024 else 3e-3
    )


def test_a_broken_twin_with_plain_products_is_caught() -> None:
    """The same vector, in float32 and unrounded, scores differently in another order of coordinates."""
    one, query = unit(384, 1), unit(384, 2)
    orders = [np.random.default_rng(seed).permutation(384) for seed in range(20)]
    assert len({np.dot(one[order], query[order]).tobytes() for order in orders}) > 1
    one, query = whole_numbers(one, 384), whole_numbers(query, 384)
    assert len({np.dot(one[order], query[order]).tobytes() for order in orders}) == 1


def test_erasing_cuts_and_overwrites_but_never_grows(tmp_path: Path) -> None:
    file = VectorFile(tmp_path / "v.i16", 4)
    file.erase([], 3)
    assert not (tmp_path / "v.i16").exists()
    file.write([0, 1, 5], np.zeros(3, HEAD), file.packed([unit(4, seed) for seed in range(3)]))
    file.erase([1], 2)
    heads, vectors = file.open(2)
    assert (heads.nbytes, vectors.nbytes) == (2 * HEAD.itemsize, 2 * 8)
    assert vectors.any(axis=1).tolist() == [True, False]
    file.erase([], 9)
    assert sum(path.stat().st_size for path in tmp_path.iterdir()) == 2 * sum(file.sizes.values())

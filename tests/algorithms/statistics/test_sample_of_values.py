"""The values of a unit that count where it has more than count: a sample of its own."""

from random import Random

from hypothesis import given
from hypothesis import strategies as st

from discreet.algorithms.statistics.values import sample

KEY = b"k" * 16
VALUES = st.lists(st.text(max_size=5), max_size=20)


@given(VALUES, st.integers(1, 8), st.randoms(use_true_random=False))
def test_sample_depends_on_the_unit_and_its_set_of_values(values: list[str], size: int, random: Random) -> None:
    other = [*values, *values[:3]]
    random.shuffle(other)
    found = sample(values, size, KEY)
    assert found == sample(other, size, KEY)
    assert set(found) <= set(values)
    assert len(found) == len(set(found)) == min(size, len(set(values)))


def test_no_letter_is_preferred() -> None:
    """Of 400 units with 30 of 60 values each, every value counts for a fifth: a deviation of 4 % at most."""
    random, names = Random(5), [f"{n:02}" for n in range(60)]
    units = [random.sample(names, 30) for _ in range(400)]
    samples = [sample(own, 6, bytes([n % 256]) * 16) for n, own in enumerate(units)]
    shares = [sum(name in own for own in samples) / sum(name in own for own in units) for name in names]
    assert 0.1 < min(shares) <= max(shares) < 0.3
    firsts = [sum(name in sorted(own)[:6] for own in units) for name in names]  # as the alphabet would have it
    assert firsts[-1] == 0


def test_units_with_the_same_values_have_different_samples() -> None:
    assert len({sample(tuple("abcdefgh"), 2, bytes([n]) * 16) for n in range(60)}) > 10

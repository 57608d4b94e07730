"""The values of a unit that count where it has more than count: a sample of its own."""

from random import Random

from hypothesis import given
from hypothesis import strategies as st

from discreet.statistics.values import sample

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

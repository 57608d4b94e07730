"""Batches of texts of about the same length."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.generation.torch_backend.length_buckets import STEP, in_order, length_buckets
from discreet.generation.torch_backend.transformers_model import TransformersModel
from discreet.synthesis.dp_synrag import ranked_keywords

pytestmark = pytest.mark.usefixtures("two_threads")
LENGTHS = st.lists(st.integers(0, 300), max_size=40)


@given(LENGTHS, st.integers(1, 200), st.integers(1, 9))
def test_every_text_is_in_one_batch_with_room_for_it(lengths: list[int], most: int, rows: int) -> None:
    found = list(length_buckets(lengths, most, rows))
    assert sorted(place for _, places in found for place in places) == list(range(len(lengths)))
    for room, places in found:
        assert 0 < len(places) <= rows
        assert all(min(lengths[place], most) <= room <= max(most, 1) for place in places)
        assert all(room - min(lengths[place], most) <= STEP for place in places)


@given(LENGTHS, st.integers(0, 300), st.integers(1, 200))
def test_a_text_has_the_room_that_it_has_alone(lengths: list[int], own: int, most: int) -> None:
    alone = next(iter(length_buckets([own], most, 4)))[0]
    found = next(room for room, places in length_buckets([*lengths, own], most, 4) if len(lengths) in places)
    assert found == alone


def test_keywords_do_not_depend_on_lengths_of_other_texts(smollm: TransformersModel) -> None:
    texts = ["The diagnosis is Flumplenax.", "She reports a humming noise in both ears. " * 6, "No.", "", "word " * 40]
    together = in_order(ranked_keywords(smollm, texts, 4, 96))
    assert together == [next(ranked_keywords(smollm, [text], 4, 96))[1] for text in texts]
    assert together[0][0][0] == "flumplenax"

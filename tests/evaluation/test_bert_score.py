"""BERTScore: by hand, by its laws, and by the numbers of the authors' package."""

import numpy as np
import pytest

from discreet.errors import UnknownName, UsageError
from discreet_lab.evaluation.bert_score import (
    TokenVectors,
    TransformersTokens,
    bert_score,
    match_greedily,
    open_token_embedder,
)


def read(*rows: tuple[float, float], begins: bool = False) -> TokenVectors:
    counts = np.ones(len(rows), dtype=bool)
    counts[0] = not begins
    return TokenVectors(np.array(rows, dtype=np.float32), counts)


def test_score_of_three_vectors_by_hand() -> None:
    answer, reference = read((1, 0), (0, 1)), read((0.6, 0.8))
    found = match_greedily(answer, reference)
    assert found.precision == pytest.approx((0.6 + 0.8) / 2)
    assert found.recall == pytest.approx(0.8)
    assert found.f1 == pytest.approx(2 * 0.7 * 0.8 / 1.5)


# (precision, recall) of the package bert-score 0.3.13: this model, layer 6, idf=False, no rescaling.
PACKAGE = {
    ("The treatment is willow bark baths.", "willow bark baths"): (0.8127101, 0.9704709),
    ("Take ginger gloves for your hands.", "The patient is given gloves of ginger."): (0.6344971, 0.5664572),
    ("no", "yes it is"): (0.6982352, 0.3448210),
}


@pytest.mark.parametrize("texts", PACKAGE, ids=lambda texts: texts[0][:20])
def test_score_with_minilm_is_that_of_the_authors_package(texts: tuple[str, str]) -> None:
    answer, reference = texts
    found = bert_score(answer, [reference], open_token_embedder())
    assert (found.precision, found.recall) == pytest.approx(PACKAGE[texts], abs=1e-5)


def test_nearest_reference_counts_with_minilm() -> None:
    near = bert_score("ginger gloves", ["mint rinses", "ginger gloves"], open_token_embedder())
    assert near.f1 == pytest.approx(1, abs=1e-6)
    with pytest.raises(UsageError, match="there is none"):
        bert_score("ginger gloves", [], open_token_embedder())


def test_layer_of_minilm_is_chosen_and_wrong_ones_are_explained() -> None:
    first = bert_score("ginger gloves", ["mint rinses"], TransformersTokens(layer=1))
    last = bert_score("ginger gloves", ["mint rinses"], TransformersTokens(layer=6))
    assert first.f1 != last.f1
    assert last == bert_score("ginger gloves", ["mint rinses"], open_token_embedder())
    with pytest.raises(UsageError, match="layers 1 to 6"):
        TransformersTokens(layer=7)
    with pytest.raises(UnknownName, match="encoder"):
        TransformersTokens("no/such/folder")

"""BERTScore: by hand, by its laws, and by the numbers of the authors' package."""

import pytest

from discreet.errors import UnknownName, UsageError
from discreet_lab.evaluation.bert_score import (
    TransformersTokens,
    bert_score,
    open_token_embedder,
)

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


def test_layer_of_minilm_is_chosen_and_wrong_ones_are_explained() -> None:
    first = bert_score("ginger gloves", ["mint rinses"], TransformersTokens(layer=1))
    last = bert_score("ginger gloves", ["mint rinses"], TransformersTokens(layer=6))
    assert first.f1 != last.f1
    assert last == bert_score("ginger gloves", ["mint rinses"], open_token_embedder())
    with pytest.raises(UsageError, match="layers 1 to 6"):
        TransformersTokens(layer=7)
    with pytest.raises(UnknownName, match="encoder"):
        TransformersTokens("no/such/folder")

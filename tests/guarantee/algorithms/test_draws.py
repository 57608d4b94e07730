"""How much noise is drawn: it follows from public and released numbers, not from the values of one unit."""

import math
from collections import Counter
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from discreet.privacy.mechanisms import counting as keyword_counts
from discreet.privacy.mechanisms.counting import (
    MOST_DRAWS,
    GaussianHistogram,
    KeywordCounts,
    NoisyHistogram,
    ThresholdedCounts,
)
from discreet.privacy.noise import InsecureSeededNoise, Noise, Whole, gaussians_in_calls
from discreet.registry import ListValues, Summary
from discreet.statistics.cells import choose_counts
from discreet.statistics.values import BEYOND, ValueCounts
from discreet.store.documents import Document
from tests.exact import _paths
from tests.guarantee.algorithms.test_statistics import PLENTY, answer, corpus_of

OWN = [f"own{number}" for number in range(6)]


class Watched(InsecureSeededNoise):
    """Noise that notes each call with its size."""

    def __init__(self, seed: int = 0) -> None:
        super().__init__(seed)
        self.calls: list[tuple[str, int]] = []

    def laplace(self, scale: float) -> int:
        self.calls.append(("laplace", 1))
        return super().laplace(scale)

    def gaussian(self, scale: float) -> int:
        self.calls.append(("gaussian", 1))
        return 0

    def gaussians(self, scale: float, count: int) -> Whole:
        self.calls.append(("gaussians", count))
        return np.zeros(count, dtype=np.int64)


class DrawnForEachValue(KeywordCounts):
    """BROKEN: the number of draws follows the values that occur."""

    def draw(self, shares: Sequence[Collection[str]], noise: Noise) -> dict[str, int]:
        counts = Counter(word for share in shares for word in sorted(set(share))[: self.words])
        noisy = {word: counts[word] + noise.gaussian(self.sigma) for word in sorted(counts)}
        return {word: count for word, count in noisy.items() if count >= self.threshold}


def calls(mechanism: Any, shares: Sequence[object]) -> list[tuple[str, int]]:
    noise = Watched()
    mechanism.draw(shares, noise)
    return noise.calls


@pytest.mark.parametrize(
    ("mechanism", "usual", "unusual"),
    [
        (KeywordCounts(6, 2.0, 1e-6).of_units(60), ["a"], OWN),
        (KeywordCounts(6, 2.0, 1e-6).of_units(60), [], OWN),
        (ThresholdedCounts(2.0, 9, 6), ["a"], OWN),
        (ThresholdedCounts(2.0, 9, 6).with_candidates(("a", "other")), [], OWN),
        (GaussianHistogram(3, 2.0), 0, 2),
        (NoisyHistogram(3, 2.0), 0, 2),
    ],
)
def test_draws_do_not_follow_the_values_of_a_unit(mechanism: Any, usual: object, unusual: object) -> None:
    others: list[object] = [["a", "b"]] * 20 if isinstance(usual, list) else [0] * 20
    assert calls(mechanism, [*others, usual]) == calls(mechanism, [*others, unusual])


def test_a_draw_for_each_value_is_caught() -> None:
    twin, others = DrawnForEachValue(6, 2.0, 1e-6).of_units(60), [["a", "b"]] * 20
    assert len(calls(twin, [*others, ["a"]])) == 2
    assert len(calls(twin, [*others, OWN])) == 8


def test_more_values_than_expected_are_drawn_in_equal_calls() -> None:
    made = KeywordCounts(2, 0.01, 1e-6).of_units(2)
    assert calls(made, [["a", "b"], ["c", "d"]]) == [("gaussians", 4)]
    assert calls(made, [["a", "b"], ["c", "d"], ["e"]]) == [("gaussians", 4)] * 2
    assert KeywordCounts(6, 2.0, 1e-6).draws == KeywordCounts(6, 2.0, 1e-6).of_units(10**9).draws == MOST_DRAWS
    assert KeywordCounts(6, 2.0, 1e-6).of_units(-5).draws == 6  # a released number may be negative


def test_draws_that_are_thrown_away_change_no_law() -> None:
    laws = []
    for size in (1, 2):
        law = Counter[int]()
        for noise in _paths():
            law[gaussians_in_calls(noise, 0.4, size, 1)[0]] += noise.probability  # type: ignore[assignment]
        laws.append([law[z] for z in sorted(law)])
    assert laws[0] == pytest.approx(laws[1])


def documents(last: Sequence[str]) -> list[Document]:
    own = [("drug", [f"drug{number % 3}"]) for number in range(150)] + [("drug", last)]
    return [
        Document(f"d{unit}", f"u{unit}", "; ".join(f"{kind}: {value}" for value in values) + ".")
        for unit, (kind, values) in enumerate(own)
    ]


@pytest.mark.parametrize("statistic", [ListValues(attribute="drug", epsilon=20.0), Summary(epsilon=20.0)])
def test_neighbouring_vaults_draw_the_same_noise(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, statistic: ValueCounts
) -> None:
    """Of a list in two vaults that differ in the values of one unit; and the broken twin."""
    corpora = [corpus_of(tmp_path / name, documents(own)) for name, own in (("usual", ["drug1"]), ("unusual", OWN))]

    def transcripts() -> list[list[tuple[str, int]]]:
        found = []
        for corpus in corpora:
            noise = Watched()
            table = answer(corpus, statistic, noise=noise)[0].table
            assert table[-1].value == 151  # what is released is equal, too
            found.append(noise.calls)
        return found

    usual, unusual = transcripts()
    size, values = choose_counts(statistic.price(PLENTY), statistic.each)
    assert (
        usual
        == unusual
        == [("gaussian", 1), ("gaussians", values.of_units(151 + math.ceil(BEYOND * size.sigma)).draws)]
    )
    monkeypatch.setattr(keyword_counts.KeywordCounts, "draw", DrawnForEachValue.draw)
    usual, unusual = transcripts()
    assert len(unusual) == len(usual) + len(OWN)

"""Every method of making a corpus is audited from the store to the file; broken ones are flagged."""

import json
import math
from dataclasses import replace

import pytest

from discreet.privacy.noise import InsecureSeededNoise
from discreet.synthesis.runner import METHODS
from discreet_lab.audit.case import run
from discreet_lab.audit.corpora import PAIRS, CorpusCase, corpora, corpus_cases
from discreet_lab.audit.mutants import BrokenFacts, twins_of_corpora

MADE = corpora(2.0)


def test_every_method_is_audited_and_has_a_twin() -> None:
    assert set(MADE) == set(METHODS)
    assert len(corpus_cases(2.0)) == len(METHODS) * len(PAIRS)
    assert len(corpus_cases(2.0, ["aug-pe"])) == len(PAIRS)
    assert {case.name for case in twins_of_corpora(2.0)} == set(METHODS)


@pytest.mark.parametrize("name", MADE)
def test_the_real_ones_keep_their_claims(name: str) -> None:
    method, crowd = MADE[name]
    found = run(
        [CorpusCase(name, method, crowd, pair) for pair in PAIRS[:2]], InsecureSeededNoise(0), draws=60, confidence=0.99
    )
    assert [finding for finding in found if finding.violated] == []


@pytest.mark.parametrize(("name", "draws"), [("dp-facts", 150), ("dp-synrag", 150)])
def test_too_little_noise_is_flagged(name: str, draws: int) -> None:
    quiet, *_ = twins_of_corpora(2.0, [name])
    (found,) = run([quiet], InsecureSeededNoise(1), draws=draws)
    assert found.violated


def test_facts_without_a_threshold_are_flagged() -> None:
    *_, twin = twins_of_corpora(2.0, ["dp-facts"])
    assert isinstance(twin, CorpusCase)
    assert isinstance(twin.method, BrokenFacts)
    (found,) = run([twin], InsecureSeededNoise(1), draws=250)
    assert found.violated


def test_what_is_audited_is_all_that_leaves_the_vault() -> None:
    method, crowd = MADE["dp-facts"]
    case = CorpusCase("dp-facts", method, crowd, PAIRS[0])
    first, second = case.sample(2, InsecureSeededNoise(3), lambda _: None)
    assert (first, second) == case.sample(2, InsecureSeededNoise(3), lambda _: None)
    texts, receipt, plan, left = json.loads(str(first[0]))
    assert all(len(text) == 3 for text in texts)
    assert receipt["epsilon"] <= 2.0
    assert plan["method"] == "dp-facts"
    assert left == 5.0  # units pay by themselves: nothing that everybody sees changes


@pytest.mark.parametrize("name", MADE)
def test_what_is_claimed_is_what_the_steps_cost(name: str) -> None:
    case = CorpusCase(name, *MADE[name], PAIRS[0])
    epsilon, delta = case.claim
    assert epsilon == pytest.approx(2.0, rel=1e-6)
    assert delta == 0.01
    first, _ = case.sample(10, InsecureSeededNoise(0), lambda _: None)
    # Where no keyword is released, nothing is written, and what that would have cost is not taken.
    assert max(json.loads(str(made))[1]["epsilon"] for made in first) == pytest.approx(epsilon, rel=1e-6)


def test_a_unit_that_becomes_another_is_two_steps() -> None:
    case = CorpusCase("dp-synth", *MADE["dp-synth"], PAIRS[-1])
    once, _ = replace(case, pair=PAIRS[0]).claim
    assert case.claim == pytest.approx((2 * once, 0.01 * (1 + math.exp(once))))

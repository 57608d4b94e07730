"""The presets: they are the papers' settings, keep their epsilon, and say where the specification is taken."""

from dataclasses import fields
from itertools import product
from typing import Any

import pytest

from discreet.errors import UsageError
from discreet.models.toy import ToyModel
from discreet.privacy.accounting import Budget, Spending
from discreet.privacy.costs import Together
from discreet.privacy.partition import REPLACE_ONE
from discreet.registry import ALGORITHMS, make_algorithm
from discreet.synthesis.dp_synrag import DPSynRAG
from discreet.synthesis.runner import METHODS
from discreet_lab.bench.open_data import QUICK_EQUAL
from discreet_lab.bench.papers.dp_vote_rag_tables import REPORTED, TOKENS, TOTALS, VOTERS
from discreet_lab.bench.presets import PAPER, PrintedSynRAG, as_printed, list_keywords, printed_tokens, with_preset
from discreet_lab.bench.runner import BenchOptions, run_table
from discreet_lab.bench.tables import find_table

CORPORA = {"dp-synrag"}
VOCABULARY = 50_000


@pytest.mark.parametrize("name", PAPER)
def test_parameters_of_a_preset_exist(name: str) -> None:
    if name in CORPORA:
        PrintedSynRAG(epsilon=10, delta=1e-5, **PAPER[name].parameters)
        return
    given = dict(PAPER[name].parameters)
    inner = ALGORITHMS[given.pop("inner")] if "inner" in given else ALGORITHMS[name]
    assert given.keys() <= {one.name for kind in (ALGORITHMS[name], inner) for one in fields(kind)}


@pytest.mark.parametrize("name", ["dp-vote-rag", "dp-sparse-vote-rag"])
@pytest.mark.parametrize(("token", "epsilon"), list(product(TOKENS, TOTALS)))
def test_votes_have_the_papers_tokens_and_keep_their_epsilon(name: str, token: float, epsilon: float) -> None:
    options = with_preset("paper", name, {"epsilon": epsilon, "epsilon_token": token})
    made: Any = as_printed(make_algorithm(name, options, strict=False))
    rounds = made.calibrate(Budget(20, 1e-4, 5e-5), VOCABULARY)
    assert rounds.plan.rounds == printed_tokens(token, epsilon) == min(10, int(epsilon / token))
    assert rounds.delta == pytest.approx(1e-5)
    costs = [one.cost(REPLACE_ONE) for one in made.mechanisms(rounds.epsilon, rounds.delta, REPLACE_ONE, VOCABULARY)]
    assert sum(one.curve[-1] for one in costs) <= token  # at the order of infinity
    assert rounds.plan.ceiling.admits(Spending.of(Together(tuple(costs)), rounds.plan.rounds))
    assert (rounds.plan.ceiling.epsilon, rounds.plan.ceiling.delta) == (epsilon, 1e-4)


def test_printed_tables_are_alike_where_the_number_of_tokens_is() -> None:
    """Both deltas of the paper allow ten tokens: its own tables show it, where more epsilon changes no figure."""
    for figures, _ in REPORTED.values():
        for voters, token, (less, more) in product(VOTERS, TOKENS, [(10.0, 20.0), (20.0, 40.0)]):
            if printed_tokens(token, less) == printed_tokens(token, more):
                assert figures["dp-vote-rag", voters, token, less] == figures["dp-vote-rag", voters, token, more]


def test_preset_gives_way_to_what_is_given() -> None:
    assert with_preset("paper", "dp-vote-rag", {"voters": 30, "epsilon_token": None})["voters"] == 30
    assert with_preset("paper", "dp-vote-rag", {"epsilon_token": None})["epsilon_token"] == 2
    assert with_preset("ours", "dp-vote-rag", {"voters": 30}) == {"voters": 30}
    assert METHODS["dp-synrag"](epsilon=10).list_keywords is None
    with pytest.raises(UsageError, match="no preset"):
        run_table(find_table("murag-overlap"), BenchOptions(preset="paper"))


@pytest.mark.parametrize(("preset", "heard"), [("paper", False), ("ours", True)])
def test_patients_of_a_disease_in_a_quick_run_are_too_few_for_the_printed_settings(preset: str, heard: bool) -> None:
    """At epsilon 10, more patients must agree on an unexpected token than have a disease: no text can name one."""
    kind = PrintedSynRAG if preset == "paper" else METHODS["dp-synrag"]
    method: Any = kind(epsilon=10, delta=1e-5, **with_preset(preset, "dp-synrag", {}))
    plan = method.plan(Budget(15, 1e-5, 0.5e-5), Spending.nothing(), 384, 1000)
    needed = plan.steps(VOCABULARY)["voices_needed"]
    assert needed == (23 if heard else 62)
    assert (needed < QUICK_EQUAL[0]) is heard


def test_printed_corpus_drops_no_text_for_want_of_a_keyword() -> None:
    assert PrintedSynRAG(epsilon=10).keeps("My knee hurts.", ["gout"])
    assert not DPSynRAG(epsilon=10).keeps("My knee hurts.", ["gout"])
    assert DPSynRAG(epsilon=10).keeps("My gout hurts.", ["knee", "gout"])


def test_keywords_are_those_that_the_model_lists_of_a_text_and_that_stand_in_it() -> None:
    model = ToyModel("knee gout tea , other".split(), default="knee , gout , other", size=64)
    texts = ["A knee has gout.", "Tea helps.", "My knee."]
    found = dict(list_keywords(model, texts, 10, 32))
    assert found == {0: (("knee", 10.0), ("gout", 9.0)), 1: (), 2: (("knee", 10.0),)}

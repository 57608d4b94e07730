"""The benchmark of faster answers: each change has a setting of its own, and the numbers keep their meaning."""

from dataclasses import replace

import pytest
from benchmarks.answer_speed import (
    DEFAULT,
    LIGHTEST_FIRST,
    READ,
    USUAL,
    all_settings,
    parse_arguments,
    settings,
    voters_by_epsilon,
)

from discreet.algorithms.common.algorithm import Algorithm
from discreet.planning.prices import VOCABULARY, vault_budget
from discreet.registry import Consensus, MuRAGAda

BUDGET = vault_budget(8.0, 1e-6)


def made(*options: str) -> list[tuple[str, Algorithm]]:
    return all_settings(parse_arguments(["VAULT", "QUESTIONS", *options])[1], BUDGET)


def test_numbers_of_recorded_commands_keep_their_settings() -> None:
    recorded = [DEFAULT, "passages of 64", "and at most 64 rows", "and answers of 20", READ]
    assert [name for name, _ in made()][: len(recorded)] == recorded
    assert USUAL == (0, 1, 2, 3, 4)


def test_each_later_setting_has_one_change_and_the_last_two_have_all() -> None:
    _, tokens, window, voters, price, together, shortest = (algorithm for _, algorithm in made()[4:])
    assert tokens == MuRAGAda(inner=Consensus(max_tokens=20))
    assert window == MuRAGAda(inner=Consensus(passage_tokens=96))
    assert voters == MuRAGAda(inner=Consensus(voters=19), all_vote=False, epsilon=2.5)
    assert price == MuRAGAda(epsilon=2.5)
    all_three = Consensus(voters=19, passage_tokens=96, max_tokens=20)
    assert together == MuRAGAda(inner=all_three, all_vote=False, epsilon=2.5)
    assert shortest == replace(together, inner=replace(all_three, passage_tokens=64))


def test_names_differ_even_if_the_numbers_are_equal() -> None:
    assert len({name for name, _ in made("--tokens", "32")}) == len(LIGHTEST_FIRST)
    alike = made("--window", "64", "--passage", "64")
    assert alike[-1] == alike[-2]
    assert len(dict(alike[:-1])) == len(LIGHTEST_FIRST) - 1


def test_order_of_the_run_leaves_no_setting_out() -> None:
    _, given = parse_arguments(["VAULT", "QUESTIONS", "--settings", "0", "5", "9"])
    assert sorted(LIGHTEST_FIRST) == list(range(len(LIGHTEST_FIRST)))
    ordered = settings(given, BUDGET, LIGHTEST_FIRST)
    assert list(ordered) == list(reversed(settings(given, BUDGET)))
    assert len(ordered) == 3


@pytest.mark.parametrize(("price", "voters"), [(1.0, 20), (2.5, 19), (3.0, 15), (4.0, 12), (8.0, 10)])
def test_number_of_voters_follows_epsilon(price: float, voters: int) -> None:
    assert voters_by_epsilon(price, BUDGET) == voters
    algorithm = MuRAGAda(inner=Consensus(voters=voters), all_vote=False, epsilon=price)
    if price > 1:  # for less, so few voters release nothing, and the question is refused
        algorithm.plan(BUDGET, VOCABULARY)

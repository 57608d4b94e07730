"""Answers of algorithms to single questions, by their parameters."""

from collections.abc import Iterator, Sequence
from dataclasses import fields
from itertools import product
from typing import Any

from discreet.algorithms.base import Algorithm
from discreet.errors import UsageError
from discreet.query.known_answers import KnownQuestion
from discreet.registry import ALGORITHMS, make_algorithm
from discreet_lab.bench.measures import columns_on, measured
from discreet_lab.bench.presets import as_printed, with_preset
from discreet_lab.bench.run import BenchRun
from discreet_lab.bench.table import Row
from discreet_lab.evaluation.experiment import ScoredAnswer, run_answers

Settings = dict[tuple[tuple[str, Any], ...], Algorithm]
"""Algorithms by the cells that identify their rows."""


def run(given: BenchRun) -> list[Row]:
    """Return a row for each algorithm and each of its parameters; with `by_support`, for each class of questions."""
    settings = {key: one for key, one in settings_of(given).items() if is_affordable(given, key, one)}
    once = list(dict.fromkeys(settings.values()))
    given.deltas |= {delta for one in once if isinstance(delta := getattr(one, "delta", None), float)}
    advance = given.count("answering", len(given.questions) * len(once) * given.seeds)
    outcomes: dict[Algorithm, list[list[ScoredAnswer]]] = {one: [] for one in once}
    for question in given.questions:
        answers = run_answers(given.vault, [question], once, given.seeds, advance, given.model, first_seed=given.seed)
        for one in once:
            outcomes[one] += answers[one]
    columns = columns_on(given.table.columns, given.data)
    rows = []
    for key, one in settings.items():
        for name, ranks in groups_of(given).items():
            chosen_questions, said = [given.questions[rank] for rank in ranks], [outcomes[one][rank] for rank in ranks]
            group = {"documents an answer": name, "questions": len(ranks)} if name else {}
            rows.append({**dict(key), **group, **measured(columns, chosen_questions, said, given.encoder)})
    return rows


def settings_of(given: BenchRun) -> Settings:
    """Return the algorithms of the sweep, and the added ones, with every combination of the parameters they have."""
    names = [*given.values["algorithm"], *given.plugins]
    varied = {name: values for name, values in given.values.items() if name != "algorithm"}
    settings: Settings = {}
    shared = {**given.parameters, **({} if given.delta is None else {"delta": given.delta})}
    for name in names:
        own = {one.name for one in fields(ALGORITHMS[name])}
        for values in product(*(values if key in own else (None,) for key, values in varied.items())):
            options = dict(zip(varied, values, strict=True))
            algorithm = make_algorithm(name, with_preset(given.preset, name, {**shared, **options}), strict=False)
            settings[(("algorithm", name), *options.items())] = (
                as_printed(algorithm) if given.preset == "paper" else algorithm
            )
    return settings


def is_affordable(given: BenchRun, key: Sequence[tuple[str, Any]], algorithm: Algorithm) -> bool:
    """Return whether the budget is enough for anything to be released. If not, a note says so."""
    try:
        algorithm.plan(given.vault.ledger.budget, given.vault.model.vocabulary_size)
    except UsageError:
        at = ", ".join(str(value) if name == "algorithm" else f"{name} {value}" for name, value in key if value)
        given.notes.append(f"Left out, since so small a budget releases nothing: {at}.")
        return False
    return True


def groups_of(given: BenchRun) -> dict[str, list[int]]:
    """Return the ranks of questions of each class by support; one class "" for all if the table has no classes."""
    edges = given.one("by_support")
    if not edges:
        return {"": list(range(len(given.questions)))}
    groups = dict(_classes(edges, given.questions))
    if not groups:
        given.notes.append('The file of questions has no "support", so all questions are one class.')
        return {"all": list(range(len(given.questions)))}
    return groups


def _classes(edges: Sequence[int], questions: Sequence[KnownQuestion]) -> Iterator[tuple[str, list[int]]]:
    for low, high in zip(edges, [*edges[1:], None], strict=True):
        ranks = [
            rank
            for rank, one in enumerate(questions)
            if one.support is not None and one.support >= low and (high is None or one.support < high)
        ]
        if ranks:
            yield (f"{low} or more" if high is None else f"{low} to {high - 1}"), ranks

"""One budget for many questions: each pays a part, or a synthetic corpus is paid once."""

from collections.abc import Callable, Mapping
from functools import partial

from discreet.algorithms.base import Algorithm
from discreet.errors import BadData, UsageError
from discreet.privacy.accounting import Budget, largest
from discreet.registry import make_algorithm
from discreet.retrieval.public import PublicTexts
from discreet.synthesis.runner import METHODS
from discreet_lab.attacks.simulation import copied, documents_of, private_folder
from discreet_lab.bench.experiments.corpora import read_corpus, read_texts, simulate_corpus
from discreet_lab.bench.run import BenchRun
from discreet_lab.bench.table import Row
from discreet_lab.evaluation.experiment import run_answers, summary
from discreet_lab.evaluation.metrics import mean_and_margin, score

LEAST = 0.01
Priced = Callable[[float], Algorithm]
"""The algorithm at an epsilon of a question."""


def find_fitting(at: Priced, budget: Budget, number: int, vocabulary: int) -> Algorithm | None:
    """Return the algorithm at the largest price of which `number` fit into the budget; None if it releases nothing."""

    def fits(epsilon: float) -> bool:
        try:
            plan = at(epsilon).plan(budget, vocabulary)
        except UsageError:  # too small to release anything
            return True
        return plan is None or budget.admits(plan.max_cost.times(number))

    fitting = at(largest(fits, LEAST, budget.epsilon))
    try:
        plan = fitting.plan(budget, vocabulary)
    except UsageError:
        return None
    # Even the least price may be too much for so many questions.
    return fitting if plan is None or budget.admits(plan.max_cost.times(number)) else None


def run(given: BenchRun) -> list[Row]:
    """Return a row for each way to answer and each number of questions that share one budget."""
    epsilon = given.only_epsilon
    delta = given.vault.settings.delta
    budget = Budget(epsilon, delta, 0.5 * delta)
    return [*_corpus_rows(given, epsilon), *_query_rows(given, budget)]


def _query_rows(given: BenchRun, budget: Budget) -> list[Row]:
    model, rows = given.model, []
    names = [*given.values["algorithm"], *given.plugins]
    advance = given.count("answering", len(names) * len(given.values["number"]))
    for name in names:
        for number in given.values["number"]:
            own = {**given.parameters, "delta": budget.failures / number}
            algorithm = find_fitting(partial(priced, name, own), budget, number, given.vault.model.vocabulary_size)
            row: Row = {"way": name, "number": number, "epsilon of a question": None, "accuracy": None, "margin": None}
            if algorithm is not None:
                found = run_answers(
                    given.vault, given.questions, [algorithm], given.seeds, model=model, first_seed=given.seed
                )
                means = summary(algorithm, found[algorithm])
                price = getattr(algorithm, "epsilon", None)
                row |= {"epsilon of a question": price, "accuracy": means.accuracy, "margin": means.accuracy_margin}
            rows.append(row)
            advance()
    return rows


def priced(name: str, options: Mapping[str, object], epsilon: float) -> Algorithm:
    """Return the algorithm at an epsilon of a question."""
    return make_algorithm(name, {**options, "epsilon": epsilon}, strict=False)


def _corpus_rows(given: BenchRun, epsilon: float) -> list[Row]:
    rows: list[Row] = []
    with private_folder() as folder, copied(given.vault, folder / "copy", documents_of(given.vault), []) as copy:
        for label, name, options in given.values["corpus"]:
            path = folder / f"{label}.jsonl"
            method = METHODS[name](epsilon=epsilon, delta=given.vault.settings.delta, **options)
            try:
                simulate_corpus(copy, method, path, given.seed, given.on_progress)
            except (BadData, UsageError) as error:
                given.notes.append(f"{label}: {error}")
            public = PublicTexts(read_texts(path) or [""], given.vault.embedder)
            said = read_corpus(given.vault, public, [one.question for one in given.questions], 1)
            scores = [score(text, q.answers, q.kind) for text, q in zip(said, given.questions, strict=True)]
            mean, margin = mean_and_margin([[value] for value in scores])
            same = {"epsilon of a question": 0.0, "accuracy": mean, "margin": margin}
            rows += [{"way": f"{label}, paid once", "number": number, **same} for number in given.values["number"]]
    return rows

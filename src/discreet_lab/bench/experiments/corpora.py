"""Synthetic corpora in simulation, and plain RAG over them, beside algorithms that pay for each question.

One budget serves many questions: each pays a part of it, or a corpus is paid for once.
"""

import json
import zlib
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from discreet.algorithms.base import Algorithm
from discreet.errors import BadData, UsageError
from discreet.models.capabilities import require_scores
from discreet.privacy.accounting import Budget, largest
from discreet.privacy.filter import MemoryLedger
from discreet.privacy.noise import InsecureSeededNoise
from discreet.query.known_answers import KnownQuestion, matches
from discreet.registry import RAG, make_algorithm
from discreet.store.public import PublicTexts
from discreet.synthesis.base import SynthesisAlgorithm
from discreet.synthesis.dp_synrag import useful
from discreet.synthesis.runner import METHODS, Synthetic, Told, make_corpus
from discreet.vault import Vault
from discreet_lab.attacks.simulation import copied, documents_of, private_folder
from discreet_lab.bench.experiments.answers import groups_of, is_affordable
from discreet_lab.bench.measures import columns_on, measured
from discreet_lab.bench.presets import PrintedSynRAG, preset_of, says_yes, with_preset
from discreet_lab.bench.run import BenchRun
from discreet_lab.bench.table import THE_QUESTIONS, Row
from discreet_lab.evaluation.experiment import ScoredAnswer, run_answers, summary
from discreet_lab.evaluation.metrics import mean_and_margin, score

DELTA = 1e-5


def simulate_corpus(
    vault: Vault, method: SynthesisAlgorithm[Any], path: Path, seed: int, on_progress: Told
) -> Synthetic:
    """Make a corpus with seeded noise, as if it were paid. The vault must be a copy: its unfinished run is lost.

    Raises:
        BadData: if the corpus has no text.
    """
    assert method.delta is not None
    # Plans fill a budget of their own; the order at which this one adds up costs a little more.
    budget = Budget(1.5 * method.epsilon, method.delta, 0.5 * method.delta)
    noise = InsecureSeededNoise(zlib.crc32(f"{path.stem}|{seed}".encode()))
    shop = vault.workshop(noise, MemoryLedger(budget, simulation=True))
    # What another setting left unfinished is of no use to this one.
    (shop.folder / "run.jsonl").unlink(missing_ok=True)
    return make_corpus(shop, path, method, only_new=False, force=False, told=on_progress)


def read_corpus(
    vault: Vault, texts: PublicTexts, questions: Sequence[str], count: int, max_tokens: int = 32
) -> list[str]:
    """Return answers of plain RAG, each from the `count` texts nearest to its question."""
    reader = RAG(units=count, max_tokens=max_tokens)
    read = [(question, texts.unsealed_passages(question, count)) for question in questions]
    return [draft.text for draft in reader.read_all(read, vault.model)]


def share_told(texts: Sequence[str], questions: Sequence[KnownQuestion]) -> float:
    """Return the share of questions of which some text holds an acceptable answer: the most there is to find."""
    return sum(any(matches(text, one.answers) for text in texts) for one in questions) / len(questions)


def read_texts(path: Path) -> list[str]:
    """Return the texts of a corpus; none if it was not written."""
    if not path.exists():
        return []
    return [json.loads(line)["text"] for line in path.read_text(encoding="utf-8").splitlines()]


def run(given: BenchRun) -> list[Row]:
    """Return a row for each synthetic corpus, and for each algorithm that pays for each question."""
    given.deltas.add(given.delta or DELTA)
    return [*_query_time(given), *_synthetic(given)]


def _query_time(given: BenchRun) -> list[Row]:
    """Return the rows of the algorithms that pay for each question, and of the baselines."""
    columns = columns_on(given.table.columns, given.data)
    shared = given.parameters
    settings: dict[tuple[str, float | None], Any] = {}
    for name in [*given.values.get("algorithm", ()), *given.plugins]:
        for epsilon in given.values["epsilon"]:
            one = make_algorithm(name, with_preset(given.preset, name, {**shared, "epsilon": epsilon}), strict=False)
            settings[name, getattr(one, "epsilon", None)] = one
    settings = {key: one for key, one in settings.items() if is_affordable(given, [("algorithm", key[0])], one)}
    advance = given.count("answering", len(settings) * len(given.questions) * given.seeds)
    found = run_answers(
        given.vault, given.questions, list(settings.values()), given.seeds, advance, first_seed=given.seed
    )
    rows = []
    for (name, epsilon), one in settings.items():
        paid = {"paid": "each question" if one.spec.private and epsilon is not None else None}
        rows += _grouped(given, {"corpus": name, "epsilon": epsilon, **paid}, columns, found[one])
    return rows


def _synthetic(given: BenchRun) -> list[Row]:
    """Return the rows of the corpora, which are made from a copy of the vault."""
    columns = columns_on(given.table.columns, given.data)
    rows = []
    texts_of: dict[SynthesisAlgorithm[Any], list[str]] = {}
    with private_folder() as folder, copied(given.vault, folder / "copy", documents_of(given.vault), []) as copy:
        for label, name, options in given.values["corpus"]:
            for epsilon in given.values["epsilon"]:
                of_all = {key: value for key, value in options.items() if key not in _left_out(given, name)}
                kind = PrintedSynRAG if given.preset == "paper" and name == PrintedSynRAG.name else METHODS[name]
                method = kind(epsilon=epsilon, delta=given.delta or DELTA, **with_preset(given.preset, name, of_all))
                # A task drops texts of a corpus, so the corpus is not made again for it.
                if method not in texts_of:
                    texts_of[method] = _made(given, copy, method, folder / f"{label}-{epsilon:g}.jsonl")
                texts = (
                    keep_useful(given, texts_of[method]) if options.get("task") == THE_QUESTIONS else texts_of[method]
                )
                outcomes = _answers_of(given, texts)
                key = {"corpus": label, "epsilon": epsilon, "paid": "once"}
                more = {"texts": len(texts), "told": share_told(texts, given.questions)}
                rows += [row | more for row in _grouped(given, key, columns, outcomes)]
    return rows


def _left_out(given: BenchRun, name: str) -> set[str]:
    """Return the options that are no parameters of a method, or that its preset has in their place."""
    return {"task", *({"keywords"} & preset_of(given.preset, name).parameters.keys())}


def _made(given: BenchRun, copy: Vault, method: SynthesisAlgorithm[Any], path: Path) -> list[str]:
    try:
        made = simulate_corpus(copy, method, path, given.seed, given.on_progress)
        given.notes.append(f"{path.stem}: {len(made.kept)} of {len(made.texts)} texts that were written are kept.")
    except (BadData, UsageError) as error:
        given.notes.append(f"{path.stem}: {error}")
    return read_texts(path)


def keep_useful(given: BenchRun, texts: Sequence[str]) -> list[str]:
    """Return the texts that the model finds of use for questions such as the first one."""
    model = require_scores(given.vault.model, "the self-filter")
    judge = says_yes if given.preset == "paper" else useful
    kept = judge(model, f"answer questions such as: {given.questions[0].question}", texts) if texts else []
    return [text for text, use in zip(texts, kept, strict=True) if use]


def _answers_of(given: BenchRun, texts: Sequence[str]) -> list[list[ScoredAnswer]]:
    public = PublicTexts(list(texts) or [""], given.vault.embedder)
    asked = [one.question for one in given.questions]
    said = read_corpus(given.vault, public, asked, 1, given.parameters.get("max_tokens", 32))
    return [
        [ScoredAnswer(one.id, 0, text, "end", matches(text, one.answers), 0, 0, False, None, 0.0)]
        for one, text in zip(given.questions, said, strict=True)
    ]


def _grouped(
    given: BenchRun, key: Row, columns: Sequence[str], outcomes: Sequence[Sequence[ScoredAnswer]]
) -> list[Row]:
    rows = []
    for name, ranks in groups_of(given).items():
        group = {"documents an answer": name, "questions": len(ranks)} if name else {}
        chosen_questions, said = [given.questions[rank] for rank in ranks], [outcomes[rank] for rank in ranks]
        rows.append({**key, **group, **measured(columns, chosen_questions, said, given.encoder)})
    return rows


# --- many questions ---------------------------------------------------------------------------------------------------


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


def run_many(given: BenchRun) -> list[Row]:
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

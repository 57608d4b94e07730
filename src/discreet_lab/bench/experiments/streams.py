"""Streams of questions in which each unit has one budget for all of them."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from itertools import product
from typing import Any

from discreet.algorithms.ensemble import VoterEnsemble
from discreet.errors import UsageError
from discreet.privacy.account import Payment, UnitAccount
from discreet.privacy.accounting import Budget
from discreet.privacy.filter import MemoryLedger
from discreet.privacy.noise import InsecureSeededNoise
from discreet.query.threshold_tuning import Tuning, suggestion
from discreet.registry import RAG, MuRAG, MuRAGAda, NaiveMultiRAG, NonRAG, make_algorithm
from discreet.vault import Vault
from discreet_lab.baselines.without_noise import VoteRAG
from discreet_lab.bench.experiments.corpora import find_fitting, priced
from discreet_lab.bench.measures import columns_on, mean_of_texts
from discreet_lab.bench.presets import preset_of, with_preset
from discreet_lab.bench.run import BenchRun
from discreet_lab.bench.table import PRECISION, TOP_K_RELEASE, Row
from discreet_lab.evaluation.stream import Setting, mean_of, run_stream

DELTA = 1e-5
LOOKED_AT = 2000
"""The number of nearest documents of a question that are looked at."""
BASELINES = (NonRAG.name, RAG.name, VoteRAG.name)


def run(given: BenchRun) -> list[Row]:
    """Return a row for each algorithm, budget, number of uses and voters."""
    if len(given.questions) < 2:
        raise UsageError(f"A stream has at least two questions, not {len(given.questions)}. Raise --limit.")
    similarity = tune_similarity(given.vault, [one.question for one in given.questions], max(given.values["voters"]))
    settings = _settings(given, similarity)
    given.deltas |= {one.delta for _, one in settings if one.epsilon is not None}
    advance = given.count("answering", len(given.questions) * len(settings))
    outcomes = run_stream(given.vault, given.questions, [one for _, one in settings], given.seed, advance, given.model)
    columns = columns_on(given.table.columns, given.data)
    rows = []
    for (key, _), outcome in zip(settings, outcomes, strict=True):
        own = {
            "precision": mean_of(outcome.precision),
            PRECISION: mean_of(outcome.of_paper),
            "unpaid": outcome.unpaid,
            "free": outcome.free,
        }
        rows.append(
            key
            | {
                name: own[name] if name in own else mean_of_texts(name, given.questions, outcome.texts, given.encoder)
                for name in columns
            }
        )
    return [*rows, *(_released(given) if given.one("top_k_release") else [])]


def _released(given: BenchRun) -> list[Row]:
    """Return the rows of the baseline that releases the nearest units without privacy. It asks no model."""
    texts = [one.question for one in given.questions]
    return [
        {
            "algorithm": TOP_K_RELEASE,
            "voters": voters,
            "uses": uses,
            **dict.fromkeys(("precision", PRECISION), precision_of_release(given.vault, texts, voters, uses)),
        }
        for voters in given.values["voters"]
        for uses in given.values["uses"]
    ]


def precision_of_release(vault: Vault, questions: Sequence[str], nearest: int, uses: int) -> float:
    """Return the mean share of the nearest units that can take part, if those nearest that can pay are released.

    This is MuRAG-Ada without its noise: of the units that have been released in fewer than `uses` questions, exactly
    the nearest take part and pay. The guarantee is lost, since who they are depends on every unit.
    """
    times, shares = Counter[str](), []
    for question in questions:
        passages = vault.components.baseline_corpus.unsealed_passages(question, LOOKED_AT)
        ranked = [passage.unit for passage in passages]
        released = [unit for unit in ranked if times[unit] < uses][:nearest]
        times.update(released)
        shares.append(len(set(released) & set(ranked[:nearest])) / nearest)
    return sum(shares) / len(shares)


def tune_similarity(vault: Vault, questions: Sequence[str], wanted: int) -> float:
    """Return a threshold for murag, as `discreet tune` would release it for 8 of the questions: in a simulation."""
    ledger = MemoryLedger(Budget(10.0, DELTA), simulation=True)
    account = UnitAccount(ledger, "tune", noise=InsecureSeededNoise(0))
    chosen = list(questions)[:: max(1, len(questions) // 8)][:8]
    return suggestion(Tuning(wanted=wanted).release(chosen, vault.corpus, account))


def is_affordable(setting: Setting, vocabulary: int) -> bool:
    """Return whether a unit's budget pays for so many questions, and enough for anything to be released."""
    if setting.epsilon is None:
        return True
    try:
        setting.algorithm.plan(Budget(setting.epsilon, setting.delta, 0.5 * setting.delta), vocabulary)
    except UsageError:
        return False
    return True


def _settings(given: BenchRun, similarity: float) -> list[tuple[Row, Setting]]:
    """Return the settings with the cells that identify their rows."""
    settings: list[tuple[Row, Setting]] = []
    names = given.values["algorithm"]
    columns = [name for name in given.values if name != "algorithm"]
    shared = given.parameters
    for name in (one for one in BASELINES if one in names):
        for voters in given.values["voters"] if name == VoteRAG.name else (None,):
            options = {"voters": voters, "max_tokens": shared.get("max_tokens")}
            cells: Row = {"algorithm": name, **dict.fromkeys(columns), "voters": voters}
            settings.append((cells, Setting(make_algorithm(name, options, strict=False))))
    for values in product(*(given.values[name] for name in columns)):
        cells = dict(zip(columns, values, strict=True))
        for name in (one for one in names if one not in BASELINES):
            own = dict(cells)
            setting = _setting(given, name, own, similarity)
            at = {"algorithm": name, **own}
            if is_affordable(setting, given.vault.model.vocabulary_size):
                settings.append((at, setting))
            else:
                said = ", ".join(f"{key} {value}" for key, value in at.items())
                given.notes.append(f"Left out, since so small a budget releases nothing: {said}.")
        settings += [(at, setting) for name in given.plugins for at, setting in _own(given, name, cells)]
    return _without_repetitions(settings)


def _own(given: BenchRun, name: str, cells: Row) -> list[tuple[Row, Setting]]:
    """Return one's own algorithm at a unit's budget for all questions; none if that is too small to release anything.

    Units that take part pay by themselves, as for MuRAG. If all units pay for each question, its price is the largest
    of which all questions fit into the budget, as for the naive algorithm. Without a guarantee no unit pays.
    """
    named_cells = {key: value for key, value in cells.items() if key not in ("inner", "epsilon") and value is not None}
    options = {**given.parameters, **named_cells}
    algorithm = make_algorithm(name, options, strict=False)
    if not algorithm.spec.private or algorithm.spec.payment is Payment.NOTHING:
        return [({"algorithm": name, **dict.fromkeys(cells)}, Setting(algorithm))]
    at: Row = {"algorithm": name, **cells, **({"inner": None} if "inner" in cells else {})}
    vocabulary = given.vault.model.vocabulary_size
    setting: Setting | None = Setting(algorithm, cells["epsilon"], given.delta or DELTA, reuse=bool(cells.get("reuse")))
    if algorithm.spec.payment is Payment.EVERY_UNIT:
        delta, number = given.delta or DELTA, len(given.questions)
        budget = Budget(cells["epsilon"], delta, 0.5 * delta)
        own = {**options, "delta": budget.failures / number}
        own.pop("uses", None)  # an alternative to epsilon, which the number of questions decides here
        fitting = find_fitting(partial(priced, name, own), budget, number, vocabulary)
        setting = Setting(fitting) if fitting is not None else None
    if setting is None or not is_affordable(setting, vocabulary):
        given.notes.append(f"Left out, since so small a budget releases nothing: {name}, epsilon {cells['epsilon']:g}.")
        return []
    return [(at, setting)]


def _setting(given: BenchRun, name: str, cells: Row, similarity: float) -> Setting:
    options = {key: cells.get(key) for key in ("voters", "epsilon_token", "inner")}
    wanted = with_preset(
        given.preset, name, {**given.parameters, **options, "inner": options["inner"] or given.given.get("inner")}
    )
    inner: Any = make_algorithm(wanted.pop("inner", None) or given.one("inner", "consensus"), wanted, strict=False)
    assert isinstance(inner, VoterEnsemble)
    uses = cells.get("uses") or 1
    parameters = {
        NaiveMultiRAG.name: NaiveMultiRAG(inner=inner, uses=len(given.questions)),
        MuRAG.name: MuRAG(inner=inner, uses=uses, similarity=similarity),
        MuRAGAda.name: MuRAGAda(inner=inner, uses=uses, epsilon_threshold=wanted.get("epsilon_threshold")),
    }[name]
    epsilon = cells["epsilon"] = preset_of(given.preset, name).epsilon or cells["epsilon"]
    setting = Setting(parameters, epsilon, given.delta or DELTA)
    return replace(setting, reuse=True) if cells.get("reuse") and name != NaiveMultiRAG.name else setting


def _without_repetitions(settings: list[tuple[Row, Setting]]) -> list[tuple[Row, Setting]]:
    """Return each setting once: the naive algorithm has no number of uses, and reuses nothing."""
    seen: list[Setting] = []
    kept = []
    for cells, setting in settings:
        if setting not in seen:
            seen.append(setting)
            kept.append((cells, setting))
    return kept

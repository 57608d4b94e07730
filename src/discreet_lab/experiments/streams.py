"""Streams of questions from one grant: relevant units pay, or all units pay."""

import argparse
import itertools
import re
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from discreet.algorithms.ensemble import VoterEnsemble
from discreet.models.completer import FunctionModel, adapt_completer
from discreet.models.protocol import VotingModel
from discreet.query.known_answers import KnownQuestion
from discreet.registry import RAG, Consensus, DPSparseVoteRAG, MuRAG, MuRAGAda, NaiveMultiRAG, NonRAG
from discreet.vault import Vault
from discreet_lab.baselines.without_noise import VoteRAG
from discreet_lab.bench.experiments.streams import DELTA, is_affordable, tune_similarity
from discreet_lab.bench.open_data import asked_again, read_stream
from discreet_lab.evaluation.caching_model import CachingModel
from discreet_lab.evaluation.stream import Setting, StreamResult, run_stream
from discreet_lab.experiments.common import (
    add_csv_option,
    add_model_option,
    vault_at,
    write_table,
)

EPSILON_THRESHOLD = 0.5
"""The price of a threshold of murag-ada where the nearest vote."""
_SAID = re.compile(r"diagnosis is (.+?) and the treatment should be (.+?)\.")


def read_note(prompt: str, max_tokens: int) -> str:
    """Return the treatment in the last record of a prompt, if the question asks for one, and else the diagnosis."""
    record, question = prompt.rsplit("Record:", 1)[-1], prompt.rsplit("Question:", 1)[-1].lower()
    said = _SAID.search(record)
    if said is None:
        return " unknown"
    asks_for_treatment = any(word in question for word in ("treat", "help"))
    return f" {said[2 if asks_for_treatment else 1]}"


def rule_reader() -> VotingModel:
    """Return the reader as a model."""
    return adapt_completer(FunctionModel(read_note, name="rules", row_independent=True))


def settings_of(given: Any, inner: VoterEnsemble, similarity: float, asked: int) -> list[Setting]:
    """The baselines, and each algorithm at each budget and number of uses."""
    same: dict[str, Any] = {"max_tokens": inner.max_tokens, "prefix": inner.prefix}
    settings = [
        Setting(NonRAG(**same)),
        Setting(RAG(**same)),
        Setting(VoteRAG(voters=inner.voters, document_tokens=inner.document_tokens, **same)),
    ]
    ada = MuRAGAda(inner=inner)
    former = MuRAGAda(inner=inner, all_vote=False, epsilon_threshold=EPSILON_THRESHOLD, highest=0.8)
    for epsilon in given.epsilon:
        settings.append(Setting(NaiveMultiRAG(inner=inner, uses=asked), epsilon, DELTA))
        for uses in given.uses if given.all_uses_at is None or epsilon in given.all_uses_at else given.uses[:1]:
            murag = MuRAG(inner=inner, uses=uses, similarity=similarity)
            settings += [Setting(murag, epsilon, DELTA), Setting(replace(ada, uses=uses), epsilon, DELTA)]
            if given.by_support:
                settings += [Setting(replace(one, uses=uses, by_support=True), epsilon, DELTA) for one in (murag, ada)]
            if given.by_counts and isinstance(inner, Consensus):
                counted = replace(ada, inner=replace(inner, curve=False), uses=uses)
                settings.append(Setting(counted, epsilon, DELTA, note="by counts"))
            settings.append(Setting(replace(murag, all_vote=False), epsilon, DELTA))
            if epsilon > uses * EPSILON_THRESHOLD:
                settings.append(Setting(replace(former, uses=uses), epsilon, DELTA))
    if given.reuse:
        settings += [
            replace(setting, reuse=True) for setting in settings if isinstance(setting.algorithm, MuRAG | MuRAGAda)
        ]
    named = [setting for setting in settings if not given.only or setting.algorithm.name in given.only]
    return [setting for setting in named if not given.all_vote or getattr(setting.algorithm, "all_vote", True)]


def write_outcomes(outcomes: list[StreamResult], path: Path | None) -> None:
    """Write one row a setting."""
    reuse = any(outcome.setting.reuse for outcome in outcomes)
    columns = ["algorithm", "epsilon per unit", "accuracy", "first half", "second half", "precision", "unpaid"]
    rows = []
    for outcome in outcomes:
        half = len(outcome.scores) // 2
        first, second = (sum(part) / len(part) for part in (outcome.scores[:half], outcome.scores[half:]))
        precision = sum(outcome.precision) / len(outcome.precision) if outcome.precision else None
        row = [
            outcome.setting.label,
            "-" if outcome.setting.epsilon is None else f"{outcome.setting.epsilon:g}",
            f"{outcome.accuracy:.2f}",
            f"{first:.2f}",
            f"{second:.2f}",
            "-" if precision is None else f"{precision:.2f}",
            str(outcome.unpaid),
            *([str(outcome.free), str(outcome.private)] if reuse else []),
        ]
        rows.append(row)
    write_table(columns + ["free", "private tokens"] * reuse, rows, path)


def write_kinds(outcomes: list[StreamResult], questions: list[KnownQuestion], path: Path) -> None:
    """Write the accuracy for each kind of question: questions that begin with the same two words."""
    kinds = [" ".join(question.question.split()[:2]) for question in questions]
    rows = []
    for kind in dict.fromkeys(kinds):
        scores = [[score for one, score in zip(kinds, o.scores, strict=True) if one == kind] for o in outcomes]
        rows.append([f"{kind} ...", str(len(scores[0])), *(f"{sum(some) / len(some):.2f}" for some in scores)])
    named = [o.setting.label + ("" if o.setting.epsilon is None else f" at {o.setting.epsilon:g}") for o in outcomes]
    write_table(["questions", "number", *named], rows, path)


def draw(outcomes: list[StreamResult], path: Path, epsilon: float) -> None:
    """Accuracy so far along the stream, for one budget and the baselines."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(7, 4))
    for outcome in outcomes:
        if outcome.setting.epsilon in (None, epsilon):
            scores = outcome.scores
            so_far = [sum(scores[: n + 1]) / (n + 1) for n in range(len(scores))]
            axes.plot(range(1, len(scores) + 1), so_far, label=outcome.setting.label)
    axes.set_xlabel("questions asked")
    axes.set_ylabel("accuracy so far")
    axes.set_title(f"epsilon {epsilon:g} per unit for the whole stream")
    axes.set_ylim(0, 1)
    axes.legend(fontsize="small")
    figure.savefig(path, bbox_inches="tight", metadata={"Date": None})


def run_stream_settings(parser: argparse.ArgumentParser, arguments: Sequence[str]) -> None:
    """Streams of questions in which every unit has one budget for all of them.

    They are Figures 2 and 3 and Table 1 of MuRAG. QUESTIONS is a file of questions, or of chains of questions, which
    are asked one after the other. Prints Markdown; `--plot FILE.svg` draws accuracy along the stream. Noise is seeded.
    The threshold of murag is released privately from 8 of the questions (epsilon 1, in the simulation, on top of the
    budget shown).
    """
    parser.add_argument("documents", type=Path)
    parser.add_argument("questions", type=Path)
    parser.add_argument("--asked", type=int, default=0, help="so many questions: the file's are asked again in turn")
    parser.add_argument("--vault", type=Path)
    parser.add_argument("--embedder", default="minilm+words")
    parser.add_argument("--limit", type=int, default=100)
    parser.add_argument("--epsilon", type=float, nargs="+", default=[2.0, 5.0, 10.0, 20.0])
    parser.add_argument("--uses", type=int, nargs="+", default=[1, 5])
    parser.add_argument(
        "--all-uses-at",
        type=float,
        nargs="*",
        help="where M takes all its values; else its first; default: at every epsilon",
    )
    parser.add_argument("--rules", action="store_true", help="read by rules in place of a model; for medical_synth")
    parser.add_argument("--only", nargs="+", default=[], help="names of algorithms; default: all")
    parser.add_argument("--all-vote", action="store_true", help="without the settings in which the nearest vote")
    parser.add_argument("--voters", type=int, default=40)
    parser.add_argument("--inner", choices=["consensus", "dp-sparse-vote-rag"], default="consensus")
    parser.add_argument("--max-tokens", type=int, default=24)
    parser.add_argument("--document-tokens", type=int, default=0)
    parser.add_argument("--reuse", action="store_true", help="murag and murag-ada also with earlier answers reused")
    parser.add_argument("--by-support", action="store_true", help="murag and murag-ada also with prices by support")
    parser.add_argument("--by-counts", action="store_true", help="murag-ada also with answers released by counts")
    parser.add_argument("--grounded", action="store_true", help="votes of consensus are the words that records have")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--rows", type=Path, help="a file that keeps what the model said, for the next run; private as the data"
    )
    parser.add_argument("--kinds", type=Path, help="a CSV file with the accuracy for each kind of question")
    parser.add_argument("--plot", type=Path)
    add_model_option(parser)
    add_csv_option(parser)
    given = parser.parse_args(arguments)
    questions = read_stream(given.questions, given.limit)
    if given.asked:
        questions = asked_again(questions, given.asked)
    common: dict[str, Any] = {name: getattr(given, name) for name in ("voters", "max_tokens", "document_tokens")}
    whole = given.inner == Consensus.name
    inner: VoterEnsemble = Consensus(**common, grounded=given.grounded) if whole else DPSparseVoteRAG(**common)
    with tempfile.TemporaryDirectory() as temporary:
        folder, same = given.vault or Path(temporary) / "vault", {"embedder": given.embedder, "delta": DELTA}
        vault = vault_at(folder, given.model, lambda made: made.add(given.documents), epsilon=1.0, **same)
        if given.rules:
            vault = Vault.open(vault.path, model=rule_reader())
        similarity = tune_similarity(vault, [one.question for one in questions], given.voters)
        wanted = settings_of(given, inner, similarity, len(questions))
        settings = [setting for setting in wanted if is_affordable(setting, vault.model.vocabulary_size)]
        refused = [f"{s.label} at {s.epsilon:g}" for s in wanted if s not in settings and s.epsilon is not None]
        done, steps = itertools.count(1), len(questions) * len(settings)

        def progress() -> None:
            print(f"{next(done)} of {steps}", file=sys.stderr, flush=True)

        model = CachingModel(vault.model, kept=given.rows)
        outcomes = run_stream(vault, questions, settings, given.seed, progress, model)
    write_outcomes(outcomes, given.csv)
    if given.kinds is not None:
        write_kinds(outcomes, questions, given.kinds)
    print(
        f"\n{len(questions)} questions by {given.inner}, delta {DELTA:g}, {given.voters} voters, similarity "
        f"{similarity:.3f}, epsilon_thr {EPSILON_THRESHOLD:g}, seed {given.seed}, "
        f"{'rules' if given.rules else given.model or vault.settings.model}, "
        f"{vault.settings.embedder}"
    )
    if refused:
        print(f"Refused, since nothing could be released: {', '.join(refused)}")
    if given.plot is not None:
        draw(outcomes, given.plot, 10.0)

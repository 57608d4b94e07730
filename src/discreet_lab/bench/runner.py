"""Run a table: open the data, run its experiment, and set the paper's figures beside the rows."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path

from discreet.errors import UsageError
from discreet_lab.bench.open_data import (
    EQUAL,
    OpenedData,
    asked_again,
    hospital_questions,
    kind_of,
    needs_questions,
    open_demo,
    open_given,
    read_stream,
)
from discreet_lab.bench.result import BenchResult, tell_other_kind, with_figures
from discreet_lab.bench.run import BenchRun
from discreet_lab.bench.table import DEMO, BenchTable, Data, Row, Sweep
from discreet_lab.evaluation.metrics import PACKAGED
from discreet_lab.steps import OnProgress

EXPERIMENTS = {
    "answers": ("answers", "run"),
    "stream": ("streams", "run"),
    "corpora": ("corpora", "run"),
    "questions": ("corpora", "run_many"),
    "membership": ("attacks", "run_membership"),
    "knn-lm": ("attacks", "run_knn_lm"),
    "prompting": ("attacks", "run_prompting"),
    "projection": ("neighbours", "run_projection"),
    "claim": ("neighbours", "run_claim"),
    "overlap": ("neighbours", "run_overlap"),
    "tokens": ("accounting", "run_tokens"),
    "lengths": ("accounting", "run_lengths"),
}
"""The kinds of experiments: the module and the function, which are loaded when they are run."""
WITH_DELTA = ("answers", "stream", "corpora")
"""The experiments that take a delta."""
WITH_ROWS = ("answers", "stream", "questions")
"""The experiments in which a file keeps what the model said."""
WITHOUT_VAULT = frozenset(("tokens", "lengths"))
"""The experiments that are arithmetic: they draw no noise, so there is one run."""


@dataclass(frozen=True)
class BenchOptions:
    """The options of a run.

    Attributes:
        vault, questions: the data; those of the demonstration if None.
        model: the name of the language model in place of the vault's; "" for the vault's.
        limit: the number of questions, people or mails; the table's if None.
        given: values of parameters in place of the table's.
        delta: in place of the table's.
        seed: the first seed of the noise.
        plugins: the names of algorithms that are further rows.
        quick: whether to take fewer values, questions and runs.
        encoder: the name of the model of BERTScore.
        embedder: the name of the embedder in place of the vault's; "" for the vault's.
        preset: one of `PRESETS`; "" for the table's own settings.
        rows: the file that keeps what the model said, with which a run resumes; None to keep nothing.
    """

    vault: Path | None = None
    questions: Path | None = None
    model: str = ""
    limit: int | None = None
    given: Sweep = field(default_factory=dict)
    delta: float | None = None
    seed: int = 0
    plugins: Sequence[str] = ()
    quick: bool = False
    encoder: str = PACKAGED
    embedder: str = ""
    preset: str = ""
    rows: Path | None = None

    def limit_of(self, table: BenchTable) -> int:
        """Return the number of questions, people or mails."""
        if self.limit is not None:
            return self.limit
        return table.quick_limit if self.quick else table.limit


def run_table(table: BenchTable, options: BenchOptions, on_progress: OnProgress = lambda *_: None) -> BenchResult:
    """Run a table. No unit pays, and a given vault is only read.

    Raises:
        UsageError: if the table cannot be run with the options.
        BadData: if the data do not fit the table.
    """
    values = table.values(options.quick, options.given)
    if options.preset and table.experiment not in WITH_DELTA:
        raise UsageError(
            f"The table '{table.name}' has no preset: its algorithms have no settings. Leave --preset out."
        )
    if options.preset == "paper":
        values.pop("private_tokens", None)  # the paper's number follows from epsilon_token
        values |= {name: ("dp-sparse-vote-rag",) for name in ("inner",) if name in values and name not in options.given}
    if options.delta is not None and table.experiment not in WITH_DELTA:
        raise UsageError(f"The table '{table.name}' has no delta of its own. Leave --delta out.")
    if options.rows is not None and table.experiment not in WITH_ROWS:
        raise UsageError(f"The table '{table.name}' keeps nothing of what its model says. Leave --rows out.")
    if options.plugins and table.no_plugin:
        raise UsageError(
            f"The table '{table.name}' takes no algorithm of your own: {table.no_plugin}. Leave --plugin out, or see "
            "discreet bench --list for the tables that take one."
        )
    begin = time.perf_counter()
    with _opened(table, options, on_progress) as data:
        run = BenchRun(
            table=table,
            values=values,
            data=data.kind,
            limit=options.limit_of(table),
            seed=options.seed,
            seeds=1 if options.quick or table.experiment in WITHOUT_VAULT else table.seeds,
            plugins=options.plugins,
            questions=data.questions,
            on_progress=on_progress,
            opened=data.vault,
            quick=options.quick,
            encoder=options.encoder,
            given={name: one[-1] for name, one in options.given.items() if name not in values},
            delta=options.delta,
            rows=options.rows,
            prompts=None if needs_questions(table) else options.questions,
            preset=options.preset,
        )
        rows = _experiment(table.experiment)(run)
        run.notes += [said] if (said := tell_other_kind(table, data.kind)) else []
        used = data.vault if data.vault is not None and "model" in data.vault.components.built else None
        return BenchResult(
            table=table,
            rows=with_figures(table, rows, data.kind),
            data=data.described,
            kind=data.kind,
            model=used.model.name if used else "none",
            embedder=data.vault.settings.embedder if data.vault is not None else "none",
            questions=len(data.questions),
            seed=options.seed,
            seeds=run.seeds,
            quick=options.quick,
            preset=options.preset,
            notes=tuple(run.notes),
            seconds=time.perf_counter() - begin,
            deltas=tuple(sorted(run.deltas)),
        )


@contextmanager
def _opened(table: BenchTable, options: BenchOptions, on_progress: OnProgress) -> Iterator[OpenedData]:
    limit = options.limit_of(table)
    if table.experiment in WITHOUT_VAULT:
        yield _without_vault(table, options, limit)
    elif options.vault is not None:
        with open_given(table, options.vault, options.questions, limit, options.model, options.embedder) as data:
            yield _again(table, data, limit)
    else:
        with open_demo(table, limit, options.model, options.quick, on_progress, options.embedder) as data:
            yield _again(table, data, limit)


def _without_vault(table: BenchTable, options: BenchOptions, limit: int) -> OpenedData:
    if table.data is Data.NONE:
        return OpenedData(None, [], Data.NONE, "none: arithmetic alone")
    if options.questions is None:
        return OpenedData(None, hospital_questions(EQUAL), Data.PATIENTS, DEMO)
    stream = read_stream(options.questions, limit)
    return OpenedData(None, stream, kind_of(stream), options.questions.name)


def _again(table: BenchTable, found: OpenedData, limit: int) -> OpenedData:
    """Return the data with questions asked again in turn, for a table about earlier answers."""
    if not table.settings.get("again"):
        return found
    half = found.questions[: max(1, limit // 2)]
    return OpenedData(found.vault, asked_again(half, limit), found.kind, f"{found.described}, each asked twice")


def _experiment(name: str) -> Callable[[BenchRun], list[Row]]:
    module, function = EXPERIMENTS[name]
    experiment: Callable[[BenchRun], list[Row]] = getattr(
        import_module(f"discreet_lab.bench.experiments.{module}"), function
    )
    return experiment

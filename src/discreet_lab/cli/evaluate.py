"""`discreet eval`: accuracy on questions with known answers; and `--model` of the commands that measure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from discreet.algorithms.base import Algorithm
from discreet.cli.app import Json, VaultPath, app, complete_from
from discreet.cli.ask import reads_before
from discreet.cli.output import doing, err, explained, out, print_json
from discreet.cli.parameters import Params, Plugins, accept_parameters, choose_names, parse_for_any
from discreet.models.loading import PACKAGED, open_model
from discreet.planning.checks import check_parts
from discreet.query.known_answers import read_questions
from discreet.registry import ALGORITHMS, make_algorithm
from discreet.store.embedding import HashingEmbedder
from discreet.system.files import check_output_path
from discreet.vault import Vault
from discreet_lab.evaluation.experiment import RowShown, as_asked, run_experiment, table
from discreet_lab.evaluation.metrics import open_token_embedder

# --- --model ----------------------------------------------------------------------------------------------------------


OtherModel = Annotated[str, typer.Option("--model", metavar="NAME", help="Another language model.", show_default=False)]


def check_model(name: str, embedder: str = "") -> None:
    """Notice a misspelt model or embedder before documents are read. "" is the vault's own.

    Raises:
        MissingPart: if a package is not installed.
        UnknownName, UsageError: if there is no such model or embedder.
    """
    if name or embedder:
        check_parts(name or PACKAGED, embedder or HashingEmbedder.name, download=True)


def with_model(vault: Vault, name: str) -> Vault:
    """Return the vault with another language model for this process; itself if `name` is ""."""
    return Vault.open(vault.path, model=open_model(name)) if name else vault


# --- evaluate ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Evaluation:
    """The accuracy of algorithms.

    Attributes:
        notice: a sentence: that no answer was paid for, that the figures are for the custodian alone, and how many
            questions were answered by what was read.
        questions: the number of questions.
        seeds: the number of seeds.
        rows: the algorithms with their figures.
    """

    notice: str
    questions: int
    seeds: int
    rows: list[RowShown]


@app.command("eval")
@accept_parameters(ALGORITHMS.values())
@explained
def evaluate(
    vault: VaultPath,
    questions: Annotated[Path, typer.Argument(metavar="QUESTIONS.jsonl", help='{"question", "answers"} a line.')],
    algorithm: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME", help="See: discreet algorithms. Repeatable.", autocompletion=complete_from(ALGORITHMS)
        ),
    ] = None,
    plugin: Plugins = None,
    param: Params = None,
    epsilon: Annotated[
        list[float] | None, typer.Option(metavar="NUMBER", help="Cost of a question. Repeatable.")
    ] = None,
    limit: Annotated[
        int | None, typer.Option(min=1, metavar="NUMBER", help="Number of questions, spread over the file.")
    ] = None,
    seeds: Annotated[int, typer.Option(min=1, metavar="NUMBER", help="Runs with different noise.")] = 1,
    max_tokens: Annotated[int | None, typer.Option(help="Maximum length of an answer.")] = None,
    public: Annotated[bool, typer.Option(help="Use the vault's public corpus, as `ask` does.")] = True,
    encoder: Annotated[
        str | None, typer.Option("--bert-score", metavar="MODEL", help="Add BERTScore, by minilm or an encoder.")
    ] = None,
    model: OtherModel = "",
    output: Annotated[Path | None, typer.Option("--out", help="Write every answer to this JSONL file.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite the file.")] = False,
    as_json: Json = False,
) -> None:
    """Measure accuracy on questions with known answers: on a simulation, for the custodian only.

    Parameters: discreet algorithms show NAME. Columns: docs/operate.md.
    """
    opened = Vault.open(vault)
    check_model(model)
    if output is not None:
        check_output_path(output, opened.path, force=force)
    names = choose_names(algorithm, plugin) or [opened.default_algorithm().name]
    given = {"max_tokens": max_tokens, "epsilon": tuple(epsilon) if epsilon else None}
    options = parse_for_any(names, param, given)
    algorithms = _make_algorithms(names, options)
    known_questions = read_questions(questions, limit)
    texts = opened.public_context.texts if public else None
    decided = not (algorithm or plugin or model) and reads_before(opened, param)
    choose = as_asked(opened) if decided else None
    tokens = open_token_embedder(encoder) if encoder else None
    opened = with_model(opened, model)
    with doing("Answering questions", len(known_questions) * len(algorithms) * seeds) as advance:
        rows = run_experiment(
            opened, known_questions, algorithms, seeds, output, lambda: advance(1), texts, choose=choose, encoder=tokens
        )
    notice = "For the custodian only: these answers were not paid for. The vault's budget was not touched."
    if choose:
        by_readings = sum(
            opened.default_algorithm(question.question).spec.needs_readings for question in known_questions
        )
        notice += (
            f" Questions that name an attribute: {by_readings} of {len(known_questions)}, answered by what was read."
        )
    if as_json:
        print_json(Evaluation(notice, len(known_questions), seeds, [row.shown() for row in rows]))
    else:
        out.print(table(rows), markup=False, highlight=False, soft_wrap=True)
        err.print(notice)


def _make_algorithms(names: Sequence[str], options: Mapping[str, Any]) -> list[Algorithm]:
    """Return each algorithm at each epsilon, without those that are equal."""
    epsilon = options.get("epsilon")
    epsilons = epsilon if isinstance(epsilon, tuple) else (epsilon,)
    algorithms = [make_algorithm(name, {**options, "epsilon": one}, strict=False) for name in names for one in epsilons]
    return list(dict.fromkeys(algorithms))

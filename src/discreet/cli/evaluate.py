"""`discreet eval`: accuracy on questions with known answers."""

from pathlib import Path
from typing import Annotated, Any

import typer

from discreet.cli.app import Json, VaultPath, app
from discreet.cli.output import err, explained, out, print_json
from discreet.cli.progress import doing
from discreet.evaluation.datasets import read_questions
from discreet.evaluation.experiment import run_experiment
from discreet.evaluation.report import table
from discreet.registry import make_algorithm
from discreet.system.output_path import check_output_path
from discreet.vault import Vault


@app.command("eval")
@explained
def evaluate(
    vault: VaultPath,
    questions: Annotated[Path, typer.Argument(metavar="QUESTIONS.jsonl", help='{"question", "answers"} a line.')],
    algorithm: Annotated[list[str] | None, typer.Option(help="May be given several times.")] = None,
    epsilon: Annotated[list[float] | None, typer.Option(help="Epsilon a question; several times.")] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="Only so many questions, spread over the file.")] = None,
    seeds: Annotated[int, typer.Option(min=1, help="How many runs with different noise.")] = 1,
    voters: Annotated[int | None, typer.Option(help="How many voters.")] = None,
    units_per_voter: Annotated[int | None, typer.Option(help="How many units each voter reads.")] = None,
    private_tokens: Annotated[int | None, typer.Option(help="How many private tokens epsilon should buy.")] = None,
    epsilon_token: Annotated[float | None, typer.Option(help="Epsilon of a private token, instead.")] = None,
    selection: Annotated[str | None, typer.Option(help="observed, limited-domain or vocabulary.")] = None,
    max_tokens: Annotated[int | None, typer.Option(help="The longest answer, in tokens.")] = None,
    prefix: Annotated[str | None, typer.Option(help="How every answer begins.")] = None,
    public: Annotated[bool, typer.Option(help="Use the vault's public corpus, as `ask` does.")] = True,
    output: Annotated[Path | None, typer.Option("--out", help="Write every answer to this JSONL file.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Write over the file.")] = False,
    as_json: Json = False,
) -> None:
    """Measure accuracy on questions with known answers: on a simulation, for the custodian only."""
    options: dict[str, Any] = {
        "voters": voters,
        "units_per_voter": units_per_voter,
        "private_tokens": private_tokens,
        "epsilon_token": epsilon_token,
        "selection": selection,
        "max_tokens": max_tokens,
        "prefix": prefix,
    }
    opened = Vault.open(vault)
    if output is not None:
        check_output_path(output, opened.path, force=force)
    names = algorithm or [opened.default_algorithm().name]
    algorithms = [made for name in names for made in _variants(name, epsilon or [None], options)]
    asked = read_questions(questions, limit)
    texts = opened.public_context.texts if public else None
    with doing("Answering questions", len(asked) * len(algorithms) * seeds) as advance:
        rows = run_experiment(opened, asked, algorithms, seeds, output, lambda: advance(1), texts)
    notice = "For the custodian only: these answers were not paid for. The vault's budget was not touched."
    if as_json:
        print_json({"notice": notice, "questions": len(asked), "seeds": seeds, "rows": [r.describe() for r in rows]})
    else:
        out.print(table(rows))
        err.print(notice)


def _variants(name: str, epsilons: list[Any], options: dict[str, Any]) -> list[Any]:
    made = [make_algorithm(name, {**options, "epsilon": epsilon}, strict=False) for epsilon in epsilons]
    return list(dict.fromkeys(made))

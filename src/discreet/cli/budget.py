"""`discreet budget` and `discreet tune`: what is left, and a threshold that is worth what it costs."""

from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Table

from discreet.cli.app import Json, VaultPath, app
from discreet.cli.output import err, explained, out, print_json
from discreet.cli.progress import doing
from discreet.cli.spellings import tell_spellings
from discreet.evaluation.datasets import read_questions
from discreet.planning.askable import too_few
from discreet.query.threshold_tuning import Tuning
from discreet.query.words import unit_word
from discreet.retrieval.store_registry import count_units
from discreet.vault import Vault
from discreet.vault.budget_report import BudgetReport

_WIDTH = 40


@app.command()
@explained
def budget(
    vault: VaultPath,
    analyst: Annotated[bool, typer.Option("--analyst", help="Only what is public.")] = False,
    convert: Annotated[
        bool, typer.Option("--convert", help="Let units pay by themselves from now on, for good.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Show what was granted, spent and is left, and the questions that paid: for the custodian."""
    opened = Vault.open(vault)
    if convert:
        opened.convert()
        err.print("Units pay by themselves from now on. What everybody has paid stays paid by everybody.")
    if not analyst:
        tell_spellings(opened)
    report, settings = opened.budget(), opened.settings
    if as_json:
        made = {"model": settings.model, "embedder": settings.embedder, "payment": settings.payment}
        print_json(report.public() if analyst else report.describe() | made)
        return
    paid = f" Paid by every unit alike: {report.spent:.4g}." if report.spent or settings.payment != "unit" else ""
    unit = unit_word(report.unit)
    out.print(f"Granted: epsilon {report.granted:g} at delta {report.delta:g}, for each {unit}.{paid}", markup=False)
    out.print(
        f"The questions so far may have cost any one {unit} at most epsilon {report.odometer:.4g} of "
        f"{report.granted:g}.",
        markup=False,
    )
    if analyst:
        out.print(f"Questions answered: {report.public()['answered']}.")
        return
    payers = "units pay by themselves" if settings.payment == "unit" else "everybody pays for every question"
    out.print(f"Model {settings.model}, embedder {settings.embedder}; {payers}.", markup=False)
    if report.levels:
        _show_levels(report)
    if report.more is not None:
        out.print(f"About {report.more} more questions like the default one fit.")
    if report.questions:
        out.print(_questions(report))
    if few := too_few(settings, count_units(settings, opened.path / "store")):
        err.print(f"[yellow]Note:[/] {few}")
    if any(not question.private for question in report.questions):
        err.print("[yellow]Note:[/] answers without a guarantee were given; the budget does not cover them.")


@app.command()
@explained
def tune(
    vault: VaultPath,
    questions: Annotated[Path, typer.Argument(metavar="QUESTIONS.jsonl", help="Public questions like those to come.")],
    epsilon: Annotated[float, typer.Option(help="What it may cost a unit.")] = 1.0,
    units: Annotated[int, typer.Option(help="How many units should be relevant to a question.")] = 40,
    limit: Annotated[int, typer.Option(min=1, help="Only so many questions, spread over the file.")] = 8,
    as_json: Json = False,
) -> None:
    """Suggest a threshold for murag, released privately: those pay who could have made a difference."""
    opened = Vault.open(vault)
    asked = [question.question for question in read_questions(questions, limit, answered=False)]
    with doing("Tuning"):
        similarity, receipt = opened.tune(asked, Tuning(epsilon=epsilon, wanted=units))
    if as_json:
        print_json({"similarity": similarity, "questions": len(asked), "receipt": receipt.describe()})
        return
    out.print(f"Suggested: --similarity {similarity:.3f}, for about {units} units a question.")
    out.print(f"  receipt: epsilon {receipt.epsilon:.4g}, paid by {receipt.payment}")


def _show_levels(report: BudgetReport) -> None:
    """How many units have how much left, as bars."""
    most = max(1, *(level.units for level in report.levels))
    out.print("Epsilon left, and how many units have it (private; for the custodian):")
    for level in reversed(report.levels):
        bar = "#" * round(level.units / most * _WIDTH)
        out.print(f"  {level.low:6.2f} - {level.high:6.2f}  {level.units:8d}  {bar}", markup=False)


def _questions(report: BudgetReport) -> Table:
    table = Table("time (UTC)", "algorithm", "epsilon", "charges", "stopped", "question")
    for question in report.questions:
        cost = f"{question.epsilon:.4g}" if question.private else "no guarantee"
        table.add_row(
            question.time[:19].replace("T", " "),
            question.algorithm,
            cost,
            str(question.charges),
            question.stopped or "interrupted",
            escape("".join(c if c.isprintable() else "?" for c in question.text or "(not kept)")),
        )
    return table

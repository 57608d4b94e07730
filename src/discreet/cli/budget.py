"""`discreet budget` and `discreet tune`: show the budget, and release a threshold."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Table

from discreet.cli.app import Json, VaultPath, app
from discreet.cli.output import err, explained, out, print_json, say
from discreet.cli.progress import doing
from discreet.planning.prices import too_few
from discreet.privacy.filter import ReceiptShown
from discreet.query.known_answers import read_questions
from discreet.query.threshold_tuning import Tuning
from discreet.retrieval.store_registry import count_units
from discreet.system.plain import show_as
from discreet.vault import Vault
from discreet.vault.budget_report import BudgetReport, BudgetShown


@dataclass(frozen=True, kw_only=True)
class VaultBudget(BudgetShown):
    """The budget of a vault.

    Attributes:
        model: the language model.
        embedder: the embedder.
        payment: who pays.
    """

    model: str
    embedder: str
    payment: str


@dataclass(frozen=True)
class Suggestion:
    """A suggested threshold.

    Attributes:
        similarity: the suggested threshold.
        questions: the number of questions it was made for.
        receipt: what was paid, as in an answer.
    """

    similarity: float
    questions: int
    receipt: ReceiptShown


@app.command()
@explained
def budget(
    vault: VaultPath,
    analyst: Annotated[bool, typer.Option("--analyst", help="Show only public values.")] = False,
    as_json: Json = False,
) -> None:
    """Show the grant, the charges and the rest of the budget; also the questions. For the custodian."""
    opened = Vault.open(vault)
    report, settings = opened.budget(), opened.settings
    if as_json:
        print_json(report.public() if analyst else show_as(VaultBudget, settings, **vars(report.shown())))
        return
    say("vault-budget.txt", report=report, settings=settings, analyst=analyst)
    if analyst:
        return
    if report.questions:
        out.print(_questions(report))
        out.print(
            "'epsilon': of a question by itself, as the grant counts it. The receipt of its answer may state less."
        )
    if few := too_few(settings, count_units(settings, opened.path / "store")):
        err.print(f"[yellow]Note:[/] {few}")
    if any(not question.private for question in report.questions):
        err.print("[yellow]Note:[/] the vault gave answers without a guarantee; the budget does not cover them.")


@app.command()
@explained
def tune(
    vault: VaultPath,
    questions: Annotated[
        Path, typer.Argument(metavar="QUESTIONS.jsonl", help="Public questions, similar to future questions.")
    ],
    epsilon: Annotated[float, typer.Option(help="The maximum cost for a unit.")] = 1.0,
    units: Annotated[int, typer.Option(help="The wanted number of relevant units of a question.")] = 40,
    limit: Annotated[int, typer.Option(min=1, help="The number of questions, spread over the file.")] = 8,
    as_json: Json = False,
) -> None:
    """Release a private suggestion for murag's threshold. The units that could have influenced it pay."""
    opened = Vault.open(vault)
    texts = [question.question for question in read_questions(questions, limit, answered=False)]
    with doing("Tuning"):
        similarity, receipt = opened.tune(texts, Tuning(epsilon=epsilon, wanted=units))
    if as_json:
        print_json(Suggestion(similarity, len(texts), receipt.shown()))
        return
    out.print(f"Suggestion: --similarity {similarity:.3f}, for about {units} units a question.")
    out.print(f"  receipt: epsilon {receipt.epsilon:.4g}, paid by {receipt.payment}")


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
            escape("".join(c if c.isprintable() else "?" for c in question.question or "(not kept)")),
        )
    return table

"""`discreet plan`, `budget` and `tune`: which questions a grant pays for, what was paid, and a private threshold."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Table

from discreet.cli.app import Json, VaultPath, app
from discreet.cli.output import doing, err, explained, out, print_json, say
from discreet.planning.plan import USED, GrantPlan, Row, check_plot, draw_plan, make_plan
from discreet.planning.prices import too_few
from discreet.privacy.filter import ReceiptShown
from discreet.query.known_answers import read_questions
from discreet.query.threshold_tuning import Tuning
from discreet.store.registry import count_units
from discreet.system.plain import show_as
from discreet.system.words import percent_at_most
from discreet.vault import Vault
from discreet.vault.budget_report import BudgetReport, BudgetShown

# --- discreet plan ----------------------------------------------------------------------------------------------------


_PLAN_WIDTH = 40


@app.command()
@explained
def plan(
    people: Annotated[int, typer.Option(help="The approximate number of individuals in the vault.")],
    epsilon: Annotated[float, typer.Option(help="The grant: a bound on what all answers reveal about an individual.")],
    delta: Annotated[
        float | None, typer.Option(help="The probability that the bound fails. Default: from the number of people.")
    ] = None,
    questions: Annotated[
        int | None, typer.Option(min=1, max=10_000, help="Also show the cost of this number of questions.")
    ] = None,
    used: Annotated[int, typer.Option(help="The assumed number of individuals that a question uses.")] = USED,
    plot: Annotated[
        Path | None, typer.Option("--out", help="Write a plot to this file: .svg, .png or .pdf. Needs matplotlib.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Show how many questions a grant pays for. The command needs no vault and no model."""
    if plot is not None:
        check_plot(plot)
    with doing("Computing the plan"):
        grant_plan = make_plan(people, epsilon, delta, questions=questions or 0, used=used)
        if plot is not None:
            draw_plan(grant_plan, plot)
    if as_json:
        print_json(grant_plan)
        return
    _show(grant_plan)
    if plot is not None:
        out.print(f"\nThe plot is in {plot}.", markup=False)


def _show(plan: GrantPlan) -> None:
    out.print(
        f"Grant: epsilon {plan.epsilon:g}, delta {plan.delta:g}, for each of about {plan.people:,} people. "
        f"Suggested delta: at most {plan.suggested:g}, the largest power of ten up to 1/(10 people^1.1)."
    )
    out.print(_planned_questions(plan))
    out.print(
        f"'epsilon': the cost of one question for each person whose documents it could use. "
        f"'a person': the number of such questions that one person can pay for. "
        f"'half', 'most': how many of {plan.rows[0].voters} voters must agree for a release with probability 0.5, "
        "and with 0.9.\n"
        f"'in all': an estimate, if each question uses about {plan.used:,} people, and questions fall evenly on all "
        f"{plan.people:,}. With *, every person pays for every question. A repeated question is free."
    )
    out.print("\nStatistics, each at its default price:")
    out.print(_statistics(plan))
    out.print(
        "'within': half of the interval that covers with probability 0.95; of a list, the people that must share a "
        "value so that it is shown with probability 0.9. Fewer questions are more precise (--uses)."
    )
    if out.is_terminal:
        _bars(plan)
    out.print("\nAn attacker's largest belief that one person is in the vault:")
    out.print(_odds(plan))
    out.print(
        "The bounds hold for all background knowledge, and for attacks that find at least 1 % of the vault's people."
    )
    if plan.wanted:
        out.print(
            f"\nFor {plan.questions:,} questions in all: the questions that use one person, the cost of each under "
            "this grant, and the grant that pays for all at the default cost:"
        )
        out.print(_wanted(plan))


def _planned_questions(plan: GrantPlan) -> Table:
    table = _table("algorithm", "question", "epsilon", "a person", "in all", "half", "most")
    for row in plan.rows:
        cost = f"{row.epsilon:.3g}" if row.times else "-"
        agree = (_votes(row.likely), _votes(row.surely))
        table.add_row(_name(row), row.what, cost, str(row.times), f"{row.vault:,}", *agree)
    return table


def _statistics(plan: GrantPlan) -> Table:
    table = _table("statistic", "", "epsilon", "a person", "within")
    for row in plan.statistics:
        cost = f"{row.epsilon:.3g}" if row.times else "-"
        within = f"{100 * row.within:.2g} points" if row.name == "share" else f"{row.within:,.0f} people"
        table.add_row(row.name, row.what, cost, str(row.times), within if row.times else "never")
    return table


def _odds(plan: GrantPlan) -> Table:
    table = Table("believed before", "after one answer, at most", "after all, at most", box=None)
    for odds in plan.odds:
        table.add_row(percent_at_most(odds.prior), percent_at_most(odds.one_answer), percent_at_most(odds.all_answers))
    return table


def _wanted(plan: GrantPlan) -> Table:
    table = _table("algorithm", "question", "a person", "epsilon", "half", "or a grant")
    for row, wanted in zip(plan.rows, plan.wanted, strict=True):
        cost = "-" if wanted.epsilon is None else f"{wanted.epsilon:.3g}"
        agree = _votes(wanted.likely)
        table.add_row(_name(row), wanted.what, str(wanted.uses), cost, agree, f"{wanted.grant:.3g}")
    return table


def _bars(plan: GrantPlan) -> None:
    """Print the number of questions in all, as bars."""
    most = max(1, *(row.vault for row in plan.rows))
    out.print("\nQuestions in all:")
    for row in plan.rows:
        bar = "#" * round(row.vault / most * _PLAN_WIDTH)
        out.print(f"  {_name(row) + ', ' + row.what:48}{row.vault:8,}  {bar}", markup=False)


def _name(row: Row) -> str:
    return f"{row.name}{' *' * row.all_pay}"


def _votes(votes: int | None) -> str:
    return "never" if votes is None else str(votes)


def _table(*columns: str) -> Table:
    """Return a table with two columns of words; the other columns are numbers."""
    table = Table(box=None, pad_edge=False)
    for number, name in enumerate(columns):
        table.add_column(name, justify="left" if number < 2 else "right", no_wrap=True)
    return table


# --- discreet budget, discreet tune -----------------------------------------------------------------------------------


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

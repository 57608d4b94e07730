"""`discreet plan`: show which questions a grant pays for."""

from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from discreet.cli.app import Json, app
from discreet.cli.output import explained, out, print_json
from discreet.cli.progress import doing
from discreet.planning.plan import USED, GrantPlan, Row, make_plan
from discreet.planning.plot import check_plot, draw_plan
from discreet.system.words import percent_at_most

_WIDTH = 40


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
    out.print(_questions(plan))
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


def _questions(plan: GrantPlan) -> Table:
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
        bar = "#" * round(row.vault / most * _WIDTH)
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

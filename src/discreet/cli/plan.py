"""`discreet plan`: what a grant would pay for."""

from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from discreet.cli.app import Json, app
from discreet.cli.output import explained, out, print_json
from discreet.planning.plan import USED, Plan, Row, make_plan
from discreet.planning.plot import check_plot, draw_plan

_WIDTH = 40


@app.command()
@explained
def plan(
    people: Annotated[int, typer.Option(help="About how many individuals the vault will hold.")],
    epsilon: Annotated[float, typer.Option(help="The grant: what all answers together may reveal about any one.")],
    delta: Annotated[
        float | None, typer.Option(help="Probability that the bound fails; one for so many people if not given.")
    ] = None,
    questions: Annotated[
        int | None, typer.Option(min=1, max=10_000, help="Also show what so many questions take.")
    ] = None,
    used: Annotated[int, typer.Option(help="About how many individuals a question uses: an assumption.")] = USED,
    plot: Annotated[
        Path | None, typer.Option("--out", help="Draw it into this file: .svg, .png or .pdf; needs matplotlib.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Show what a grant would pay for, before a vault is made. It reads no vault and loads no model."""
    if plot is not None:
        check_plot(plot)
    made = make_plan(people, epsilon, delta, questions=questions or 0, used=used)
    if plot is not None:
        draw_plan(made, plot)
    if as_json:
        print_json(made.describe())
        return
    _show(made)
    if plot is not None:
        out.print(f"\nDrawn into {plot}.", markup=False)


def _show(plan: Plan) -> None:
    out.print(
        f"Grant: epsilon {plan.epsilon:g} at delta {plan.delta:g}, for each of about {plan.people:,} people. "
        f"Suggested delta: at most {plan.suggested:g}, the largest power of ten up to 1/(10 people^1.1)."
    )
    out.print(_questions(plan))
    out.print(
        f"'epsilon' is what one question costs each person whose documents it could use; 'a person' is how many such "
        f"questions each can be in; 'half' and 'most' are how many of {plan.rows[0].voters} voters must say the same "
        "for it to be released every other time, and nine times in ten.\n"
        f"'In all' is an estimate: each question uses about {plan.used:,} people, and questions fall evenly on all "
        f"{plan.people:,}. With * every person pays for every question. A question that was answered before is free."
    )
    if out.is_terminal:
        _bars(plan)
    out.print("\nHow sure an attacker can be that one person is in the vault:")
    out.print(_odds(plan))
    out.print(
        "Whatever else the attacker knows; for attacks that find at least 1 in 100 of those who are in the vault."
    )
    if plan.wanted:
        out.print(
            f"\nFor {plan.questions:,} questions in all: how many of them a person is in, what each may cost "
            "them under this grant, and the grant that pays for as many of the usual strength:"
        )
        out.print(_wanted(plan))


def _questions(plan: Plan) -> Table:
    table = _table("algorithm", "question", "epsilon", "a person", "in all", "half", "most")
    for row in plan.rows:
        cost = f"{row.epsilon:.3g}" if row.times else "-"
        agree = (_votes(row.likely), _votes(row.surely))
        table.add_row(_name(row), row.what, cost, str(row.times), f"{row.vault:,}", *agree)
    return table


def _odds(plan: Plan) -> Table:
    table = Table("believed before", "after one answer, at most", "after all, at most", box=None)
    for odds in plan.odds:
        table.add_row(_percent(odds.prior), _percent(odds.one_answer), _percent(odds.all_answers))
    return table


def _wanted(plan: Plan) -> Table:
    table = _table("algorithm", "question", "a person", "epsilon", "half", "or a grant")
    for row, wanted in zip(plan.rows, plan.wanted, strict=True):
        cost = "-" if wanted.epsilon is None else f"{wanted.epsilon:.3g}"
        agree = _votes(wanted.likely)
        table.add_row(_name(row), wanted.what, str(wanted.uses), cost, agree, f"{wanted.grant:.3g}")
    return table


def _bars(plan: Plan) -> None:
    """How many questions there can be in all, as bars."""
    most = max(1, *(row.vault for row in plan.rows))
    out.print("\nQuestions in all:")
    for row in plan.rows:
        bar = "#" * round(row.vault / most * _WIDTH)
        out.print(f"  {_name(row) + ', ' + row.what:48}{row.vault:8,}  {bar}", markup=False)


def _name(row: Row) -> str:
    return f"{row.name}{' *' * row.everybody}"


def _votes(votes: int | None) -> str:
    return "never" if votes is None else str(votes)


def _table(*columns: str) -> Table:
    """A table whose first two columns are words and whose others are numbers."""
    table = Table(box=None, pad_edge=False)
    for number, name in enumerate(columns):
        table.add_column(name, justify="left" if number < 2 else "right", no_wrap=True)
    return table


def _percent(share: float) -> str:
    """Rounded up: the bound must not look lower than it is."""
    for digits in (0, 1, 2, 3):
        step = 10.0**-digits
        up = -(-share * 100 // step) * step
        if up < 100:
            return f"{up:.{digits}f} %"
    return "100 %"

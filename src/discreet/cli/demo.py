"""`discreet demo`: compare three ways to answer."""

import tempfile
import time
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import chain, repeat
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Table

from discreet.cli.answers import print_receipt
from discreet.cli.app import Json, app
from discreet.cli.output import doing, explained, out, print_json
from discreet.demo import run
from discreet.demo.corpus import QUESTIONS
from discreet.vault.budget_report import BudgetShown


@dataclass(frozen=True)
class Demonstration:
    """The demonstration with a fictional hospital.

    Attributes:
        documents: the number of documents.
        units: the number of individuals.
        questions: the comparisons.
        budget: the budget afterwards, as `discreet budget --json` prints it.
        seconds: the time of the whole demonstration.
    """

    documents: int
    units: int
    questions: list[run.DemoComparison]
    budget: BudgetShown
    seconds: float


@app.command()
@explained
def demo(
    folder: Annotated[Path | None, typer.Argument(help="The folder that keeps the vault. Default: temporary.")] = None,
    epsilon: Annotated[float | None, typer.Option(help="The maximum cost of a private question.")] = None,
    as_json: Json = False,
) -> None:
    """Compare answers from a fictional hospital: without documents, with plain RAG, and private."""
    start = time.perf_counter()
    with ExitStack() as stack:
        if folder is None:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory())) / "hospital"
        with doing("Building a vault from fictional notes") as advance:
            vault = run.build_vault(folder, lambda _, count: advance(count))
        stored = (vault.store.count_documents(), vault.store.count_units())
        counts = chain([0], repeat(1))  # `compare` reports before each question, so the first report counts none
        with doing("Asking each question in three ways", len(QUESTIONS)) as advance:
            shown = run.compare(vault, epsilon, lambda _: advance(next(counts)))
        budget = vault.budget()
        seconds = time.perf_counter() - start
    if as_json:
        print_json(Demonstration(*stored, [comparison.shown() for comparison in shown], budget.shown(), seconds))
        return
    out.print(
        f"A fictional hospital: {stored[0]} notes of {stored[1]} patients, about diseases that do not exist. "
        f"Grant: epsilon {budget.granted:g}, delta {budget.delta:g}.\n"
    )
    for comparison in shown:
        _print(comparison)
    untouched = sum(level.units for level in budget.levels if level.high >= budget.granted)
    out.print(
        f"Budget: {untouched} patients still have at least {budget.levels[-1].low:.3g} of {budget.granted:g}. "
        f"The other {stored[1] - untouched} took part in an answer and paid for it. Total time: {seconds:.0f} s."
    )


def _print(comparison: run.ThreeAnswers) -> None:
    out.print(f"[bold]{comparison.asked.question}[/]  [dim]({comparison.asked.note})[/]")
    table = Table("", "answer", "", show_lines=False)
    rows = (
        ("no documents", comparison.without, ()),
        ("plain RAG", comparison.plain, comparison.leaked),
        ("private", comparison.private, comparison.leaked_privately),
    )
    for name, answer, leaked in rows:
        text = answer.text.strip() if answer.stopped != "public" else "(nothing was released)"
        table.add_row(name, escape(text), _verdict(comparison.correct(answer), leaked))
    out.print(table)
    print_receipt(comparison.private)
    out.print()


def _verdict(correct: bool | None, leaked: tuple[str, ...]) -> str:
    if leaked:
        return f"[red]leaked: {', '.join(leaked)}[/]"
    if correct is None:
        return "[green]names no patient[/]"
    return "[green]right[/]" if correct else "wrong"

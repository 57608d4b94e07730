"""A plan as a picture: how many questions, and what an attacker may come to believe, for grants around the planned."""

from importlib.util import find_spec
from pathlib import Path
from typing import Any

from discreet.errors import MissingPart, UsageError
from discreet.planning.odds import posterior
from discreet.planning.plan import PRIORS, Plan, make_plan

_POINTS = 30
_SPAN = 4.0
"""The picture reaches from a quarter of the grant to four times as much."""
FORMATS = (".svg", ".png", ".pdf")


def check_plot(out: Path) -> None:
    """Nothing, if a picture can be drawn into such a file.

    Raises:
        UsageError: its name ends otherwise.
        MissingPart: matplotlib is not installed.
    """
    if out.suffix.lower() not in FORMATS:
        raise UsageError(f"A plot is a file whose name ends in {', '.join(FORMATS)}, not '{out.name}'.")
    if find_spec("matplotlib") is None:
        raise MissingPart("Plots need matplotlib", "eval")


def draw_plan(plan: Plan, out: Path) -> None:
    """Draw a plan into a file.

    Raises:
        UsageError, MissingPart: see `check_plot`.
    """
    check_plot(out)
    import matplotlib
    from matplotlib.figure import Figure

    grants = [plan.epsilon * _SPAN ** (2 * point / (_POINTS - 1) - 1) for point in range(_POINTS)]
    with matplotlib.rc_context({"svg.hashsalt": "discreet", "svg.fonttype": "none"}):
        figure: Any = Figure(figsize=(10, 4), layout="constrained")
        left, right = figure.subplots(1, 2)
        _questions(left, plan, grants)
        _odds(right, plan, grants)
        for axes in (left, right):
            axes.axvline(plan.epsilon, color="grey", linestyle=":", linewidth=1)
            axes.set_xscale("log")
            axes.set_xlabel("epsilon of the grant")
        figure.savefig(out, metadata={"Date": None} if out.suffix.lower() == ".svg" else None)


def _questions(axes: Any, plan: Plan, grants: list[float]) -> None:
    """How many questions the whole vault can be asked, by kind."""
    plans = [make_plan(plan.people, grant, plan.delta, used=plan.used) for grant in grants]
    for number, row in enumerate(plan.rows):
        counts = [each.rows[number].vault for each in plans]
        axes.step(grants, counts, where="post", label=f"{row.name}: {row.what}", linewidth=1 + 0.4 * (number % 3))
    axes.set_yscale("symlog", linthresh=1)
    axes.set_ylabel(f"questions in all, {plan.people:,} people")
    axes.legend(fontsize=7)


def _odds(axes: Any, plan: Plan, grants: list[float]) -> None:
    """What an attacker may believe at most, by what they believed before."""
    for prior in PRIORS:
        believed = [100 * posterior(prior, grant, plan.delta) for grant in grants]
        axes.plot(grants, believed, label=f"before: {prior:.0%}")
    axes.set_ylabel("after all answers, at most (%)")
    axes.legend(fontsize=7)

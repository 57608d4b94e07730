"""The plot of a plan: the number of questions and the attacker's belief, for grants around the planned one."""

from importlib.util import find_spec
from pathlib import Path
from typing import Any

from discreet.errors import MissingPart, UsageError
from discreet.planning.plan import PRIORS, GrantPlan, make_plan, posterior
from discreet.system.progress import stage

_POINTS = 30
_SPAN = 4.0
"""The plot spans a quarter of the grant to four times the grant."""
FORMATS = (".svg", ".png", ".pdf")


def check_plot(out: Path) -> None:
    """Check that a plot can be written to a file of this name.

    Raises:
        UsageError: if the suffix is not one of `FORMATS`.
        MissingPart: if matplotlib is not installed.
    """
    if out.suffix.lower() not in FORMATS:
        raise UsageError(f"The plot file '{out.name}' has an unknown suffix. Use one of: {', '.join(FORMATS)}.")
    if find_spec("matplotlib") is None:
        raise MissingPart("Plots need matplotlib", "eval")


def draw_plan(plan: GrantPlan, out: Path) -> None:
    """Write the plot of a plan to a file.

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


def _questions(axes: Any, plan: GrantPlan, grants: list[float]) -> None:
    """Draw the number of questions that the whole vault can answer, by kind."""
    plans = []
    with stage("Computing the plans of other grants", len(grants)) as advance:
        for grant in grants:
            plans.append(make_plan(plan.people, grant, plan.delta, used=plan.used))
            advance(1)
    for number, row in enumerate(plan.rows):
        counts = [each.rows[number].vault for each in plans]
        axes.step(grants, counts, where="post", label=f"{row.name}: {row.what}", linewidth=1 + 0.4 * (number % 3))
    axes.set_yscale("symlog", linthresh=1)
    axes.set_ylabel(f"questions in all, {plan.people:,} people")
    axes.legend(fontsize=7)


def _odds(axes: Any, plan: GrantPlan, grants: list[float]) -> None:
    """Draw the bound on the attacker's belief, by their belief before the first answer."""
    for prior in PRIORS:
        believed = [100 * posterior(prior, grant, plan.delta) for grant in grants]
        axes.plot(grants, believed, label=f"before: {prior:.0%}")
    axes.set_ylabel("after all answers, at most (%)")
    axes.legend(fontsize=7)

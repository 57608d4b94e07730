"""S2MIA: membership by the likeness of answers to the rest of a document, as a curve and its area."""

from collections.abc import Sequence

from discreet_lab.attacks.attack import Attack
from discreet_lab.attacks.membership import MEASURES
from discreet_lab.attacks.suite import run_attack
from discreet_lab.bench.run import BenchRun
from discreet_lab.bench.table import Row

AT = (0.05, 0.1, 0.25, 0.5)
"""The rates of false positives at which a curve is shown."""


def run(given: BenchRun) -> list[Row]:
    """Return a row for each target and measure: the area under the curve with its interval, and the curve."""
    attack = Attack(
        targets=(*given.values["target"], *given.plugins),
        epsilons=given.values["epsilon"],
        members=given.limit,
        questions=1,
        planted=1,
        prompts=(),
        options=dict(given.parameters),
        seed=given.seed,
    )
    findings = run_attack(given.vault, attack, given.on_progress)
    rows: list[Row] = []
    for result in findings.results:
        for measure in MEASURES:
            measured_rates = result.one[measure]
            key = {"target": result.target.name, "epsilon": result.target.epsilon, "measure": measure}
            area = {"area": measured_rates.auc.value, "low": measured_rates.auc.low, "high": measured_rates.auc.high}
            curve = {f"hits at {rate:g}": read_curve(measured_rates.points, rate) for rate in AT}
            rows.append({**key, **area, **curve, "curve": [list(point) for point in measured_rates.points]})
    given.notes += [
        f"{result.target.label} answered {result.private} of {result.questions} questions from documents, fewer than "
        "half: a low area there says little."
        for result in findings.results
        if result.seldom
    ]
    given.notes.append(
        f"{findings.members} people, each in one copy of the vault and out of the other; one question about each."
    )
    return rows


def read_curve(points: Sequence[tuple[float, float]], rate: float) -> float:
    """Return the true positives at a rate of false positives, on the line between two points of the curve."""
    low = max((point for point in points if point[0] <= rate), default=(0.0, 0.0))
    high = min((point for point in points if point[0] > rate), default=low)
    if high[0] == low[0]:
        return low[1]
    return low[1] + (high[1] - low[1]) * (rate - low[0]) / (high[0] - low[0])

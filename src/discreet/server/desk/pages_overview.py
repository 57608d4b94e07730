"""The overview, the questions, and the long work."""

from collections import Counter
from datetime import UTC, datetime

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from discreet.server.caller import KeeperGone
from discreet.server.custody_messages import PAGE, Level, Overview, Progress, Progressed, VaultState
from discreet.server.desk.desk import Desk, page

DAYS = 30
_MANY = 0.25
"""If so large a part of the units is short of one question, the custodian is warned."""


def routes(desk: Desk) -> list[Route]:
    """Return the routes of this file."""
    return [
        page(desk, "/", _show_overview),
        page(desk, "/questions", _show_questions),
        page(desk, "/progress", _show_progress),
        page(desk, "/progress.json", _tell_progress),
    ]


def _show_overview(desk: Desk, request: Request) -> Response:
    found = desk.ask(Overview())
    seen = [(state, _rows(state.levels), _short(state)) for state in found.vaults]
    return desk.show(request, "overview.html", "Overview", seen=seen, pending=len(desk.accounts.requests()))


def _rows(levels: tuple[Level, ...]) -> list[tuple[str, float]]:
    return [(f"{one.low:.4g} to {one.high:.4g}", one.units) for one in reversed(levels)]


def _short(state: VaultState) -> int:
    """Return how many units may be short of one default question, if they are many; else 0."""
    total = sum(level.units for level in state.levels)
    short = sum(level.units for level in state.levels if level.low < state.price)
    return short if total and short >= _MANY * total else 0


def _show_questions(desk: Desk, request: Request) -> Response:
    skip = number(request.query_params.get("skip", ""))
    names = {key.id: key.name for key in desk.accounts.list_keys()}
    rows = desk.accounts.asked(skip=skip, limit=PAGE + 1)
    days: Counter[str] = Counter()
    by_key: Counter[tuple[str, str]] = Counter()
    for one in desk.accounts.asked(days=DAYS):
        days[one["time"][:10]] += 1
        by_key[one["time"][:10], one["key"]] += 1
    today = datetime.now(UTC).date().toordinal()
    shown = [datetime.fromordinal(day).strftime("%Y-%m-%d") for day in range(today - DAYS + 1, today + 1)]
    asked = [day for day in shown if days[day]]
    return desk.show(
        request,
        "questions.html",
        "Questions",
        rows=rows[:PAGE],
        names=names,
        skip=skip,
        more=len(rows) > PAGE,
        page_size=PAGE,
        chart=[(day, days[day]) for day in asked],
        by_key=[(day, key, count) for (day, key), count in sorted(by_key.items())],
        days=DAYS,
    )


def _show_progress(desk: Desk, request: Request) -> Response:
    task = desk.tasks.latest()
    return desk.show(request, "progress.html", "Progress", task=task, progress=_progress(desk))


def _tell_progress(desk: Desk, request: Request) -> Response:
    task, progress = desk.tasks.latest(), _progress(desk)
    return JSONResponse(
        {
            "state": task.state if task else "",
            "running": progress is not None and progress.running,
            "step": progress.step if progress else "",
            "done": progress.done if progress else 0,
            "of": progress.of if progress else 0,
        }
    )


def _progress(desk: Desk) -> Progressed | None:
    try:
        return desk.ask(Progress())
    except KeeperGone:
        return None


def number(text: str) -> int:
    """Return a whole number from 0 on; 0 for any other text."""
    return int(text) if text.isdecimal() and len(text) < 10 else 0

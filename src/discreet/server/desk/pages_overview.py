"""What the custodian looks at: vaults, questions, long work, metrics, the audit log with its check, and the report."""

import base64
import hashlib
import json
import re
from collections import Counter
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

import httpx2
from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route

from discreet.server.audit_log import AuditLog, AuditLogError
from discreet.server.caller import NO_TLS, KeeperGone
from discreet.server.custody_messages import PAGE, BalanceLevel, Overview, Progress, Progressed, ReportPage, VaultState
from discreet.server.desk.desk import Desk, NoSuchPage, action, page, text_of
from discreet.system.markup import paragraph, section

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
        page(desk, "/metrics", _show_metrics),
        page(desk, "/audit", _show_audit),
        action(desk, "/audit/check", _check_audit),
        page(desk, "/audit/file", _audit_file),
        page(desk, "/report", _show_report),
        action(desk, "/report/page", _report_page),
    ]


def _show_overview(desk: Desk, request: Request) -> Response:
    found = desk.ask(Overview())
    seen = [(state, _rows(state.levels), _short(state)) for state in found.vaults]
    return desk.show(request, "overview.html", "Overview", seen=seen, pending=len(desk.accounts.requests()))


def _rows(levels: tuple[BalanceLevel, ...]) -> list[tuple[str, float]]:
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
    task = desk.tasks.latest()
    return JSONResponse({"state": task.state if task else "", **asdict(_progress(desk))})


def _progress(desk: Desk) -> Progressed:
    try:
        return desk.ask(Progress())
    except KeeperGone:
        return Progressed(running=False)


def number(text: str) -> int:
    """Return a whole number from 0 on; 0 for any other text."""
    return int(text) if text.isdecimal() and len(text) < 10 else 0


# --- GET /metrics for Prometheus: what the front counts, fetched from its socket; it is public -----------------------


_PATIENCE = 5.0
_MOST = 2**20


def _show_metrics(desk: Desk, request: Request) -> Response:
    transport = httpx2.HTTPTransport(uds=str(desk.config.metrics_socket), verify=NO_TLS)
    try:
        with (
            httpx2.Client(transport=transport, timeout=_PATIENCE) as client,
            client.stream("GET", "http://front/metrics") as reply,
        ):
            return PlainTextResponse(next(reply.iter_text(_MOST), ""))
    except httpx2.HTTPError:
        return PlainTextResponse("The front cannot be reached.\n", 503)


# --- the audit log, and the report for the person who signs ----------------------------------------------------------


SHOWN = 200
_STYLE = re.compile("<style>(.*?)</style>", re.DOTALL)


def _show_audit(desk: Desk, request: Request) -> Response:
    return _audit(desk, request, None, "")


def _check_audit(desk: Desk, request: Request, form: FormData) -> Response:
    try:
        found, wrong = desk.log.verify(text_of(form, "head") or None), ""
    except AuditLogError as error:
        found, wrong = None, str(error)
    return _audit(desk, request, found, wrong)


def _audit(desk: Desk, request: Request, checked: Any, wrong: str) -> Response:
    return desk.show(
        request,
        "audit.html",
        "Audit log",
        lines=desk.log.newest(SHOWN),
        shown=SHOWN,
        head=_head(desk.log),
        checked=checked,
        wrong=wrong,
    )


def _audit_file(desk: Desk, request: Request) -> Response:
    if not desk.log.files():
        raise NoSuchPage("There is no audit log yet.")
    named = {"content-disposition": 'attachment; filename="audit.jsonl"'}
    lines = (json.dumps(line) + "\n" for line in desk.log.lines())
    return StreamingResponse(lines, media_type="application/octet-stream", headers=named)


def _show_report(desk: Desk, request: Request) -> Response:
    vault = desk.vault(request.query_params.get("vault"))
    return desk.show(request, "report.html", "Report", vault=vault, head=_head(desk.log))


def _report_page(desk: Desk, request: Request, form: FormData) -> Response:
    """Return the report as a page of its own. Its style stands in it, so its policy names that style's hash."""
    vault = desk.vault(text_of(form, "vault"))
    text = desk.ask(ReportPage(vault))
    desk.record("report", vault, sha256=hashlib.sha256(text.encode()).hexdigest())
    proof = section(
        "Audit log of the server",
        paragraph(f"The head of the audit log when this report was made: {_head(desk.log)}"),
        paragraph("Keep it with the signature. Later, `discreet audit-log verify VAULT --head HEAD` must find it."),
    )
    style = _STYLE.search(text)
    digest = base64.b64encode(hashlib.sha256((style[1] if style else "").encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    page_text = text.replace("</body>", f"{proof}</body>", 1)
    return HTMLResponse(page_text, headers={"content-security-policy": f"{policy}; frame-ancestors 'none'"})


def _head(log: AuditLog) -> str:
    try:
        return log.head().hash
    except AuditLogError:
        return "the last line is damaged: check the log"

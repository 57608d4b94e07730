"""The audit log with its check, and the report for the person who signs."""

import base64
import hashlib
import json
import re
from typing import Any

from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response, StreamingResponse
from starlette.routing import Route

from discreet.server.audit_log import AuditLog, AuditLogError
from discreet.server.custody_messages import Paper
from discreet.server.desk.desk import Desk, NoSuchPage, action, page, text_of
from discreet.system.markup import paragraph, section

SHOWN = 200
_STYLE = re.compile("<style>(.*?)</style>", re.DOTALL)


def routes(desk: Desk) -> list[Route]:
    """Return the routes of this file."""
    return [
        page(desk, "/audit", _show_audit),
        action(desk, "/audit/check", _check_audit),
        page(desk, "/audit/file", _audit_file),
        page(desk, "/report", _show_report),
        action(desk, "/report/page", _report_page),
    ]


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
    text = desk.ask(Paper(vault))
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

"""The pages of the desk: what the custodian looks at, keys, documents, erasures, and synthetic corpora."""

import base64
import hashlib
import json
import re
from collections import Counter
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx2
from starlette.datastructures import FormData, UploadFile
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, JSONResponse, PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route

from discreet.errors import UsageError
from discreet.planning.plan import bought
from discreet.system.markup import paragraph, section
from discreet.system.words import counted
from discreet_server import custody_messages as messages
from discreet_server.accounts import CAP_IS_POLICY, Key, Limits
from discreet_server.accounts.keys import METER_READS, parse_expiry, parse_models, parse_rate
from discreet_server.audit_log import AuditLog, AuditLogError
from discreet_server.desk.desk import (
    Desk,
    KeeperRefused,
    NoSuchPage,
    action,
    lines_of,
    number_of,
    page,
    text_of,
    ticked,
    whole_of,
)
from discreet_server.desk.uploads import Upload
from discreet_server.sockets import NO_TLS, KeeperGone


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
        page(desk, "/keys", _show_keys),
        action(desk, "/keys/issue", _issue),
        action(desk, "/keys/extend", _extend, "Change the caps of this key?"),
        action(desk, "/keys/rotate", _rotate, "Replace the secret of this key? The one in use ends at once."),
        action(desk, "/keys/revoke", _revoke, "Revoke this key for good?"),
        action(desk, "/keys/approve", _approve, "Approve this request? The cap of its key rises."),
        action(desk, "/keys/deny", _deny, "Deny this request?"),
        page(desk, "/documents", _show_documents),
        action(desk, "/documents/upload", _upload),
        page(desk, "/documents/preview", _preview),
        action(desk, "/documents/add", _add_documents),
        action(desk, "/documents/discard", _discard),
        action(desk, "/documents/undo", _undo, "Erase all documents of this batch for good?"),
        page(desk, "/erasure", _show_erasure),
        action(desk, "/erasure/look", _look),
        action(desk, "/erasure/erase", _erase, "Erase this individual and all documents about it for good?"),
        action(desk, "/erasure/readmit", _readmit, "Let documents of this individual be added again?"),
        page(desk, "/corpora", _show_corpora),
        action(desk, "/corpora/plan", _plan),
        action(desk, "/corpora/start", _start),
        page(desk, "/corpora/file", _file),
    ]


# --- vaults, questions, and long work --------------------------------------------------------------------------------


DAYS = 30
_MANY = 0.25
"""If so large a part of the units is short of one question, the custodian is warned."""


def _show_overview(desk: Desk, request: Request) -> Response:
    found = desk.ask(messages.Overview())
    seen = [(state, _rows(state.levels), _short(state)) for state in found.vaults]
    return desk.show(request, "overview.html", "Overview", seen=seen, pending=len(desk.accounts.requests()))


def _rows(levels: tuple[messages.BalanceLevel, ...]) -> list[tuple[str, float]]:
    return [(f"{one.low:.4g} to {one.high:.4g}", one.units) for one in reversed(levels)]


def _short(state: messages.VaultState) -> int:
    """Return how many units may be short of one default question, if they are many; else 0."""
    total = sum(level.units for level in state.levels)
    short = sum(level.units for level in state.levels if level.low < state.price)
    return short if total and short >= _MANY * total else 0


def _show_questions(desk: Desk, request: Request) -> Response:
    skip = number(request.query_params.get("skip", ""))
    names = {key.id: key.name for key in desk.accounts.list_keys()}
    rows = desk.accounts.asked(skip=skip, limit=messages.PAGE + 1)
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
        rows=rows[: messages.PAGE],
        names=names,
        skip=skip,
        more=len(rows) > messages.PAGE,
        page_size=messages.PAGE,
        chart=[(day, days[day]) for day in asked],
        by_key=[(day, key, count) for (day, key), count in sorted(by_key.items())],
        days=DAYS,
    )


def _show_progress(desk: Desk, request: Request) -> Response:
    task = desk.tasks.latest
    return desk.show(request, "progress.html", "Progress", task=task, progress=_progress(desk))


def _tell_progress(desk: Desk, request: Request) -> Response:
    task = desk.tasks.latest
    return JSONResponse({"state": task.state if task else "", **asdict(_progress(desk))})


def _progress(desk: Desk) -> messages.Progressed:
    try:
        return desk.ask(messages.Progress())
    except KeeperGone:
        return messages.Progressed(running=False)


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
    text = desk.ask(messages.ReportPage(vault))
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


# --- keys, and the requests of analysts for more --------------------------------------------------------------------


def _show_keys(desk: Desk, request: Request) -> Response:
    keys = desk.accounts.list_keys()
    return desk.show(
        request,
        "keys.html",
        "Keys",
        keys=[(key, desk.accounts.odometer(key.id)) for key in keys],
        requests=desk.accounts.requests(),
        names={key.id: key.name for key in keys},
        policy=CAP_IS_POLICY,
        meter_reads=METER_READS,
    )


def _issue(desk: Desk, request: Request, form: FormData) -> Response:
    name, limits = text_of(form, "name"), _limits(form)
    if limits.epsilon is None:
        raise UsageError("A key needs a cap in epsilon. Give a number, such as 10.")
    limits.check()
    chosen = [desk.vault(one) for one in form.getlist("vaults")] or [desk.vault("")]
    reserved, keep = ticked(form, "reserved"), number_of(form, "keep")
    states = {state.name: state for state in desk.ask(messages.Overview()).vaults}
    usual = {name: state.usual.spending if state.usual else None for name, state in states.items()}
    where = lines_of(form, "where")
    for vault in chosen if where else ():
        desk.ask(messages.Bind(vault, where))
    for vault in chosen:
        desk.accounts.grant(vault, states[vault].grant, kept=keep, typical=usual[vault])
    key, secret = desk.accounts.issue(
        name,
        chosen,
        limits,
        reserved=reserved,
        footer=ticked(form, "footer"),
        typical=usual[chosen[0]],
        where=where,
    )
    first = states[chosen[0]]
    some = bought(key.budget, first.grant) if first.payment == "unit" else {}
    buys = ", or ".join(counted(number, name) for name, number in some.items())
    bound = {"where": " and ".join(where)} if where else {}
    desk.record("key-issue", key.id, name=key.name, epsilon=key.epsilon, reserved=reserved, **bound)
    return _show_secret(desk, request, key, secret, buys)


def _extend(desk: Desk, request: Request, form: FormData) -> Response:
    limits = _limits(form)
    if limits == Limits():
        raise UsageError("Nothing is to be changed. Give a new cap.")
    key = desk.accounts.extend(_key(desk, form).id, limits)
    desk.record("key-extend", key.id, epsilon=limits.epsilon, questions=limits.questions)
    return desk.go(request, "/keys", f"The caps of the key {key.id} ({key.name}) are changed.")


def _rotate(desk: Desk, request: Request, form: FormData) -> Response:
    key, secret = desk.accounts.rotate(_key(desk, form).id)
    desk.record("key-rotate", key.id)
    return _show_secret(desk, request, key, secret)


def _revoke(desk: Desk, request: Request, form: FormData) -> Response:
    key = desk.accounts.revoke(_key(desk, form).id)
    desk.record("key-revoke", key.id)
    return desk.go(request, "/keys", f"The key {key.id} ({key.name}) is revoked. What it spent stays spent.")


def _approve(desk: Desk, request: Request, form: FormData) -> Response:
    found, key = desk.accounts.approve(whole_of(form, "request"))
    desk.record("request-approve", key.id, request=found.id, epsilon=found.epsilon)
    return desk.go(request, "/keys", f"Request {found.id} is approved. The cap of {key.name} is {key.epsilon:g}.")


def _deny(desk: Desk, request: Request, form: FormData) -> Response:
    found = desk.accounts.deny(whole_of(form, "request"))
    desk.record("request-deny", found.key, request=found.id, epsilon=found.epsilon)
    return desk.go(request, "/keys", f"Request {found.id} is denied. The cap stays.")


def _show_secret(desk: Desk, request: Request, key: Key, secret: str, buys: str = "") -> Response:
    return desk.show(request, "secret.html", "A new secret", key=key, secret=secret, buys=buys)


def _key(desk: Desk, form: FormData) -> Key:
    return desk.accounts.get(text_of(form, "key"))


def _limits(form: FormData) -> Limits:
    """Return the caps of a form. The messages of their checks name the options of `discreet key`, spelled alike."""
    questions = number_of(form, "questions")
    if questions is not None and not questions.is_integer():
        raise UsageError(f"The number of questions is {questions:g}. Give a whole number.")
    return Limits(
        epsilon=number_of(form, "epsilon"),
        questions=None if questions is None else int(questions),
        per_question=number_of(form, "per_question"),
        rate=parse_rate(text_of(form, "rate") or None),
        expires=parse_expiry(text_of(form, "expires") or None),
        models=parse_models(text_of(form, "models") or None),
    )


# --- documents: uploads, their preview, additions, lists, and batches that are taken back ----------------------------


LISTS = ("documents", "units", "batches")


def _show_documents(desk: Desk, request: Request) -> Response:
    query = request.query_params
    vault, what = desk.vault(query.get("vault")), query.get("list", "batches")
    skip = number(query.get("skip", ""))
    listed = desk.ask(messages.Listing(vault, what, skip))
    return desk.show(
        request,
        "documents.html",
        "Documents",
        vault=vault,
        what=what,
        lists=LISTS,
        skip=skip,
        page_size=messages.PAGE,
        rows=[{name: _shown(value, name) for name, value in row.items()} for row in listed.rows],
        more=listed.more,
        uploads=desk.quarantine.list(),
    )


def _upload(desk: Desk, request: Request, form: FormData) -> Response:
    vault = desk.vault(text_of(form, "vault"))
    chosen = [one for name in ("files", "folder") for one in form.getlist(name) if isinstance(one, UploadFile)]
    files = [(one.filename, one.file) for one in chosen if one.filename]
    manifest = form.get("manifest")
    named = isinstance(manifest, UploadFile) and bool(manifest.filename)
    written: dict[str, Any] = {
        name: text_of(form, name) for name in ("text_field", "unit_field", "id_field", "unit_from")
    }
    boxes: dict[str, Any] = {name: ticked(form, name) for name in ("each_file", "each_record")}
    how = messages.HowRead(**{name: text for name, text in written.items() if text}, **boxes, manifest=named)
    table = manifest.file if isinstance(manifest, UploadFile) and named else None
    upload = desk.quarantine.take(vault, how, files, table)
    desk.record("upload", upload.id, vault=vault, sha256=upload.digest)
    return desk.go(request, f"/documents/preview?upload={upload.id}")


def _preview(desk: Desk, request: Request) -> Response:
    upload = desk.quarantine.find(request.query_params.get("upload", ""))
    try:
        preview = desk.ask(messages.Inspect(upload.vault, upload.id, upload.how))
    except KeeperRefused as error:
        return desk.show(request, "refused.html", "Refused", 400, upload=upload, message=str(error))
    return desk.show(request, "preview.html", "Preview", upload=upload, found=preview, vault=upload.vault)


def _add_documents(desk: Desk, request: Request, form: FormData) -> Response:
    upload = desk.quarantine.find(text_of(form, "upload"))
    desk.tasks.start("add", upload.vault, lambda: _add_now(desk, upload))
    return desk.go(request, "/progress")


def _add_now(desk: Desk, upload: Upload) -> messages.UploadAdded:
    """Add an upload, and record it. The counts stay out of the log: they are private."""
    desk.record("add-begin", upload.id, vault=upload.vault, sha256=upload.digest)
    added = desk.ask(messages.Add(upload.vault, upload.id, upload.how))
    desk.record("add", upload.id, vault=upload.vault, batch=added.batch, sha256=upload.digest)
    desk.quarantine.discard(upload)
    return added


def _discard(desk: Desk, request: Request, form: FormData) -> Response:
    upload = desk.quarantine.find(text_of(form, "upload"))
    desk.quarantine.discard(upload)
    desk.record("upload-discard", upload.id, vault=upload.vault)
    return desk.go(request, f"/documents?vault={upload.vault}", "The upload is discarded. Nothing was added.")


def _undo(desk: Desk, request: Request, form: FormData) -> Response:
    vault, batch = desk.vault(text_of(form, "vault")), whole_of(form, "batch")
    undone = desk.ask(messages.Undo(vault, batch, ticked(form, "anyway")))
    desk.record("undo", str(batch), vault=vault)
    notice = f"{undone} documents of batch {batch} are erased. What their units spent stays spent."
    return desk.go(request, f"/documents?vault={vault}", notice)


def _shown(value: Any, name: str) -> str:
    if name == "time":
        return str(value)[:16].replace("T", " ")
    if isinstance(value, dict):
        return ", ".join(f"{key}={one}" for key, one in value.items())
    if isinstance(value, list):
        return ", ".join(str(one) for one in value[:3]) + (f", and {len(value) - 3} more" if len(value) > 3 else "")
    return str(value)


# --- erasure of an individual: what was erased, what stays, and why --------------------------------------------------


def _show_erasure(desk: Desk, request: Request) -> Response:
    vault = desk.vault(request.query_params.get("vault"))
    return desk.show(request, "erasure.html", "Erasure", vault=vault, unit="", found=None, done="")


def _look(desk: Desk, request: Request, form: FormData) -> Response:
    """Show what is left of a unit. A form, not an address: names do not belong into a browser's history."""
    vault, unit = desk.vault(text_of(form, "vault")), text_of(form, "unit")
    return _result(desk, request, vault, desk.ask(messages.Remains(vault, unit)), "")


def _erase(desk: Desk, request: Request, form: FormData) -> Response:
    vault, unit = desk.vault(text_of(form, "vault")), text_of(form, "unit")
    erased = desk.ask(messages.Erase(vault, unit, ticked(form, "anyway")))
    desk.record("erase", erased.tag, vault=vault)
    done = f"Erased, with {erased.documents} documents. Later additions of this individual are refused."
    return _result(desk, request, vault, erased, done)


def _readmit(desk: Desk, request: Request, form: FormData) -> Response:
    vault, unit = desk.vault(text_of(form, "vault")), text_of(form, "unit")
    readmitted = desk.ask(messages.Readmit(vault, unit))
    desk.record("readmit", readmitted.tag, vault=vault)
    return _result(desk, request, vault, readmitted, "The individual may be added again, with the balance that it had.")


def _result(desk: Desk, request: Request, vault: str, found: messages.Remained, done: str) -> Response:
    report = found.report
    return desk.show(request, "erasure.html", "Erasure", vault=vault, unit=report["unit"], found=report, done=done)


# --- synthetic corpora: their price, their making, and their files ---------------------------------------------------


_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
_KINDS = {"corpus": ".jsonl", "receipt": ".receipt.json"}


def _show_corpora(desk: Desk, request: Request) -> Response:
    vault = desk.vault(request.query_params.get("vault"))
    files = [(one.stem, one.stat()) for one in sorted((Path(desk.config.corpora) / vault).glob("*.jsonl"))]
    listed = desk.ask(messages.Corpora(vault))
    return desk.show(request, "corpora.html", "Synthetic corpora", vault=vault, listed=listed, files=files)


def _plan(desk: Desk, request: Request, form: FormData) -> Response:
    vault, wanted, name = desk.vault(text_of(form, "vault")), _wanted(form), _named(form)
    plan = desk.ask(messages.PlanCorpus(vault, wanted))
    return desk.show(request, "plan.html", "Plan of a corpus", vault=vault, wanted=wanted, name=name, plan=plan)


def _start(desk: Desk, request: Request, form: FormData) -> Response:
    vault, wanted, name = desk.vault(text_of(form, "vault")), _wanted(form), _named(form)
    desk.tasks.start("make", vault, lambda: _make_now(desk, messages.Make(vault, wanted, name)))
    return desk.go(request, "/progress")


def _make_now(desk: Desk, message: messages.Make) -> messages.Made:
    wanted = message.wanted
    desk.record("corpus-begin", message.name, vault=message.vault, method=wanted.method, epsilon=wanted.epsilon)
    corpus = desk.ask(message)
    desk.record("corpus", message.name, vault=message.vault, method=wanted.method, epsilon=corpus.epsilon)
    return corpus


def _file(desk: Desk, request: Request) -> Response:
    query = request.query_params
    vault, name, kind = desk.vault(query.get("vault")), query.get("name", ""), query.get("kind", "corpus")
    if not _NAME.fullmatch(name) or kind not in _KINDS:
        raise NoSuchPage("There is no such corpus. Choose one from the list.")
    path = Path(desk.config.corpora) / vault / f"{name}{_KINDS[kind]}"
    if not path.is_file():
        raise NoSuchPage("There is no such corpus. Choose one from the list.")
    return FileResponse(path, media_type="application/octet-stream", filename=path.name)


def _wanted(form: FormData) -> messages.CorpusWanted:
    if (epsilon := number_of(form, "epsilon")) is None:
        raise UsageError("The corpus has no price. Give a number, such as 10.")
    return messages.CorpusWanted(text_of(form, "method"), epsilon, text_of(form, "task"), ticked(form, "only_new"))


def _named(form: FormData) -> str:
    name = text_of(form, "name")
    if not _NAME.fullmatch(name):
        raise UsageError(f"The name is {name[:50]!r}. Use 1 to 64 letters, digits, hyphens and underscores.")
    return name

"""What the custodian does with a vault: documents come in and go, an individual is erased, a corpus is made."""

import re
from pathlib import Path
from typing import Any

from starlette.datastructures import FormData, UploadFile
from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import Route

from discreet.errors import UsageError
from discreet.server.custody_messages import (
    PAGE,
    Add,
    Corpora,
    CorpusWanted,
    Erase,
    HowRead,
    Inspect,
    Listing,
    Made,
    Make,
    PlanCorpus,
    Readmit,
    Remained,
    Remains,
    Undo,
    UploadAdded,
)
from discreet.server.desk.desk import (
    Desk,
    KeeperRefused,
    NoSuchPage,
    action,
    number_of,
    page,
    text_of,
    ticked,
    whole_of,
)
from discreet.server.desk.pages_overview import number
from discreet.server.desk.uploads import Upload

# --- documents: uploads, their preview, additions, lists, and batches that are taken back ----------------------------


LISTS = ("documents", "units", "batches")


def routes(desk: Desk) -> list[Route]:
    """Return the routes of this file."""
    return [
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


def _show_documents(desk: Desk, request: Request) -> Response:
    query = request.query_params
    vault, what = desk.vault(query.get("vault")), query.get("list", "batches")
    if what not in LISTS:
        raise UsageError("There is no such list. Choose documents, units or batches.")
    skip = number(query.get("skip", ""))
    listed = desk.ask(Listing(vault, what, skip))
    return desk.show(
        request,
        "documents.html",
        "Documents",
        vault=vault,
        what=what,
        lists=LISTS,
        skip=skip,
        page_size=PAGE,
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
    how = HowRead(
        text_field=text_of(form, "text_field") or "text",
        unit_field=text_of(form, "unit_field"),
        id_field=text_of(form, "id_field") or "id",
        unit_from=text_of(form, "unit_from"),
        manifest=named,
        each_file=ticked(form, "each_file"),
        each_record=ticked(form, "each_record"),
    )
    table = manifest.file if isinstance(manifest, UploadFile) and named else None
    upload = desk.quarantine.take(vault, how, files, table)
    desk.record("upload", upload.id, vault=vault, sha256=upload.digest)
    return desk.go(request, f"/documents/preview?upload={upload.id}")


def _preview(desk: Desk, request: Request) -> Response:
    upload = desk.quarantine.find(request.query_params.get("upload", ""))
    try:
        found = desk.ask(Inspect(upload.vault, upload.id, upload.how))
    except KeeperRefused as error:
        return desk.show(request, "refused.html", "Refused", 400, upload=upload, message=str(error))
    return desk.show(request, "preview.html", "Preview", upload=upload, found=found, vault=upload.vault)


def _add_documents(desk: Desk, request: Request, form: FormData) -> Response:
    upload = desk.quarantine.find(text_of(form, "upload"))
    desk.tasks.start("add", upload.vault, lambda: _add_now(desk, upload))
    return desk.go(request, "/progress")


def _add_now(desk: Desk, upload: Upload) -> UploadAdded:
    """Add an upload, and record it. The counts stay out of the log: they are private."""
    desk.record("add-begin", upload.id, vault=upload.vault, sha256=upload.digest)
    added = desk.ask(Add(upload.vault, upload.id, upload.how))
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
    undone = desk.ask(Undo(vault, batch, ticked(form, "anyway")))
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
    return _result(desk, request, vault, desk.ask(Remains(vault, unit)), "")


def _erase(desk: Desk, request: Request, form: FormData) -> Response:
    vault, unit = desk.vault(text_of(form, "vault")), text_of(form, "unit")
    found = desk.ask(Erase(vault, unit, ticked(form, "anyway")))
    desk.record("erase", found.tag, vault=vault)
    done = f"Erased, with {found.documents} documents. Later additions of this individual are refused."
    return _result(desk, request, vault, found, done)


def _readmit(desk: Desk, request: Request, form: FormData) -> Response:
    vault, unit = desk.vault(text_of(form, "vault")), text_of(form, "unit")
    found = desk.ask(Readmit(vault, unit))
    desk.record("readmit", found.tag, vault=vault)
    return _result(desk, request, vault, found, "The individual may be added again, with the balance that it had.")


def _result(desk: Desk, request: Request, vault: str, found: Remained, done: str) -> Response:
    report = found.report
    return desk.show(request, "erasure.html", "Erasure", vault=vault, unit=report["unit"], found=report, done=done)


# --- synthetic corpora: their price, their making, and their files ---------------------------------------------------


_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
_KINDS = {"corpus": ".jsonl", "receipt": ".receipt.json"}


def _show_corpora(desk: Desk, request: Request) -> Response:
    vault = desk.vault(request.query_params.get("vault"))
    files = [(one.stem, one.stat()) for one in sorted((Path(desk.config.corpora) / vault).glob("*.jsonl"))]
    listed = desk.ask(Corpora(vault))
    return desk.show(request, "corpora.html", "Synthetic corpora", vault=vault, listed=listed, files=files)


def _plan(desk: Desk, request: Request, form: FormData) -> Response:
    vault, wanted, name = desk.vault(text_of(form, "vault")), _wanted(form), _named(form)
    plan = desk.ask(PlanCorpus(vault, wanted))
    return desk.show(request, "plan.html", "Plan of a corpus", vault=vault, wanted=wanted, name=name, plan=plan)


def _start(desk: Desk, request: Request, form: FormData) -> Response:
    vault, wanted, name = desk.vault(text_of(form, "vault")), _wanted(form), _named(form)
    desk.tasks.start("make", vault, lambda: _make_now(desk, Make(vault, wanted, name)))
    return desk.go(request, "/progress")


def _make_now(desk: Desk, message: Make) -> Made:
    wanted = message.wanted
    desk.record("corpus-begin", message.name, vault=message.vault, method=wanted.method, epsilon=wanted.epsilon)
    made = desk.ask(message)
    desk.record("corpus", message.name, vault=message.vault, method=wanted.method, epsilon=made.epsilon)
    return made


def _file(desk: Desk, request: Request) -> Response:
    query = request.query_params
    vault, name, kind = desk.vault(query.get("vault")), query.get("name", ""), query.get("kind", "corpus")
    if not _NAME.fullmatch(name) or kind not in _KINDS:
        raise NoSuchPage("There is no such corpus. Choose one from the list.")
    path = Path(desk.config.corpora) / vault / f"{name}{_KINDS[kind]}"
    if not path.is_file():
        raise NoSuchPage("There is no such corpus. Choose one from the list.")
    return FileResponse(path, media_type="application/octet-stream", filename=path.name)


def _wanted(form: FormData) -> CorpusWanted:
    if (epsilon := number_of(form, "epsilon")) is None:
        raise UsageError("The corpus has no price. Give a number, such as 10.")
    return CorpusWanted(text_of(form, "method"), epsilon, text_of(form, "task"), ticked(form, "only_new"))


def _named(form: FormData) -> str:
    name = text_of(form, "name")
    if not _NAME.fullmatch(name):
        raise UsageError(f"The name is {name[:50]!r}. Use 1 to 64 letters, digits, hyphens and underscores.")
    return name

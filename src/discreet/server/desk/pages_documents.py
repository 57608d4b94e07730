"""Documents: uploads, their preview, additions, lists, and batches that are taken back."""

from typing import Any

from starlette.datastructures import FormData, UploadFile
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from discreet.errors import UsageError
from discreet.server.custody_messages import PAGE, Add, Added, HowRead, Listing, Preview, Undo
from discreet.server.desk.desk import Desk, Refused, action, page, text_of, ticked
from discreet.server.desk.pages_overview import number
from discreet.server.desk.uploads import Upload

LISTS = ("documents", "units", "batches")


def routes(desk: Desk) -> list[Route]:
    """Return the routes of this file."""
    return [
        page(desk, "/documents", _show),
        action(desk, "/documents/upload", _upload),
        page(desk, "/documents/preview", _preview),
        action(desk, "/documents/add", _add),
        action(desk, "/documents/discard", _discard),
        action(desk, "/documents/undo", _undo, "Erase all documents of this batch for good?"),
    ]


def _show(desk: Desk, request: Request) -> Response:
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
        found = desk.ask(Preview(upload.vault, upload.id, upload.how))
    except Refused as error:
        return desk.show(request, "refused.html", "Refused", 400, upload=upload, message=str(error))
    return desk.show(request, "preview.html", "Preview", upload=upload, found=found, vault=upload.vault)


def _add(desk: Desk, request: Request, form: FormData) -> Response:
    upload = desk.quarantine.find(text_of(form, "upload"))
    desk.tasks.start("add", upload.vault, lambda: _add_now(desk, upload))
    return desk.go(request, "/progress")


def _add_now(desk: Desk, upload: Upload) -> Added:
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
    vault, text = desk.vault(text_of(form, "vault")), text_of(form, "batch")
    if not text.isdecimal() or len(text) > 12:
        raise UsageError("The batch has no number. Choose it in the list of batches.")
    undone = desk.ask(Undo(vault, int(text), ticked(form, "anyway")))
    desk.record("undo", text, vault=vault)
    notice = f"{undone} documents of batch {text} are erased. What their units spent stays spent."
    return desk.go(request, f"/documents?vault={vault}", notice)


def _shown(value: Any, name: str) -> str:
    if name == "time":
        return str(value)[:16].replace("T", " ")
    if isinstance(value, dict):
        return ", ".join(f"{key}={one}" for key, one in value.items())
    if isinstance(value, list):
        return ", ".join(str(one) for one in value[:3]) + (f", and {len(value) - 3} more" if len(value) > 3 else "")
    return str(value)

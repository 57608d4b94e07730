"""Erasure of an individual: what was erased, what stays, and why."""

from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from discreet.server.custody_messages import Erase, Readmit, Remained, Remains
from discreet.server.desk.desk import Desk, action, page, text_of, ticked


def routes(desk: Desk) -> list[Route]:
    """Return the routes of this file."""
    return [
        page(desk, "/erasure", _show),
        action(desk, "/erasure/look", _look),
        action(desk, "/erasure/erase", _erase, "Erase this individual and all documents about it for good?"),
        action(desk, "/erasure/readmit", _readmit, "Let documents of this individual be added again?"),
    ]


def _show(desk: Desk, request: Request) -> Response:
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

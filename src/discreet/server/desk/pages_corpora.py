"""Synthetic corpora: their price, their making, and their files."""

import re
from pathlib import Path

from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import Route

from discreet.errors import UsageError
from discreet.server.custody_messages import Corpora, CorpusWanted, Made, Make, Plan
from discreet.server.desk.desk import Desk, NoSuchPage, action, page, text_of, ticked

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
_KINDS = {"corpus": ".jsonl", "receipt": ".receipt.json"}


def routes(desk: Desk) -> list[Route]:
    """Return the routes of this file."""
    return [
        page(desk, "/corpora", _show),
        action(desk, "/corpora/plan", _plan),
        action(desk, "/corpora/start", _start),
        page(desk, "/corpora/file", _file),
    ]


def _show(desk: Desk, request: Request) -> Response:
    vault = desk.vault(request.query_params.get("vault"))
    files = [(one.stem, one.stat()) for one in sorted((Path(desk.config.corpora) / vault).glob("*.jsonl"))]
    listed = desk.ask(Corpora(vault))
    return desk.show(request, "corpora.html", "Synthetic corpora", vault=vault, listed=listed, files=files)


def _plan(desk: Desk, request: Request, form: FormData) -> Response:
    vault, wanted, name = desk.vault(text_of(form, "vault")), _wanted(form), _named(form)
    plan = desk.ask(Plan(vault, wanted))
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
    text = text_of(form, "epsilon")
    try:
        epsilon = float(text)
    except ValueError:
        raise UsageError(f"The price is {text[:50]!r}. Give a number, such as 10.") from None
    return CorpusWanted(text_of(form, "method"), epsilon, text_of(form, "task"), ticked(form, "only_new"))


def _named(form: FormData) -> str:
    name = text_of(form, "name")
    if not _NAME.fullmatch(name):
        raise UsageError(f"The name is {name[:50]!r}. Use 1 to 64 letters, digits, hyphens and underscores.")
    return name

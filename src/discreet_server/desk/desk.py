"""What the pages of the desk share: the keeper, the accounts, the audit log, long work, and how a page is shown."""

import threading
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, TypeVar

from jinja2 import Environment, PackageLoader, StrictUndefined
from pydantic import ValidationError
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from discreet.errors import DiscreetError, UsageError
from discreet.system.words import how_spent_is_read
from discreet_server.accounts import Accounts
from discreet_server.accounts.keys import digest_of
from discreet_server.audit_log import AuditLog, Detail
from discreet_server.config import ServeConfig
from discreet_server.custody_messages import CUSTODY, NotDone
from discreet_server.desk.uploads import Quarantine
from discreet_server.identities import Remembered, cookie_of
from discreet_server.sockets import KeeperGone, call_once
from discreet_server.state_folder import hand_over
from discreet_server.wire import Call

RUNNING, DONE, FAILED = "running", "done", "failed"


@dataclass(frozen=True)
class Task:
    """Long work.

    Attributes:
        what: "add" or "make".
        vault: in which vault.
        state: "running", "done" or "failed".
        result: what came of it.
        message: why it failed.
    """

    what: str
    vault: str
    state: str = RUNNING
    result: Any = field(default=None, repr=False)
    message: str = ""


class Tasks:
    """The long work of a desk, one after the other.

    Attributes:
        latest: the work that was started last.
    """

    latest: Task | None = None

    def __init__(self) -> None:
        self._lock = threading.Lock()

    def start(self, what: str, vault: str, act: Callable[[], Any]) -> None:
        """Start work, and return at once.

        Raises:
            UsageError: if other work runs.
        """
        with self._lock:
            if self.latest is not None and self.latest.state == RUNNING:
                raise UsageError("Other long work runs. Wait until it is done: see Progress.")
            self.latest = Task(what, vault)
        threading.Thread(target=self._run, args=(self.latest, act), name="task", daemon=True).start()

    def _run(self, task: Task, act: Callable[[], Any]) -> None:
        try:
            self.latest = replace(task, state=DONE, result=act())
        except DiscreetError as error:
            self.latest = replace(task, state=FAILED, message=str(error))
        except BaseException as error:
            self.latest = replace(task, state=FAILED, message=f"The desk failed: {type(error).__name__}.")


R = TypeVar("R")

PAGES = (
    ("/", "Overview"),
    ("/questions", "Questions"),
    ("/keys", "Keys"),
    ("/documents", "Documents"),
    ("/erasure", "Erasure"),
    ("/corpora", "Corpora"),
    ("/audit", "Audit log"),
    ("/report", "Report"),
    ("/progress", "Progress"),
)
COOKIE = "discreet_desk"
"""The cookie of a browser that is logged in."""
LASTS, IDLE = 12 * 3600.0, 3600.0
"""Seconds after which a session ends: in any case, and without a request."""
_MOST_FILES, _MOST_FIELDS = 10_000, 200


class NoSuchPage(DiscreetError):  # noqa: N818 - reads better without the suffix
    """A path that is no page, or a name that is not there."""


class KeeperBusy(DiscreetError):  # noqa: N818
    """A keeper at long work."""


class KeeperRefused(DiscreetError):  # noqa: N818
    """A refusal of the keeper, in words for the custodian."""


@dataclass
class Desk:
    """The parts of a desk.

    Attributes:
        config: the server's.
        accounts: the keys.
        log: the audit log.
        sessions: who is logged in.
        quarantine: the uploads.
        tasks: the long work.
        pages: the templates.
        notices: by session, what the next page says first.
    """

    config: ServeConfig
    accounts: Accounts
    log: AuditLog
    sessions: Remembered[bool] = field(default_factory=lambda: Remembered[bool](LASTS, idle=IDLE))
    quarantine: Quarantine = field(init=False)
    tasks: Tasks = field(default_factory=Tasks)
    pages: Environment = field(default_factory=lambda: _environment())
    notices: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.quarantine = Quarantine(self.config.uploads)

    @property
    def vaults(self) -> list[str]:
        """The names of the vaults."""
        return [one.name for one in self.config.vaults]

    def vault(self, name: object) -> str:
        """Return the vault of this name; the first one if none is named.

        Raises:
            NoSuchPage: if there is none.
        """
        if not name:
            return self.vaults[0]
        if name not in self.vaults:
            raise NoSuchPage("There is no such vault here. Choose one from the list.")
        return str(name)

    def ask(self, message: Call[R]) -> R:
        """Return the keeper's reply. It may take as long as it takes.

        Raises:
            KeeperGone, KeeperBusy, KeeperRefused: if there is none.
        """
        reply = call_once(self.config.desk_socket, CUSTODY, message)
        if isinstance(reply, NotDone):
            raise KeeperBusy(reply.message) if reply.code == "busy" else KeeperRefused(reply.message)
        return reply

    def record(self, act: str, of: str, **details: Detail) -> None:
        """Write an act of the custodian to the audit log."""
        self.log.append("custodian", act, of, at="desk", **details)
        hand_over(self.config)

    def show(self, request: Request, template: str, title: str, status: int = 200, **values: Any) -> HTMLResponse:
        """Return a page."""
        text = self.pages.get_template(template).render(
            title=title,
            here=f"/{request.url.path.split('/')[1]}",
            menu=PAGES,
            vaults=self.vaults,
            vault=values.pop("vault", self.vaults[0]),
            notice=self.notices.pop(digest_of(cookie_of(request, COOKIE)), ""),
            **values,
        )
        return HTMLResponse(text, status)

    def go(self, request: Request, path: str, notice: str = "") -> RedirectResponse:
        """Return a redirect to a page, which says `notice` first."""
        if notice:
            self.notices = dict(list(self.notices.items())[-10:]) | {digest_of(cookie_of(request, COOKIE)): notice}
        return RedirectResponse(path, 303)

    def fail(self, request: Request, error: DiscreetError) -> HTMLResponse:
        """Return the page of an error."""
        busy = isinstance(error, KeeperBusy)
        status = 503 if busy or isinstance(error, KeeperGone) else 404 if isinstance(error, NoSuchPage) else 400
        title = "Long work runs" if busy else "Not done" if status == 400 else "Not there"
        return self.show(request, "error.html", title, status, message=str(error), busy=busy)


Show = Callable[[Desk, Request], Response]
Act = Callable[[Desk, Request, FormData], Response]


def page(desk: Desk, path: str, show: Show) -> Route:
    """Return the route of a page that is looked at."""

    async def endpoint(request: Request) -> Response:
        return await _explained(desk, request, lambda: run_in_threadpool(show, desk, request))

    return Route(path, endpoint, methods=["GET"])


def action(desk: Desk, path: str, act: Act, asks: str = "") -> Route:
    """Return the route of a form that is sent.

    Args:
        desk: the desk.
        path: where the form is sent.
        act: does what the form says.
        asks: the question of a page before an act that cannot be taken back; "" for no such page.
    """

    def ask_first(desk: Desk, request: Request, form: FormData) -> Response:
        if not asks or ticked(form, "sure"):
            return act(desk, request, form)
        vault = desk.vault(text_of(form, "vault"))
        return desk.show(request, "sure.html", "Are you sure?", vault=vault, asks=asks, path=path, form=form)

    async def run(request: Request) -> Response:
        async with request.form(max_files=_MOST_FILES, max_fields=_MOST_FIELDS) as form:
            return await run_in_threadpool(ask_first, desk, request, form)

    async def endpoint(request: Request) -> Response:
        return await _explained(desk, request, lambda: run(request))

    return Route(path, endpoint, methods=["POST"])


async def _explained(desk: Desk, request: Request, respond: Callable[[], Awaitable[Response]]) -> Response:
    try:
        return await respond()
    except DiscreetError as error:
        return desk.fail(request, error)
    except ValidationError:  # a price that is no number, say: no message to the keeper was made of it
        words = "A value of the form is out of range, so nothing was done. Look at each field, and send it again."
        return desk.fail(request, UsageError(words))


def text_of(form: FormData, name: str) -> str:
    """Return a field of a form, without spaces around it; "" if it is not there."""
    value = form.get(name, "")
    return value.strip() if isinstance(value, str) else ""


def lines_of(form: FormData, name: str) -> tuple[str, ...]:
    """Return the lines of all fields with a name, without spaces around them and empty ones.

    Raises:
        UsageError: if one of them is a file.
    """
    values = form.getlist(name)
    if not all(isinstance(value, str) for value in values):
        raise UsageError(f"The field '{name}' holds a file. Give text, one entry a line.")
    return tuple(line for value in values for one in str(value).splitlines() if (line := one.strip()))


def number_of(form: FormData, name: str) -> float | None:
    """Return the number in a field of a form; None if it is empty.

    Raises:
        UsageError: if it holds something else.
    """
    text = text_of(form, name)
    try:
        return float(text) if text else None
    except ValueError:
        raise UsageError(f"'{name}' is {text[:50]!r}. Give a number, such as 10.") from None


def whole_of(form: FormData, name: str) -> int:
    """Return the whole number with which a page names something in a field of a form.

    Raises:
        UsageError: if it holds something else.
    """
    text = text_of(form, name)
    if not text.isdecimal() or len(text) > 12:
        raise UsageError(f"The {name} has no number. Choose it on the page.")
    return int(text)


def ticked(form: FormData, name: str) -> bool:
    """Return whether a box of a form is ticked."""
    return text_of(form, name) == "yes"


def moment(value: object) -> str:
    """Return the text of a time in UTC, given as seconds, a datetime, or a text in ISO 8601."""
    if isinstance(value, int | float):
        value = datetime.fromtimestamp(value, UTC)
    if isinstance(value, datetime):
        return value.astimezone(UTC).strftime("%Y-%m-%d %H:%M")
    return str(value or "")[:16].replace("T", " ")


def printable(value: object) -> str:
    """Return a text with a question mark for what cannot be printed."""
    return "".join(one if one.isprintable() else "?" for one in str(value))


def _environment() -> Environment:
    made = Environment(
        loader=PackageLoader("discreet_server.desk", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {"moment": moment, "printable": printable, "eps": lambda value: f"{value:.4g}"}
    made.globals["how_spent_is_read"] = how_spent_is_read
    return made

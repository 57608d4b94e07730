"""A desk for tests: its parts, and a browser that is logged in."""

import re
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
from lxml import html  # type: ignore[import-untyped]
from starlette.testclient import TestClient

from discreet_server.accounts import Accounts
from discreet_server.audit_log import AuditLog
from discreet_server.config import ServeConfig
from discreet_server.desk.app import create_app
from discreet_server.desk.desk import Desk
from discreet_server.state_folder import make_link

ORIGIN = "http://localhost:8001"


@dataclass
class Opened:
    """A desk, and a browser that is logged in.

    Attributes:
        desk: the parts.
        browser: sends requests with the session's cookie.
    """

    desk: Desk
    browser: TestClient

    def get(self, path: str, status: int = 200) -> str:
        """Return the text of a page."""
        reply = self.browser.get(path)
        assert reply.status_code == status, reply.text
        return reply.text

    def post(self, path: str, status: int = 200, files: Any = None, **form: Any) -> httpx2.Response:
        """Send a form as a page of the desk does; follow the redirect."""
        reply = self.browser.post(path, data=form, files=files, headers={"origin": ORIGIN})
        assert reply.status_code == status, reply.text
        return reply

    def agree(self, path: str, status: int = 200, **form: Any) -> httpx2.Response:
        """Send a form about an act that cannot be taken back, and the form of the page that asks."""
        asked = html.fromstring(self.post(path, **form).text).xpath("//main//form")
        assert [one.get("action") for one in asked] == [path]
        return self.post(path, status, **dict(asked[0].form_values()))

    def upload(self, name: str, content: bytes) -> tuple[str, str]:
        """Upload a file; return the upload's id, and the text of the preview."""
        reply = self.post("/documents/upload", files={"files": (name, content)}, vault="v")
        return str(reply.url).rsplit("=", 1)[1], reply.text

    def wait(self) -> str:
        """Return the page of the long work when it has ended."""
        for _ in range(600):
            if self.browser.get("/progress.json").json()["state"] != "running":
                return self.get("/progress")
            time.sleep(0.05)
        raise AssertionError(self.get("/progress"))

    def acts(self) -> list[dict[str, Any]]:
        """Return the acts in the audit log."""
        return list(self.desk.log.lines())


def make_desk(config: ServeConfig) -> Desk:
    """Return the parts of a desk."""
    config.run.mkdir(parents=True, exist_ok=True)
    return Desk(config, Accounts(config.accounts), AuditLog(config.audit_log))


def open_desk(config: ServeConfig) -> Opened:
    """Return a desk with a browser that is logged in."""
    desk = make_desk(config)
    browser = browse(desk)
    assert log_in(browser, make_link(config)) == 200
    return Opened(desk, browser)


def browse(desk: Desk) -> TestClient:
    """Return a browser that is not logged in."""
    return TestClient(create_app(desk), base_url=ORIGIN)


def log_in(browser: TestClient, link: str) -> int:
    """Open a link, and press its button. Return the status."""
    form = html.fromstring(browser.get(path_of(link)).text).xpath("//main//form[@action='/login']")
    return browser.post("/login", data=dict(form[0].form_values()), headers={"origin": ORIGIN}).status_code


def path_of(link: str) -> str:
    """Return the path of a link to the desk."""
    assert link.startswith(f"{ORIGIN}/")
    return link.removeprefix(ORIGIN)


def text_of(page: str) -> str:
    """Return the words of a page, without tags."""
    return re.sub(r"\s+", " ", str(html.fromstring(page).text_content()))


def read_vault(desk: Desk) -> Path:
    """Return the folder of the vault."""
    return Path(desk.config.vaults[0].path)

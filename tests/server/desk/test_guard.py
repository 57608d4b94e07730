"""The desk lets the custodian pass alone: links, cookies, hosts, origins, sizes and headers."""

import json
from pathlib import Path

import pytest
from starlette.testclient import TestClient
from typer.testing import CliRunner

from discreet.cli import main  # noqa: F401 - registers the commands
from discreet.cli.app import app
from discreet_server.custody_messages import Overview
from discreet_server.desk.app import CSP, MOST_BYTES, OPEN, Guard, all_routes
from discreet_server.desk.desk import COOKIE, IDLE, Desk
from discreet_server.identities import Remembered
from discreet_server.sockets import KeeperGone
from discreet_server.state_folder import LASTS, make_link, redeem
from tests.server.desk.desks import ORIGIN, browse, log_in, make_desk, path_of
from tests.server.keepers import config_of


@pytest.fixture
def shut(tmp_path: Path) -> Desk:
    """A desk without a keeper: what is refused must be refused before it is asked."""
    return make_desk(config_of(tmp_path / "v"))


def test_link_logs_in_once(shut: Desk) -> None:
    link = make_link(shut.config)
    browser = browse(shut)
    looked = browse(shut).get(path_of(link))  # as a program does that previews links
    assert (looked.status_code, "set-cookie" in looked.headers) == (200, False)
    reply = browser.post("/login", data={"token": link.split("=")[1]}, headers={"origin": ORIGIN})
    assert reply.status_code == 200
    cookie = reply.headers["set-cookie"]
    assert cookie.startswith(f"{COOKIE}=")
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie
    assert browser.get("/keys").status_code == 200
    other = browse(shut)
    assert log_in(other, link) == 403
    assert other.get("/keys").status_code == 401
    browser.post("/logout", headers={"origin": ORIGIN})
    assert browser.get("/keys").status_code == 401


def test_strange_token_is_shown_as_text(shut: Desk) -> None:
    assert "<b>" not in browse(shut).get("/login", params={"token": '"><b>bold</b>'}).text


def test_link_ends_after_a_while_and_with_the_next(shut: Desk) -> None:
    now = [1000.0]
    first = make_link(shut.config, lambda: now[0]).split("=")[1]
    second = make_link(shut.config, lambda: now[0]).split("=")[1]
    assert not redeem(shut.config, first, lambda: now[0])
    assert not redeem(shut.config, second, lambda: now[0] + LASTS + 1)
    assert redeem(shut.config, second, lambda: now[0])
    assert not redeem(shut.config, second, lambda: now[0])
    assert (shut.config.run / "desk.link").exists() is False


def test_another_link_is_made_on_the_command_line(shut: Desk) -> None:
    vault = shut.config.vaults[0].path
    refused = CliRunner().invoke(app, ["desk-link", vault])
    assert refused.exit_code == 2
    first = make_link(shut.config)
    link = CliRunner().invoke(app, ["desk-link", vault, "--json"])
    assert link.exit_code == 0
    browser = browse(shut)
    assert log_in(browser, first) == 403
    assert log_in(browser, json.loads(link.stdout)["link"]) == 200


def test_session_ends_without_requests() -> None:
    now = [0.0]
    sessions = Remembered[bool](10 * IDLE, lambda: now[0], idle=IDLE)
    secret = sessions.begin(True)
    now[0] = IDLE - 1
    assert sessions.find(secret)
    now[0] += IDLE + 1
    assert not sessions.find(secret)
    assert not sessions.find("")


def test_no_route_answers_without_a_cookie(shut: Desk) -> None:
    browser = browse(shut)
    seen = set()
    for route in all_routes(shut):
        for method in sorted((route.methods or set()) - {"HEAD"}):
            headers = {"origin": ORIGIN} if method == "POST" else {}
            reply = browser.request(method, route.path, headers=headers, content=b"" if method == "POST" else None)
            expected = {200, 503} if route.path in OPEN else {401}
            assert reply.status_code in expected, route.path
            seen.add(route.path)
    assert {"/", "/keys/issue", "/documents/upload", "/erasure/erase", "/audit/file", "/report/page"} <= seen
    assert browser.get("/nothing").status_code == 401
    assert browser.get("/static/desk.css").status_code == 200
    assert browser.get("/static/../main.py").status_code == 401


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"origin": "http://127.0.0.1:8000"},
        {"origin": "http://localhost:8000"},
        {"origin": "null"},
        {"origin": ORIGIN, "sec-fetch-site": "same-site"},
    ],
)
def test_post_of_another_origin_is_refused(shut: Desk, headers: dict[str, str]) -> None:
    browser = _inside(shut)
    reply = browser.post("/keys/issue", data={"name": "x", "epsilon": "1"}, headers=headers)
    assert reply.status_code == 403
    assert not shut.accounts.list_keys()


def test_foreign_host_is_refused(shut: Desk) -> None:
    browser = _inside(shut)
    assert browser.get("/keys", headers={"host": "evil.example:8001"}).status_code == 421
    assert browser.get("/keys", headers={"host": "localhost.evil.example"}).status_code == 421


def test_long_body_is_refused_before_it_is_read(shut: Desk) -> None:
    browser = _inside(shut)
    reply = browser.post("/keys/issue", content=b"x" * (MOST_BYTES + 1), headers={"origin": ORIGIN})
    assert reply.status_code == 413
    reply = browser.post("/keys/issue", content=iter([b"x"]), headers={"origin": ORIGIN})
    assert reply.status_code == 411


def test_every_reply_has_the_headers(shut: Desk) -> None:
    browser = _inside(shut)
    for path in ("/keys", "/login", "/nothing", "/static/desk.js", "/documents", "/metrics"):
        headers = browser.get(path).headers
        assert headers["content-security-policy"] == CSP
        assert headers["cache-control"] == "no-store"
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "same-origin"
    assert "unsafe" not in CSP
    assert "default-src 'self'" in CSP


def test_keeper_that_is_gone_is_explained(shut: Desk) -> None:
    reply = _inside(shut).get("/")
    assert reply.status_code == 503
    assert "The keeper cannot be reached" in reply.text
    with pytest.raises(KeeperGone):
        shut.ask(Overview())


def _inside(desk: Desk) -> TestClient:
    browser = browse(desk)
    assert log_in(browser, make_link(desk.config)) == 200
    assert isinstance(browser.app, Guard)
    return browser

"""The analysts' pages: they go the way of /v1, so a question is paid once, and every value is escaped."""

import asyncio
import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from discreet_server.accounts import Key
from discreet_server.front.gate import ROUTES
from discreet_server.front.pages import COOKIE, asset
from tests.server.front.fakes import QUESTION, FakeKeeper, Front

ROOT = "http://testserver"
OWN = {"origin": ROOT}
PAGES = ("/", "/history", "/budget", "/connect")


class Browser:
    """A browser with a cookie jar, which sends the origin of its forms as browsers do."""

    def __init__(self, front: Front, client: TestClient) -> None:
        self.front, self.client = front, client

    def sign_in(self, **limits: Any) -> tuple[Key, str]:
        key, secret = self.front.key(**limits)
        assert self.post("/sign-in", key=secret).status_code == 303
        return key, secret

    def post(self, path: str, headers: dict[str, str] = OWN, /, **fields: str) -> Any:
        return self.client.post(path, data=fields, headers=headers)

    def get(self, path: str) -> Any:
        return self.client.get(path)


@contextmanager
def browsing(folder: Path, keeper: FakeKeeper | None = None, **settings: Any) -> Iterator[Browser]:
    front = Front(folder, keeper or FakeKeeper(), **settings)
    with TestClient(front.app, base_url=ROOT, follow_redirects=False) as client:
        yield Browser(front, client)
    front.accounts.close()
    asyncio.run(front.client.aclose())


def question(**fields: str) -> dict[str, str]:
    return {"question": QUESTION, "model": "hospital", "choices": "", "epsilon": ""} | fields


def test_pages_without_a_key_lead_to_the_sign_in(tmp_path: Path) -> None:
    with browsing(tmp_path) as browser:
        for route in ROUTES:
            if route.who != "page" or route.path.startswith(("/sign-in", "/style.css", "/icon.svg")):
                continue
            found = browser.get(route.path) if route.method == "GET" else browser.post(route.path)
            assert (found.status_code, found.headers["location"]) == (303, "/sign-in")
        wrong = browser.post("/sign-in", key="dsc_wrong")
        assert wrong.status_code == 401
        assert "set-cookie" not in wrong.headers
        assert "dsc_wrong" not in wrong.text


def test_cookie_is_a_session_closed_to_scripts_and_sites(tmp_path: Path) -> None:
    with browsing(tmp_path) as browser:
        _, secret = browser.front.key()
        tls = browser.post("/sign-in", OWN | {"x-forwarded-proto": "https"}, key=secret).headers["set-cookie"]
        assert tls.startswith("__Host-")
        assert all(word in tls for word in ("Secure", "Path=/", "HttpOnly", "SameSite=strict"))
        assert "Domain" not in tls
        plain = browser.post("/sign-in", key=secret).headers["set-cookie"]
        assert "HttpOnly" in plain
        assert "SameSite=strict" in plain
        for cookie in (tls, plain):
            assert secret not in cookie
            assert "Max-Age" not in cookie
        assert "Secure" not in plain
        assert browser.get("/").status_code == 200


def test_session_ends_at_the_server_when_its_browser_signs_out(tmp_path: Path) -> None:
    with browsing(tmp_path) as browser:
        browser.sign_in()
        copied = browser.client.cookies[COOKIE]
        assert browser.post("/sign-out").headers["location"] == "/sign-in"
        assert COOKIE not in browser.client.cookies
        browser.client.cookies.set(COOKIE, copied)
        assert browser.get("/").status_code == 303


def test_session_ends_with_the_secret_that_began_it(tmp_path: Path) -> None:
    with browsing(tmp_path) as browser:
        key, _ = browser.sign_in()
        _, secret = browser.front.accounts.rotate(key.id)
        assert browser.get("/").status_code == 303
        assert browser.post("/sign-in", key=secret).status_code == 303
        assert browser.get("/").status_code == 200


def test_sign_ins_have_a_rate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("discreet_server.accounts.questions.SIGN_INS", 2)
    with browsing(tmp_path) as browser:
        _, secret = browser.sign_in()
        assert browser.post("/sign-in", key=secret).status_code == 303
        limited = browser.post("/sign-in", key=secret)
        assert (limited.status_code, "set-cookie" in limited.headers) == (429, False)
        assert len(browser.front.log.newest(9)) == 2
        other = browser.front.key("ben")[1]
        assert browser.post("/sign-in", key=other).status_code == 303


def test_revoked_key_ends_its_session(tmp_path: Path) -> None:
    with browsing(tmp_path) as browser:
        key, _ = browser.sign_in()
        browser.front.accounts.revoke(key.id)
        assert browser.get("/budget").headers["location"] == "/sign-in"


@pytest.mark.parametrize(
    "origin", [{}, {"origin": "null"}, {"origin": "http://other.example"}, {"origin": f"{ROOT}:1"}]
)
def test_form_of_another_site_is_refused(tmp_path: Path, origin: dict[str, str]) -> None:
    with browsing(tmp_path) as browser:
        key, secret = browser.sign_in()
        for path in ("/price", "/ask", "/budget", "/sign-out", "/sign-in"):
            assert browser.post(path, origin, key=secret, **question()).status_code == 403
        assert browser.front.keeper.asked == []
        assert browser.front.accounts.odometer(key.id).spent == 0.0


def test_price_is_shown_before_anything_is_paid(tmp_path: Path) -> None:
    with browsing(tmp_path) as browser:
        key, _ = browser.sign_in()
        found = browser.post("/price", **question(choices="yes\r\nno")).text
        assert "costs any one patient at most epsilon 2" in found
        assert "Ask, and pay at most 2" in found
        assert "<li>yes</li>" in found
        assert browser.front.keeper.asked == []
        again = browser.post("/price", **question(change="yes")).text
        assert f">{QUESTION}</textarea>" in again
        assert browser.front.accounts.odometer(key.id).spent == 0.0


def test_answer_has_its_receipt_in_words(tmp_path: Path) -> None:
    with browsing(tmp_path) as browser:
        key, _ = browser.sign_in()
        found = browser.post("/ask", **question(name="a" * 32))
        assert found.status_code == 200
        assert '<blockquote class="answer" role="status">winter hand</blockquote>' in found.text
        assert "Your key has spent epsilon 2 of 10, " in found.text
        spent = browser.front.accounts.odometer(key.id).spent
        assert spent == pytest.approx(2.0)
        (receipt,) = browser.front.accounts.receipts(key.id)
        assert receipt["question_id"] in found.text
        assert receipt["question_id"] in browser.get("/history").text


def test_answer_says_how_the_question_was_understood_and_keeps_it_nowhere(tmp_path: Path) -> None:
    with browsing(tmp_path) as browser:
        browser.sign_in()
        assert "Understood as" not in browser.post("/ask", **question(name="c" * 32, choices="yes\r\nno")).text
        browser.front.keeper.understood = "count; condition 'fever'."
        asked = question(name="d" * 32)
        assert "count; condition &#39;fever&#39;." in browser.post("/ask", **asked).text
        again = browser.post("/ask", **asked).text
        assert "it was not paid again" in again
        assert "Understood as" not in again


def test_question_of_a_page_and_of_v1_is_paid_once(tmp_path: Path) -> None:
    with browsing(tmp_path) as browser:
        key, secret = browser.sign_in()
        fields = question(name="b" * 32)
        first, again = browser.post("/ask", **fields), browser.post("/ask", **fields)
        body = {"model": "hospital", "messages": [{"role": "user", "content": QUESTION}]}
        headers = {"authorization": f"Bearer {secret}"}
        over_http = browser.client.post("/v1/chat/completions", json=body, headers=headers).json()
        assert first.status_code == again.status_code == 200
        assert "it was not paid again" in again.text
        assert over_http["usage"]["discreet"]["replayed"] is True
        assert len(browser.front.keeper.asked) == 1
        assert browser.front.accounts.odometer(key.id).spent == pytest.approx(2.0)


@pytest.mark.parametrize(
    ("limits", "fields", "status", "words"),
    [
        ({}, {"question": " "}, 400, "must have text"),
        ({}, {"model": "clinic"}, 404, "no such model"),
        ({}, {"epsilon": "much"}, 400, "a number above 0"),
        ({}, {"choices": "one"}, 400, "a list of 2 to 64"),
        ({"epsilon": 1.0}, {}, 402, "Left: epsilon 1."),
        ({"models": ["hospital:free"]}, {}, 403, "may not use this model"),
    ],
)
def test_refused_question_has_a_page_and_is_unpaid(
    tmp_path: Path, limits: Any, fields: dict[str, str], status: int, words: str
) -> None:
    with browsing(tmp_path) as browser:
        browser.sign_in(**limits)
        found = browser.post("/ask", **question(**fields))
        assert found.status_code == status
        assert words in found.text
        assert browser.front.keeper.asked == []


def test_texts_of_analysts_and_models_are_escaped(tmp_path: Path) -> None:
    script = "<script>alert(1)</script><img src=http://other.example/x>"
    with browsing(tmp_path) as browser:
        browser.sign_in(name="<b>ana")
        pages = [
            browser.post("/price", **question(question=script, choices=f"{script}\n2")),
            browser.post("/price", **question(question=script, change="yes")),
            browser.post("/ask", **question(question=script, choices=f"{script}\n2")),
            browser.get("/history?before=<script>"),
        ]
        assert browser.post("/budget", epsilon="2", reason=script).headers["location"] == "/budget"
        pages.append(browser.get("/budget"))
        for one in pages:
            assert one.status_code == 200
            assert "<script" not in one.text
            assert "<img" not in one.text
            assert "<b>ana" not in one.text


def test_request_for_more_reaches_the_custodian(tmp_path: Path) -> None:
    with browsing(tmp_path) as browser:
        key, _ = browser.sign_in()
        assert browser.post("/budget", epsilon="5", reason="Ten questions.").status_code == 303
        (made,) = browser.front.accounts.requests()
        assert (made.key, made.epsilon, made.reason) == (key.id, 5.0, "Ten questions.")
        assert "Ten questions." in browser.get("/budget").text
        for wrong in (
            {"epsilon": "0", "reason": "x"},
            {"epsilon": "2", "reason": " "},
            {"epsilon": "inf", "reason": "x"},
        ):
            assert browser.post("/budget", **wrong).status_code == 400
        assert "request" in [line["act"] for line in browser.front.log.lines()]


def test_connect_page_has_the_snippets_and_no_key(tmp_path: Path) -> None:
    with browsing(tmp_path) as browser:
        _, secret = browser.sign_in()
        found = browser.get("/connect").text
        assert secret not in found
        for word in (
            "curl http://testserver/v1",
            "OpenAI(",
            "ChatOpenAI(",
            "OpenAILike(",
            "OpenAIChatGenerator(",
            "llm ",
        ):
            assert word in found
        shown = [unescape(one) for one in re.findall("<code>(.*?)</code></pre>", found, re.DOTALL)]
        assert len(shown) == 7
        assert json.loads(shown[-1])["mcpServers"]["discreet"]["url"] == "http://testserver/mcp"
        for one in shown:
            if "import " in one:
                compile(one, "snippet", "exec")
            assert "hospital" not in one.replace("hospital:free", "")  # so that a snippet costs nothing
        _, secret = browser.front.key("ben", models=("hospital",))
        assert browser.post("/sign-in", key=secret).status_code == 303
        assert "the key may ask no model that is free" in browser.get("/connect").text


class Outline(HTMLParser):
    """Collects what a page for a screen reader, and for the policy, must have."""

    def __init__(self) -> None:
        super().__init__()
        self.ids, self.labels, self.fields = set[str](), set[str](), set[str]()
        self.headings, self.sources, self.scripts = list[str](), list[str](), 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        assert "style" not in found
        assert not any(name.startswith("on") for name in found)
        if found.get("id"):
            assert found["id"] not in self.ids
            self.ids.add(str(found["id"]))
        if tag == "label":
            self.labels.add(str(found["for"]))
        if tag in ("input", "select", "textarea", "meter") and found.get("type") != "hidden":
            self.fields.add(str(found["id"]))
        if re.fullmatch("h[1-6]", tag):
            self.headings.append(tag)
        self.scripts += tag in ("script", "style")
        self.sources += [str(found[name]) for name in ("href", "src", "action", "formaction") if found.get(name)]


def test_pages_fit_the_policy_and_a_screen_reader(tmp_path: Path) -> None:
    with browsing(tmp_path) as browser:
        pages = [browser.get("/sign-in")]
        browser.sign_in()
        pages += [browser.get(path) for path in PAGES]
        pages += [browser.post("/price", **question()), browser.post("/ask", **question())]
        pages += [browser.post("/ask", **question(question=""))]
        for one in pages:
            assert one.headers["content-security-policy"].startswith("default-src 'self';")
            assert one.headers["cache-control"] == "no-store"
            outline = Outline()
            outline.feed(one.text)
            assert outline.fields <= outline.labels
            assert outline.headings[0] == "h1"
            assert outline.headings.count("h1") == 1
            assert outline.scripts == 0
            assert all(source.startswith(("/", "#")) for source in outline.sources)
            assert '<html lang="en">' in one.text
        assert pages[1].text.count('aria-current="page"') == 1
        sheet = browser.get("/style.css")
        assert sheet.headers["content-type"].startswith("text/css")
        assert "prefers-color-scheme: dark" in sheet.text
        assert "http" not in asset("style.css")
        assert browser.get("/icon.svg").headers["content-type"].startswith("image/svg+xml")


@pytest.mark.parametrize("body", [b"", b"=", b"%ff", b"a=%ff", "ä=1".encode(), b"&" * 5000, b"key=" + b"x" * 70_000])
def test_any_bytes_are_a_form_or_an_error_page(tmp_path: Path, body: bytes) -> None:
    with browsing(tmp_path) as browser:
        browser.sign_in()
        headers = OWN | {"content-type": "application/x-www-form-urlencoded"}
        for path in ("/sign-in", "/price", "/ask", "/budget"):
            found = browser.client.post(path, content=body, headers=headers)
            assert found.status_code in (400, 401, 413)
            assert found.headers["content-type"].startswith("text/html")
        assert browser.client.post("/ask", json={}, headers=OWN).status_code == 400

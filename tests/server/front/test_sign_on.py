"""People sign in at a provider of identities: what it confirms opens the pages, and nothing else does."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from joserfc.jwk import RSAKey

from discreet.errors import UsageError
from discreet_server.config import OidcConfig, read_serve_config
from discreet_server.front.pages import BEGUN, COOKIE
from discreet_server.identities import Remembered
from tests.server.front.provider import CLIENT, SECRET, IdentityProvider
from tests.server.front.serving import free_port
from tests.server.front.test_pages import Browser, browsing


@pytest.fixture
def browser(tmp_path: Path, provider: IdentityProvider) -> Iterator[Browser]:
    secret = tmp_path / "oidc.secret"
    secret.write_text(SECRET + "\n")
    config = OidcConfig(provider.issuer, CLIENT, (("staff", "carl"), ("radiology", "ana")), str(secret))
    with browsing(tmp_path, oidc=config) as found:
        yield found


def come_back(browser: Browser) -> str:
    """Go to the provider, and return the path with which it sends the browser back."""
    begun = browser.get("/sign-in/provider")
    assert begun.status_code == 303
    found = httpx2.get(begun.headers["location"])
    return str(found.headers["location"]).removeprefix("http://testserver")


def test_person_signs_in_and_asks_with_the_key_of_a_group(browser: Browser) -> None:
    key, secret = browser.front.key("ana")
    assert "/sign-in/provider" in browser.get("/sign-in").text
    signed_in = browser.get(come_back(browser))
    assert signed_in.status_code == 200
    cookie = next(one for one in signed_in.headers.get_list("set-cookie") if one.startswith(COOKIE))
    assert all(word in cookie for word in ("HttpOnly", "SameSite=strict"))
    assert secret not in cookie
    assert "ana" in browser.get("/").text
    line = browser.front.log.newest(1)[0]
    assert (line["actor"], line["act"], line["details"]["subject"]) == (key.id, "sign-in", "ada")
    assert browser.post("/sign-out").status_code == 303
    assert browser.get("/").headers["location"] == "/sign-in"


def test_revoked_key_ends_a_session(browser: Browser) -> None:
    browser.front.key("ana")
    browser.get(come_back(browser))
    assert browser.get("/").status_code == 200
    browser.front.accounts.revoke("ana")
    assert browser.get("/").headers["location"] == "/sign-in"
    assert browser.get(come_back(browser)).status_code == 403


@pytest.mark.parametrize("groups", [[], ["else"], ["staff"], [7], "radiologists"])
def test_person_without_a_key_is_refused(browser: Browser, provider: IdentityProvider, groups: Any) -> None:
    browser.front.key("ana")
    provider.groups = groups
    refused = browser.get(come_back(browser))
    assert (refused.status_code, "You have no key here" in refused.text) == (403, True)
    assert COOKIE not in browser.client.cookies


SPOILT: dict[str, Callable[[dict[str, Any]], object]] = {
    "nonce of another sign-in": lambda claims: claims.update(nonce="other"),
    "no nonce": lambda claims: claims.pop("nonce"),
    "for another client": lambda claims: claims.update(aud="other"),
    "for two clients": lambda claims: claims.update(aud=[CLIENT, "other"]),
    "of another provider": lambda claims: claims.update(iss="http://127.0.0.1:1"),
    "expired": lambda claims: claims.update(exp=claims["iat"] - 120),
    "without an end": lambda claims: claims.pop("exp"),
    "of no person": lambda claims: claims.pop("sub"),
}


@pytest.mark.parametrize("what", SPOILT)
def test_token_that_does_not_hold_is_refused(browser: Browser, provider: IdentityProvider, what: str) -> None:
    browser.front.key("ana")
    provider.spoil = SPOILT[what]
    refused = browser.get(come_back(browser))
    assert (refused.status_code, COOKIE in browser.client.cookies) == (401, False)


def test_token_of_a_forger_is_refused(browser: Browser, provider: IdentityProvider) -> None:
    browser.front.key("ana")
    provider.key = RSAKey.generate_key(2048, {"kid": "one"})
    assert browser.get(come_back(browser)).status_code == 401


def test_sign_in_of_another_browser_is_refused(browser: Browser) -> None:
    browser.front.key("ana")
    back = come_back(browser)
    browser.client.cookies.clear()
    assert browser.get(back).status_code == 401
    browser.client.cookies.set(BEGUN, "other", path="/")
    assert browser.get(back).status_code == 401


def test_code_counts_once(browser: Browser) -> None:
    browser.front.key("ana")
    back = come_back(browser)
    state = browser.client.cookies[BEGUN]
    assert browser.get(back).status_code == 200
    browser.client.cookies.set(BEGUN, state, path="/")
    assert browser.get(back).status_code == 401


def test_provider_that_is_away_is_explained(tmp_path: Path) -> None:
    config = OidcConfig(f"http://127.0.0.1:{free_port()}", CLIENT, (("staff", "carl"),))
    with browsing(tmp_path, oidc=config) as browser:
        assert browser.get("/sign-in/provider").status_code == 502


def test_sessions_end_and_are_bounded() -> None:
    now = [0.0]
    kept = Remembered[str](10.0, lambda: now[0], most=2)
    for name in ("a", "b", "c"):
        kept.keep(name, name.upper())
    assert [kept.find(name) for name in ("a", "b", "c")] == [None, "B", "C"]
    assert (kept.take("b"), kept.take("b")) == ("B", None)
    now[0] = 10.0
    assert kept.find("c") is None


@pytest.mark.parametrize(
    "table",
    [
        'issuer = "http://id.example.org"\nclient_id = "d"\nkeys = {a = "b"}',
        'issuer = "https://id.example.org"\nkeys = {a = "b"}',
        'issuer = "https://id.example.org"\nclient_id = "d"\nkeys = {}',
        'issuer = "https://id.example.org"\nclient_id = "d"\nkeys = {a = 1}',
        'issuer = "https://id.example.org"\nclient_id = 5\nkeys = {a = "b"}',
        'issuer = "https://id.example.org"\nclient_id = "d"\nkeys = {a = "b"}\ngrups = "x"',
    ],
)
def test_wrong_table_of_serve_toml_is_refused(tmp_path: Path, table: str) -> None:
    file = tmp_path / "serve.toml"
    file.write_text(f'vaults = ["v"]\n[oidc]\n{table}\n')
    with pytest.raises(UsageError, match=r"serve\.toml"):
        read_serve_config(file, {})

"""Custodians sign in to the desk at a provider of identities: those whom serve.toml names, and no other."""

from pathlib import Path

import httpx2
import pytest
from starlette.testclient import TestClient

from discreet.errors import UsageError
from discreet_server.config import CUSTODIAN, OidcConfig, read_serve_config
from discreet_server.desk.app import BEGUN, PROVIDER, RETURN
from discreet_server.desk.desk import COOKIE, Desk
from tests.server.desk.desks import ORIGIN, browse, make_desk
from tests.server.front.provider import CLIENT, SECRET, IdentityProvider
from tests.server.front.serving import free_port
from tests.server.keepers import config_of


@pytest.fixture
def desk(tmp_path: Path, provider: IdentityProvider) -> Desk:
    secret = tmp_path / "oidc.secret"
    secret.write_text(SECRET)
    table = {"issuer": provider.issuer, "client_id": CLIENT, "secret_file": str(secret), "custodians": ["radiology"]}
    return make_desk(config_of(tmp_path / "v", desk_oidc=OidcConfig.read(table, "desk_oidc")))


def come_back(browser: TestClient) -> str:
    """Go to the provider, and return the path with which it sends the browser back."""
    begun = browser.get(PROVIDER, follow_redirects=False)
    assert begun.status_code == 303
    return str(httpx2.get(begun.headers["location"]).headers["location"]).removeprefix(ORIGIN)


def last_line(desk: Desk) -> dict[str, object]:
    found: dict[str, object] = desk.log.newest(1)[0]
    return found


def test_custodian_signs_in_and_out(desk: Desk) -> None:
    browser = browse(desk)
    assert PROVIDER in browser.get("/login").text
    signed_in = browser.get(come_back(browser))
    assert signed_in.status_code == 200
    cookie = next(one for one in signed_in.headers.get_list("set-cookie") if one.startswith(COOKIE))
    assert all(word in cookie for word in ("HttpOnly", "SameSite=strict"))
    assert browser.get("/keys").status_code == 200
    line = last_line(desk)
    assert (line["actor"], line["act"]) == ("custodian", "login")
    assert line["details"] == {"at": "desk", "subject": "ada"}
    browser.post("/logout", headers={"origin": ORIGIN})
    assert browser.get("/keys").status_code == 401


@pytest.mark.parametrize("groups", [[], ["surgery"], "radiologists", [CUSTODIAN]])
def test_person_of_another_group_is_refused(desk: Desk, provider: IdentityProvider, groups: object) -> None:
    provider.groups = groups  # type: ignore[assignment]
    browser = browse(desk)
    refused = browser.get(come_back(browser))
    assert (refused.status_code, "does not name you as a custodian" in refused.text) == (403, True)
    assert COOKIE not in browser.cookies
    assert browser.get("/keys").status_code == 401
    assert last_line(desk)["act"] == "login-refused"


def test_sign_in_that_the_provider_does_not_confirm_is_refused(desk: Desk, provider: IdentityProvider) -> None:
    provider.spoil = lambda claims: claims.update(nonce="other")
    browser = browse(desk)
    assert browser.get(come_back(browser)).status_code == 401
    assert COOKIE not in browser.cookies


def test_sign_in_of_another_browser_is_refused(desk: Desk) -> None:
    browser, other = browse(desk), browse(desk)
    back = come_back(browser)
    assert other.get(back).status_code == 401
    other.cookies.set(BEGUN, "other", path=RETURN)
    assert other.get(back).status_code == 401
    assert browser.get(back).status_code == 200
    assert browser.get(back).status_code == 401  # a code counts once


def test_provider_that_is_away_is_explained(tmp_path: Path) -> None:
    config = OidcConfig(f"http://127.0.0.1:{free_port()}", CLIENT, (("staff", CUSTODIAN),), table="[desk_oidc]")
    browser = browse(make_desk(config_of(tmp_path / "v", desk_oidc=config)))
    assert browser.get(PROVIDER).status_code == 502


@pytest.mark.parametrize(
    "line", ['custodians = "dpo"', "custodians = []", "custodians = [7]", 'keys = {dpo = "ana"}', ""]
)
def test_wrong_table_of_serve_toml_is_refused(tmp_path: Path, line: str) -> None:
    file = tmp_path / "serve.toml"
    file.write_text(f'vaults = ["v"]\n[desk_oidc]\nissuer = "https://id.example.org"\nclient_id = "d"\n{line}\n')
    with pytest.raises(UsageError, match=r"\[desk_oidc\].*serve\.toml"):
        read_serve_config(file, {})

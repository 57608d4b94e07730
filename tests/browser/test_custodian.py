"""The custodian logs in by link, issues a key, adds a file, erases a unit and opens the report, by keyboard alone."""

import json
from pathlib import Path

import pytest

from discreet.vault import Vault
from discreet_server.state_folder import make_link
from tests.browser.driving import ENTER, Browser
from tests.server.front.serving import Server
from tests.server.keepers import UNITS


@pytest.fixture
def desk(chromium: Browser, server: Server) -> Browser:
    chromium.driver.get(make_link(server.config))
    chromium.driver.find_element("css selector", "main form button").click()
    chromium.wait_title("Overview")
    chromium.check()
    return chromium


def count(server: Server) -> int:
    return Vault.open(Path(server.config.vaults[0].path)).store.count_documents()


def test_custodian_issues_a_key_by_keyboard(desk: Browser, server: Server) -> None:
    desk.go("nav a[href='/keys']", "Keys")
    desk.tab_to("#name")
    desk.press("bob")
    desk.tab_to("#epsilon")
    desk.press("3")
    desk.go("form[action='/keys/issue'] > button", "A new secret")
    key = server.accounts.find(desk.find("#secret").text)
    assert key is not None
    assert (key.name, key.epsilon) == ("bob", 3.0)
    desk.go("main a[href='/keys']", "Keys")
    assert "bob" in desk.text()


def test_custodian_adds_a_file_and_erases_a_unit(desk: Browser, server: Server, tmp_path: Path) -> None:
    path = tmp_path / "more.jsonl"
    path.write_text(json.dumps({"id": "new", "patient": "newcomer", "text": "My thumbs are numb."}) + "\n")
    desk.go("nav a[href='/documents']", "Documents")
    desk.find("#files").send_keys(str(path))
    desk.go("form[action='/documents/upload'] > button", "Preview")
    assert "newcomer" in desk.text()
    desk.go("form[action='/documents/add'] button", "Progress")
    desk.wait_text("1 added")
    desk.check()
    for name in ("questions", "corpora", "audit"):
        desk.driver.get(f"{server.config.desk_url}/{name}")
        desk.check()
    desk.go("nav a[href='/erasure']", "Erasure")
    desk.tab_to("#unit")
    desk.press("newcomer")
    desk.go("form[action='/erasure/look'] button", "Erasure")
    assert count(server) == UNITS + 1
    desk.go("form[action='/erasure/erase'] button", "Are you sure?")
    desk.check()
    assert count(server) == UNITS + 1
    desk.go("form[action='/erasure/erase'] button", "Erasure")
    assert count(server) == UNITS


def test_custodian_opens_the_report(desk: Browser) -> None:
    desk.go("nav a[href='/report']", "Report")
    first = desk.driver.current_window_handle
    desk.tab_to("form[action='/report/page'] button")
    desk.press(ENTER)
    desk.wait(lambda: len(desk.driver.window_handles) == 2)
    (other,) = set(desk.driver.window_handles) - {first}
    desk.driver.switch_to.window(other)
    desk.wait(lambda: "epsilon" in str(desk.find("body").text))
    desk.driver.close()
    desk.driver.switch_to.window(first)

"""A Chromium, a server with the toy model, and its desk."""

import subprocess
import sys
from collections.abc import Iterator

import httpx2
import pytest

from tests.browser.driving import Browser, start_chromium
from tests.server.front.serving import Server, free_port, serving
from tests.server.keepers import ROOT, environment, wait_until


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests of this folder."""
    for item in items:
        if item.path.is_relative_to(ROOT / "tests/browser"):
            item.add_marker(pytest.mark.browser)
            item.add_marker(pytest.mark.thorough)


@pytest.fixture(scope="package")
def chromium() -> Iterator[Browser]:
    """The browser; without one, the tests are skipped before a server starts."""
    driver = start_chromium()
    yield Browser(driver)
    driver.quit()


@pytest.fixture(scope="package")
def server(chromium: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A front, a keeper and a desk."""
    with serving(tmp_path_factory.mktemp("server"), desk_port=free_port()) as found:
        command = [sys.executable, "-m", "discreet_server.launch", "desk"]
        desk = subprocess.Popen(command, env=environment(found.config), cwd=ROOT)
        try:
            wait_until(lambda: _answers(f"http://127.0.0.1:{found.config.desk_port}/login"))
            yield found
        finally:
            desk.terminate()
            desk.wait(30)


def _answers(address: str) -> bool:
    try:
        return httpx2.get(address).status_code > 0
    except httpx2.TransportError:
        return False

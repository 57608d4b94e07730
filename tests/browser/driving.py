"""A real Chromium, driven by its keyboard, and what each page must hold in it."""

import os
import shutil
from collections.abc import Callable
from typing import Any

import pytest

TAB, ENTER = "\ue004", "\ue007"
"""The keys, as WebDriver names them."""
WAIT = 60.0
"""Seconds for a page to come: the machine may be busy."""
_MOST_TABS = 60
_FLAGS = (
    "--headless=new --disable-gpu --disable-quic --no-first-run --disable-sync --disable-background-networking "
    "--disable-component-update"
)
_LOOKS = ((1280, "light"), (1280, "dark"), (400, "light"), (400, "dark"))
_WIDER = "return document.documentElement.scrollWidth - document.documentElement.clientWidth"
_GROUND = "return getComputedStyle(document.body).backgroundColor"
_OUTLINE = "const s = getComputedStyle(document.activeElement); return [s.outlineStyle, parseFloat(s.outlineWidth)]"
_UNNAMED = """
const fields = document.querySelectorAll("input:not([type=hidden]), select, textarea, meter, progress");
const buttons = document.querySelectorAll("button, a[href], summary");
const named = one => one.getAttribute("aria-label") || one.getAttribute("aria-labelledby");
return [...fields].filter(one => !named(one) && !(one.labels && one.labels.length))
  .concat([...buttons].filter(one => !named(one) && !one.textContent.trim())).map(one => one.outerHTML)
"""


def start_chromium() -> Any:
    """Return the driver of a new headless Chromium; skip the tests where it or Selenium is missing."""
    webdriver: Any = pytest.importorskip(
        "selenium.webdriver", reason="Pages are tested in a browser where Selenium is installed: make browser"
    )
    chromium = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
    chromedriver = shutil.which("chromedriver")
    if not chromium or not chromedriver:
        pytest.skip("Pages are tested in a browser where Chromium is installed: apt-get install chromium-driver")
    options = webdriver.ChromeOptions()
    for flag in _FLAGS.split():
        options.add_argument(flag)
    if os.geteuid() == 0:
        options.add_argument("--no-sandbox")  # Chromium has none for root
    options.binary_location = chromium
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(chromedriver))
    driver.set_page_load_timeout(WAIT)
    return driver


class Browser:
    """A Chromium.

    Attributes:
        driver: Selenium's driver of it.
    """

    def __init__(self, driver: Any) -> None:
        self.driver = driver

    def find(self, css: str) -> Any:
        """Return the first element of a selector."""
        return self.driver.find_element("css selector", css)

    def text(self) -> str:
        """Return the words of the page."""
        return str(self.find("main").text)

    def wait_title(self, title: str) -> None:
        """Return when the page has this heading."""
        ready = "return document.readyState"
        self.wait(lambda: self.driver.execute_script(ready) == "complete" and self.find("h1").text == title)

    def wait_text(self, text: str) -> None:
        """Return when the page has these words."""
        self.wait(lambda: text in self.text())

    def wait(self, happened: Callable[[], bool]) -> None:
        """Return when something has happened; while a page changes, it has not."""
        from selenium.common.exceptions import WebDriverException
        from selenium.webdriver.support.ui import WebDriverWait

        waiting: Any = WebDriverWait(self.driver, WAIT, ignored_exceptions=[WebDriverException])
        waiting.until(lambda _: happened(), f"seen: {self.driver.current_url}")

    def press(self, keys: str) -> None:
        """Type into the element that has the focus."""
        from selenium.webdriver.common.action_chains import ActionChains

        ActionChains(self.driver).send_keys(keys).perform()

    def tab_to(self, css: str) -> None:
        """Reach an element by the tab key alone; the focus must be visible on it."""
        wanted = self.find(css)
        for _ in range(_MOST_TABS):
            if self.driver.switch_to.active_element == wanted:
                style, width = self.driver.execute_script(_OUTLINE)
                assert style != "none", css
                assert width >= 1, css
                return
            self.press(TAB)
        raise AssertionError(f"{css} is not reached by the tab key")

    def go(self, css: str, title: str) -> None:
        """Follow a link or press a button by the keyboard alone; check the page that comes."""
        before = self.find("html")
        self.tab_to(css)
        self.press(ENTER)
        self.wait(lambda: bool(self.find("html") != before))
        self.wait_title(title)
        self.check()

    def check(self) -> None:
        """Check the page in each look: nothing is cut off, each field has a name, the console has no error."""
        grounds = {look: self._ground(*look) for look in _LOOKS}
        assert grounds[1280, "light"] == grounds[400, "light"] != grounds[400, "dark"] == grounds[1280, "dark"]
        assert self.driver.execute_script(_UNNAMED) == []
        errors = [line for line in self.driver.get_log("browser") if line["level"] == "SEVERE"]
        assert errors == []

    def _ground(self, width: int, scheme: str) -> str:
        """Show the page in a width and colours; return the colour behind the text."""
        media = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", media)
        size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        assert self.driver.execute_script(_WIDER) <= 0, (self.driver.current_url, width)
        return str(self.driver.execute_script(_GROUND))

"""An analyst signs in, sees the price, asks, and reads the receipt, with the keyboard alone."""

from tests.browser.driving import Browser
from tests.server.front.serving import QUESTION, Server
from tests.server.front.test_clients import is_answer


def test_analyst_asks_by_keyboard(chromium: Browser, server: Server) -> None:
    secret = server.key("ana")
    key = server.accounts.find(secret)
    assert key is not None
    chromium.driver.get(server.root)
    chromium.wait_title("Sign in")
    chromium.check()
    chromium.tab_to("#key")
    chromium.press(secret)
    chromium.go("main button", "Ask")
    chromium.tab_to("#question")
    chromium.press(QUESTION)
    chromium.go("main form > button", "The price")
    assert QUESTION in chromium.text()
    assert server.begun() == 0
    chromium.go("main .row button", "The answer")
    assert is_answer(chromium.find("blockquote.answer").text)
    (receipt,) = server.accounts.receipts(key.id)
    assert receipt["question_id"] in chromium.text()
    assert 0 < receipt["epsilon"] <= server.accounts.odometer(key.id).spent
    paid = server.accounts.odometer(key.id).spending
    chromium.driver.refresh()  # sends the form again: the same answer, paid once
    chromium.wait_title("The answer")
    assert "it was not paid again" in chromium.text()
    chromium.go("nav a[href='/history']", "History")
    assert receipt["question_id"] in chromium.text()
    chromium.go("nav a[href='/budget']", "Budget")
    chromium.tab_to("#epsilon")
    chromium.press("5")
    chromium.tab_to("#reason")
    chromium.press("Ten more questions.")
    chromium.go("main form button", "Budget")
    (made,) = server.accounts.requests_of(key.id)
    assert (made.epsilon, made.reason) == (5.0, "Ten more questions.")
    assert (server.begun(), server.accounts.odometer(key.id).spending) == (1, paid)
    chromium.go("nav a[href='/connect']", "Connect")
    chromium.go("header form button", "Sign in")


def test_skip_link_is_the_first_that_tab_reaches(chromium: Browser, server: Server) -> None:
    chromium.driver.get(f"{server.root}/sign-in")
    chromium.wait_title("Sign in")
    chromium.driver.execute_script("document.activeElement.blur()")
    chromium.tab_to("a.skip")
    left = chromium.driver.execute_script("return document.activeElement.getBoundingClientRect().left")
    assert left >= 0

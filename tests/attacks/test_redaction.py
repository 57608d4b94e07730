"""Redaction, where it is installed, and what is said where it is not."""

import socket
import sys

import pytest

from discreet.errors import MissingPart
from discreet_lab.attacks.targets import Redactor, available


def test_what_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "presidio_analyzer", None)
    assert not available()
    with pytest.raises(MissingPart, match=r"\.\[pii\]"):
        Redactor()


@pytest.mark.skipif(not available(), reason="needs the extra [pii]")
def test_redaction_asks_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        pytest.fail("redaction looked for something on the network")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    told = []
    text = "My name is Maria Jones. Mail me at maria@jones.com or call (519) 555-0146."
    (redacted,) = Redactor().redact([text], lambda: told.append(1))
    assert not any(part in redacted for part in ("Maria Jones", "maria@jones.com", "555-0146"))
    assert redacted.startswith("My name is <")
    assert told == [1]

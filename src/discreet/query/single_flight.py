"""Single flight: of several askers of one question at one time, one pays, and the others wait for its release."""

import json
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from hashlib import blake2b
from typing import Protocol

from discreet.system.essence import essence


class Meeting(Protocol):
    """The meeting point of askers: the ledger, which they share."""

    def alone(self, key: bytes) -> AbstractContextManager[None]:
        """Hold `key` during the block. Wait first until no other asker holds it."""


def flight(question: str, choices: Sequence[str], secret: bytes) -> bytes:
    """Return the key of a question's flight. Questions with the same release have the same key. It reveals no question.

    Args:
        question: the question; the words that `AnswerCache.same` compares count.
        choices: the public choices of its answer, in any order.
        secret: the key of the vault.
    """
    asked = json.dumps([essence(question), sorted(choices)]).encode(errors="surrogatepass")
    return blake2b(b"discreet flight " + asked, key=secret[:64], digest_size=16).digest()


@contextmanager
def alone_with(question: str, choices: Sequence[str], secret: bytes, meeting: Meeting) -> Iterator[None]:
    """Hold a question's flight during the block. A question without meaningful words has no flight."""
    if not essence(question):
        yield
        return
    with meeting.alone(flight(question, choices, secret)):
        yield

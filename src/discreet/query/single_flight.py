"""The same question at the same time is paid once: one asks, and the others wait for what is released to it."""

import json
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from hashlib import blake2b
from typing import Protocol

from discreet.query.answer_cache import essence


class Meeting(Protocol):
    """Where askers meet: a ledger, which all of them share."""

    def alone(self, key: bytes) -> AbstractContextManager[None]:
        """Wait until no other is in this block for `key`, and hold it."""


def flight(question: str, choices: Sequence[str], secret: bytes) -> bytes:
    """Return the key of a question's flight: the same for what is answered by the same release, and tells nothing.

    Args:
        question: the question; what counts of it is what `History.same` compares.
        choices: the public choices of its answer, in any order.
        secret: the vault's.
    """
    asked = json.dumps([essence(question), sorted(choices)]).encode(errors="surrogatepass")
    return blake2b(b"discreet flight " + asked, key=secret[:64], digest_size=16).digest()


@contextmanager
def alone_with(question: str, choices: Sequence[str], secret: bytes, meeting: Meeting) -> Iterator[None]:
    """Hold a question's flight; a question without words that say something has none."""
    if not essence(question):
        yield
        return
    with meeting.alone(flight(question, choices, secret)):
        yield

"""Askers: threads that send questions to the fronts of all hosts, and note each reply."""

import http.client
import json
import random
import secrets
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from tests.lab.keepers.setting import PARTS, SIGNS, TIGHT, WIDE, Issued

TIMEOUT = 90.0
"""Seconds: longer than a front waits for a question that another front has in flight."""
TRIES = 8
PAUSE = 3.0
"""Seconds after a refusal, in the mean."""
TRANSPORT = (OSError, http.client.HTTPException, ValueError)
ANSWERED, REFUSED, UNKNOWN = "answered", "refused", "unknown"


@dataclass(frozen=True)
class Reply:
    """A reply to a request."""

    status: int
    body: dict[str, Any]
    retry: bool = True

    @property
    def code(self) -> str:
        """The code of an error; "lost" if no reply came."""
        return "lost" if not self.status else str(self.body.get("error", {}).get("code", ""))

    @property
    def told(self) -> dict[str, Any]:
        """The fields of the receipt."""
        found: dict[str, Any] = self.body["usage"]["discreet"]
        return found

    @property
    def text(self) -> str:
        """The answer."""
        return str(self.body["choices"][0]["message"]["content"])


@dataclass
class Asked:
    """A request of an asker, with all replies to it."""

    key: str
    name: str
    vault: str
    outcome: str = UNKNOWN
    code: str = ""
    replies: list[Reply] = field(default_factory=list)
    lost: int = 0


class Asker:
    """Asks one question after the other, of random kinds, at random hosts."""

    def __init__(self, key: Issued, hosts: Sequence[str], seed: int) -> None:
        """For a key."""
        self._key, self._hosts = key, list(hosts)
        self._choose, self._lock = random.Random(seed), threading.Lock()
        self.asked: list[Asked] = []

    def ask_until(self, ended: threading.Event) -> None:
        """Ask until the run is over; a question that was begun is asked to its end."""
        while not ended.is_set():
            asked = self.ask_one()
            ended.wait(self._choose.uniform(0, 2 * PAUSE) if asked.outcome == REFUSED else 0.0)

    def ask_one(self) -> Asked:
        """Ask one question until its outcome is known, or all tries are used."""
        body = self._body()
        asked = Asked(self._key.id, secrets.token_hex(8), body["model"].partition(":")[0])
        self.asked.append(asked)
        chance = self._choose.random()
        if chance < 0.1:  # at two hosts at the same time
            beside = threading.Thread(target=self._try, args=(asked, body, self._choose.choice(self._hosts)))
            beside.start()
            self._ask(asked, body)
            beside.join()
        else:
            self._ask(asked, body)
        if asked.outcome == ANSWERED and chance > 0.8:  # again, at some host
            self._try(asked, body, self._choose.choice(self._hosts))
        return asked

    def _ask(self, asked: Asked, body: dict[str, Any]) -> None:
        for number in range(TRIES):
            reply = self._try(asked, body, self._choose.choice(self._hosts))
            if reply.status == 200 or (reply.status and not reply.retry):
                return
            time.sleep(self._choose.uniform(0.2, 0.5) * (number + 1))

    def _try(self, asked: Asked, body: dict[str, Any], host: str) -> Reply:
        reply = send(host, self._key.secret, body, asked.name)
        with self._lock:
            note(asked, reply)
        return reply

    def _body(self) -> dict[str, Any]:
        choose = self._choose
        vault = TIGHT if choose.random() < 0.05 else WIDE
        sign, part = choose.choice(SIGNS), choose.choice(PARTS)
        kind = choose.random()
        model, extra = vault, {"epsilon": 1.0} | ({"anew": True} if choose.random() < 0.7 else {})
        if kind < 0.35:
            text = f"How many patients have {sign} {part}?"
        elif kind < 0.65:
            text = f"What share of patients with {sign} {part} have numb thumbs?"
        elif kind < 0.75:
            text = "What are the most common wards?"
        else:
            number = choose.randrange(10**9)
            model, text, extra = f"{vault}:cheap", f"Which disease, in case {number}, makes {part} {sign}?", {}
        return {"model": model, "messages": [{"role": "user", "content": text}], "discreet": extra}


def note(asked: Asked, reply: Reply) -> None:
    """Add a reply to a request. An answer stays an answer; what may have been paid stays unknown."""
    if reply.status == 200:
        asked.outcome = ANSWERED
        asked.replies.append(reply)
        return
    asked.code = reply.code
    asked.lost += not reply.status
    if asked.outcome == UNKNOWN and 400 <= reply.status < 500 and not asked.lost:
        asked.outcome = REFUSED


def send(host: str, secret: str, body: dict[str, Any], name: str) -> Reply:
    """Send a question, and return the reply to it."""
    place = urlsplit(host)
    connection = http.client.HTTPConnection(str(place.hostname), place.port, timeout=TIMEOUT)
    headers = {"content-type": "application/json", "authorization": f"Bearer {secret}", "idempotency-key": name}
    try:
        connection.request("POST", "/v1/chat/completions", json.dumps(body), headers)
        reply = connection.getresponse()
        content = json.loads(reply.read())
        return Reply(reply.status, content, reply.getheader("x-should-retry") != "false")
    except TRANSPORT:
        return Reply(0, {})
    finally:
        connection.close()
